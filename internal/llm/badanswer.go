package llm

import "errors"

// The ways in which an answer is of no use although the service gave it. They are the fault of what was asked, or of
// the model, and not of an outage: the same question may get the same answer again.
var (
	// ErrRefused says that the model, or a filter of its service, refuses to answer.
	ErrRefused = errors.New("the model refused to answer")
	// ErrTruncated says that the answer was cut, because it or the question has too many tokens.
	ErrTruncated = errors.New("the model's answer was cut")
	// ErrMalformed says that the answer is not of the form that was asked for.
	ErrMalformed = errors.New("the model's answer is malformed")
)

// IsBadAnswer reports whether an error is one of the above.
func IsBadAnswer(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrTruncated) || errors.Is(err, ErrMalformed)
}

// ServiceError is an error of a model's service: what it answered, or that it did not. Detail says for a caller of the
// API which service failed, and how.
type ServiceError interface {
	error
	Detail() string
}
