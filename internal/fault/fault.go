// Package fault defines the errors that packages return to each other: with a code for programs, a message for people
// and a cause for the log. What a client sees is made from the code, the message and the fields alone, never from the
// cause.
package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Code classifies an error. Each code has one HTTP status and one errorType of a direct invocation.
type Code string

// The codes of the API. NotJSON is the API's "invalid" with status 400: the input could not be parsed.
const (
	Invalid             Code = "invalid"
	NotJSON             Code = "not_json"
	Unauthorized        Code = "unauthorized"
	Forbidden           Code = "forbidden"
	NotFound            Code = "not_found"
	MethodNotAllowed    Code = "method_not_allowed"
	Conflict            Code = "conflict"
	TooLarge            Code = "too_large"
	IdempotencyMismatch Code = "idempotency_mismatch"
	RateLimited         Code = "rate_limited"
	Unavailable         Code = "unavailable"
	Internal            Code = "internal"
)

// ErrSetup is in the chain of errors of a service that refuses every call until somebody changes a key or a name in the
// configuration. No record is at fault.
var ErrSetup = errors.New("the service refuses all calls as they are configured")

// Field describes one part of the input that is wrong.
type Field struct {
	Field string `json:"field" doc:"The path of the part, or the name of the parameter." example:"messages[3].role"`
	// Message follows the field in a sentence, such as "must be a string".
	Message string `json:"message" doc:"What is wrong with it."`
}

// Problems are the fields of an input that are wrong.
type Problems []Field

// Add adds a field with what is wrong about it.
func (p *Problems) Add(field, message string) { *p = append(*p, Field{Field: field, Message: message}) }

// If adds a field if it is wrong.
func (p *Problems) If(isWrong bool, field, message string) {
	if isWrong {
		p.Add(field, message)
	}
}

// Err returns an Invalid error that reports all of them together. It is nil if nothing is wrong.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return InvalidFields(p...)
}

// Error is a failure with a code. Its Message and Fields are written for the client and hold nothing internal;
// Op and Err are for the log.
type Error struct {
	Code    Code
	Message string
	Fields  Problems
	// RetryAfter, when positive, is how long the caller should wait before it repeats the call.
	RetryAfter time.Duration
	// Op is the operation that failed, verb first: "append messages".
	Op  string
	Err error
}

// Error returns the text for the log: operation, code, message, fields and cause.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	b.WriteString(string(e.Code))
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	for _, f := range e.Fields {
		fmt.Fprintf(&b, " [%s: %s]", f.Field, f.Message)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New returns an error with a code and a message for the client.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Newf is New with a format.
func Newf(code Code, format string, args ...any) *Error {
	return New(code, fmt.Sprintf(format, args...))
}

// InvalidField returns an Invalid error about one field of the input.
func InvalidField(field, message string) *Error {
	return InvalidFields(Field{Field: field, Message: message})
}

// InvalidFields returns an Invalid error that reports every wrong field together.
func InvalidFields(fields ...Field) *Error {
	return &Error{Code: Invalid, Message: "the input is not valid", Fields: fields}
}

// Renamed returns an error about fields that the caller knows by other names: the beginning of each name is replaced.
// Other errors stay as they are.
func Renamed(err error, from, to string) error {
	f := find(err)
	if f == nil || len(f.Fields) == 0 {
		return err
	}
	renamed := *f
	renamed.Fields = slices.Clone(f.Fields)
	for i, field := range f.Fields {
		if rest, ok := strings.CutPrefix(field.Field, from); ok {
			renamed.Fields[i].Field = to + rest
		}
	}
	return &renamed
}

// Sentence describes invalid fields: the first one, and the number of others.
func Sentence(fields []Field) string {
	if len(fields) == 0 {
		return ""
	}
	text := fields[0].Field + " " + fields[0].Message
	switch more := len(fields) - 1; more {
	case 0:
		return text
	case 1:
		return text + "; and one more field is wrong"
	default:
		return fmt.Sprintf("%s; and %d more fields are wrong", text, more)
	}
}

// Missing returns a NotFound error for a kind of record. Records of another user are not found either.
func Missing(kind string) *Error { return New(NotFound, kind+" not found") }

// Wrap returns an error with a code, the operation that failed and its cause. The client does not see the cause.
func Wrap(code Code, op string, err error) *Error { return &Error{Code: code, Op: op, Err: err} }

// CodeOf returns the code of the first Error in the chain, or Internal if there is none.
func CodeOf(err error) Code {
	if f := find(err); f != nil {
		return f.Code
	}
	return Internal
}

// Is reports whether the error has that code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }

// IgnoreNotFound returns nil for a NotFound error: what is to be changed or deleted is gone already.
func IgnoreNotFound(err error) error {
	if Is(err, NotFound) {
		return nil
	}
	return err
}

// From returns the first Error in the chain, or the error wrapped as Internal. From(nil) is nil.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if f := find(err); f != nil {
		return f
	}
	return Wrap(Internal, "", err)
}

func find(err error) *Error {
	f, _ := errors.AsType[*Error](err)
	return f
}
