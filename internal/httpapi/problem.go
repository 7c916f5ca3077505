package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/truncate"
)

const problemType = "application/problem+json"

// problem is the body of every error (RFC 9457), made from a fault's code, message and fields and from nothing else.
type problem struct {
	Type   string `json:"type" doc:"Names the kind of problem." example:"urn:throughline:problem:invalid"`
	Title  string `json:"title" doc:"The kind of problem in words." example:"The input is not valid"`
	Status int    `json:"status" doc:"The HTTP status." example:"422"`
	Detail string `json:"detail" doc:"What was wrong this time." example:"messages[3].role must be one of \"user, assistant, system\""`
	Code   string `json:"code" enum:"invalid,unauthorized,forbidden,not_found,method_not_allowed,conflict,too_large,idempotency_mismatch,rate_limited,unavailable,internal" doc:"The kind of problem for programs."`
	//nolint:lll // the tags are the documentation
	Errors []fieldProblem `json:"errors,omitempty" doc:"What is wrong with which part of the input."`

	retryAfter time.Duration
	// anonymous is set where no credentials came at all.
	anonymous bool
}

// errNoToken is the error of a request without a bearer token. It stands apart from that of a bad token: no error is
// named to whom has not tried (RFC 6750, section 3.1).
var errNoToken = fault.New(fault.Unauthorized, "a bearer token is needed")

// fieldProblem is one wrong part of the input.
type fieldProblem struct {
	Field   string `json:"field" doc:"The path of the part, or the name of the parameter." example:"messages[3].role"`
	Message string `json:"message" doc:"What is wrong with it."`
}

// Error, GetStatus, GetHeaders and ContentType make a problem an error that huma writes as it is.
func (p *problem) Error() string             { return p.Detail }
func (p *problem) GetStatus() int            { return p.Status }
func (p *problem) ContentType(string) string { return problemType }

func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", p.challenge())
	}
	if p.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	return h
}

// challenge is the WWW-Authenticate value of RFC 6750.
func (p *problem) challenge() string {
	if p.anonymous {
		return `Bearer realm="throughline"`
	}
	return `Bearer realm="throughline", error="invalid_token", error_description="` +
		strings.NewReplacer(`"`, `'`, `\`, ``).Replace(p.Detail) + `"`
}

// kind is how one code is told to clients.
type kind struct {
	status int
	title  string
	detail string
	// retry is the Retry-After of an error that names none.
	retry time.Duration
}

// kinds are the codes of api 1.
func kindOf(code fault.Code) kind {
	switch code {
	case fault.Invalid:
		return kind{http.StatusUnprocessableEntity, "The input is not valid", "the input is not valid", 0}
	case fault.NotJSON:
		return kind{http.StatusBadRequest, "The body is not JSON", "the body is not JSON", 0}
	case fault.Unauthorized:
		return kind{http.StatusUnauthorized, "Not authenticated", "a valid bearer token is needed", 0}
	case fault.Forbidden:
		return kind{http.StatusForbidden, "Not allowed", "the token's scopes do not allow this", 0}
	case fault.NotFound:
		return kind{http.StatusNotFound, "Not found", "there is no such thing", 0}
	case fault.MethodNotAllowed:
		return kind{http.StatusMethodNotAllowed, "Method not allowed", "this path does not take that method", 0}
	case fault.Conflict:
		return kind{http.StatusConflict, "Conflict", "this conflicts with what is there", 0}
	case fault.TooLarge:
		return kind{http.StatusRequestEntityTooLarge, "Too large", "the request is too large", 0}
	case fault.IdempotencyMismatch:
		return kind{http.StatusUnprocessableEntity, "Idempotency key used before", "the Idempotency-Key was used with another body", 0}
	case fault.RateLimited:
		return kind{http.StatusTooManyRequests, "Too many requests", "too many requests", time.Second}
	case fault.Unavailable:
		return kind{http.StatusServiceUnavailable, "Not available", "a service is not available for the moment", time.Second}
	}
	return kind{http.StatusInternalServerError, "Internal error", "something went wrong on our side", 0}
}

// problemOf turns any error into what the client may read. What has no code is internal and says nothing of itself,
// except that running out of time is unavailable.
func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	f := fault.From(err)
	if f.Code == fault.Internal && errors.Is(err, context.DeadlineExceeded) {
		f = fault.New(fault.Unavailable, "the answer took too long")
	}
	k := kindOf(f.Code)
	p = newProblem(f.Code, k)
	if f.Message != "" && k.status != http.StatusInternalServerError {
		p.Detail = f.Message
	}
	for _, field := range f.Fields {
		p.Errors = append(p.Errors, fieldProblem{Field: clip(field.Field), Message: clip(field.Message)})
	}
	if len(p.Errors) > 0 && p.Detail == k.detail {
		p.Detail = sentence(p.Errors)
	}
	p.anonymous = errors.Is(err, errNoToken)
	if f.RetryAfter > 0 {
		p.retryAfter = f.RetryAfter
	}
	return p
}

func newProblem(code fault.Code, k kind) *problem {
	if code == fault.NotJSON {
		code = fault.Invalid
	}
	if k.status == http.StatusInternalServerError {
		code = fault.Internal
	}
	return &problem{
		Type: "urn:throughline:problem:" + string(code), Title: k.title, Status: k.status, Detail: k.detail,
		Code: string(code), retryAfter: k.retry,
	}
}

// maxProblems is how many wrong fields one answer names.
const maxProblems = 100

// fromHuma is a huma transformer: it makes the framework's own errors problems like all others.
func fromHuma(_ huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := problemOfStatus(model.Status)
	seen := map[string]bool{}
	for _, d := range model.Errors {
		f := fieldOf(d)
		if !seen[f.Field] && len(p.Errors) < maxProblems {
			p.Errors = append(p.Errors, f)
		}
		seen[f.Field] = true
	}
	slices.SortStableFunc(p.Errors, func(a, b fieldProblem) int { return strings.Compare(a.Field, b.Field) })
	if len(p.Errors) > 0 {
		p.Detail = sentence(p.Errors)
	}
	return p, nil
}

// sentence is the detail of a problem with errors.
func sentence(wrong []fieldProblem) string {
	fields := make([]fault.Field, len(wrong))
	for i, w := range wrong {
		fields[i] = fault.Field(w)
	}
	return fault.Sentence(fields)
}

// problemOfStatus is the problem of a status that the framework chose itself.
func problemOfStatus(status int) *problem {
	for _, code := range []fault.Code{fault.Invalid, fault.NotJSON, fault.TooLarge, fault.Unavailable} {
		if k := kindOf(code); k.status == status {
			return newProblem(code, k)
		}
	}
	if status >= http.StatusInternalServerError {
		return newProblem(fault.Internal, kindOf(fault.Internal))
	}
	k := kindOf(fault.Invalid)
	k.status = status
	return newProblem(fault.Invalid, k)
}

// clip keeps an echo of the input short.
func clip(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return truncate.Bytes(s, most) + "…"
}

// writeProblem answers with an error outside of any operation.
func writeProblem(w http.ResponseWriter, err error) {
	p := problemOf(err)
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	// The status is sent; a client that is gone cannot be told anything.
	_ = json.NewEncoder(w).Encode(p)
}
