package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/metric"
)

// serviceError is an error that the service answered. The service's own words are kept only where the service is on
// this machine: they may quote what was sent, or a part of the key.
type serviceError struct {
	status int
	kind   string
	code   string
	param  string
	words  string
}

// Error names the status, the service's error type and code, and the parameter that it complains of.
func (r serviceError) Error() string {
	text := fmt.Sprintf("model service answered %d (type %q, code %q, parameter %q)", r.status, r.kind, r.code, r.param)
	if r.words != "" {
		text += ": " + r.words
	}
	return text
}

// Detail says for a caller of the API which service failed, and how. It implements llm.ServiceError's method.
func (r serviceError) Detail() string {
	text := fmt.Sprintf("the model's service answered %d", r.status)
	if r.status == 0 {
		text = "the model's service ended its answer with an error"
	}
	if r.code != "" {
		text += " (" + r.code + ")"
	}
	if r.words != "" {
		text += ": " + r.words
	}
	return text
}

// noAnswer is the error of a service that did not answer, or broke its answer off.
type noAnswer struct{ error }

// Detail says for a caller of the API which service failed, and how. It implements llm.ServiceError's method.
func (noAnswer) Detail() string { return "the model's service gave no whole answer" }

// Unwrap returns the cause.
func (n noAnswer) Unwrap() error { return n.error }

// Is reports whether the service refused what it was asked, or found it too long, or refuses the key or the model's
// name. It implements errors.Is's method.
func (r serviceError) Is(target error) bool {
	switch r.code {
	case "content_filter", "content_policy_violation", "invalid_prompt":
		return target == llm.ErrRefused
	case "context_length_exceeded", "string_above_max_length":
		return target == llm.ErrTruncated
	}
	switch r.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return target == fault.ErrSetup && !isQuota(r)
	}
	return false
}

// failure gives an error of the library a fault code. RateLimited and Unavailable may succeed later, and Internal needs
// a change to the program or its configuration. errors.Is still finds a cancelled context.
func failure(op string, err error, advice advice) *fault.Error {
	out := fault.Wrap(fault.Unavailable, op, err)
	if r, ok := asServiceError(err); ok {
		if !advice.isLocal {
			r.words = ""
		}
		out.Code, out.Err = codeOf(r), r
	} else if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		out.Err = noAnswer{transportError(err)}
	}
	if out.Code == fault.RateLimited || out.Code == fault.Unavailable {
		out.RetryAfter = advice.after
	}
	return out
}

func asServiceError(err error) (serviceError, bool) {
	if r, ok := errors.AsType[serviceError](err); ok {
		return r, true
	}
	if api, ok := errors.AsType[*openai.APIError](err); ok {
		code, _ := api.Code.(string)
		out := serviceError{status: api.HTTPStatusCode, kind: api.Type, code: code, words: api.Message}
		if api.Param != nil {
			out.param = *api.Param
		}
		return out, true
	}
	if request, ok := errors.AsType[*openai.RequestError](err); ok {
		return serviceError{status: request.HTTPStatusCode}, true
	}
	return serviceError{}, false
}

// codeOf returns the fault code of a service's error. A used-up quota is answered with 429 too, and an error inside an
// answer has no status.
func codeOf(r serviceError) fault.Code {
	switch {
	case r.status == http.StatusTooManyRequests || isQuota(r) || r.code == "rate_limit_exceeded":
		return fault.RateLimited
	case r.status == 0 && llm.IsBadAnswer(r):
		return fault.Internal
	case r.status == 0, r.status >= 500, r.status == http.StatusRequestTimeout, r.status == http.StatusConflict:
		return fault.Unavailable
	}
	return fault.Internal
}

// kindOf returns the kind of a failure for the metrics. A caller that has no time left is not the service's failure.
func kindOf(ctx context.Context, err *fault.Error) metric.Failure {
	var r serviceError
	isAnswer := errors.As(err, &r)
	switch {
	case isAnswer && isQuota(r):
		return metric.Quota
	case isAnswer && (r.status == http.StatusUnauthorized || r.status == http.StatusForbidden):
		return metric.Key
	case err.Code == fault.RateLimited:
		return metric.Limit
	case isAnswer && err.Code == fault.Internal:
		return metric.Refused
	case isAnswer:
		return metric.Down
	case ctx.Err() != nil:
		return metric.Late
	case errors.Is(err, errTooSlow):
		return metric.Slow
	}
	return metric.Down
}

func isQuota(r serviceError) bool {
	return r.kind == "insufficient_quota" || r.code == "insufficient_quota"
}

// retryable reports whether the same call may succeed at once or soon.
func retryable(err *fault.Error) bool {
	var r serviceError
	if errors.As(err, &r) && isQuota(r) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return err.Code == fault.RateLimited || err.Code == fault.Unavailable
}

// transportError returns a network error unchanged, because it never quotes content. Of any other error, such as one of
// decoding, which may quote what was sent or answered, it keeps only the type.
func transportError(err error) error {
	var network interface{ Timeout() bool }
	if errors.As(err, &network) {
		return err
	}
	return fmt.Errorf("model service gave no readable answer (%T)", err)
}
