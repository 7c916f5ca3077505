package httpapi

import (
	"cmp"
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
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/truncate"
)

const problemType = "application/problem+json"

// problem is the body of every error response (RFC 9457). It is made from the code, message and fields of a fault and
// from nothing else.
type problem struct {
	Type   string         `json:"type" doc:"Identifies the kind of problem." example:"urn:throughline:problem:invalid"`
	Title  string         `json:"title" doc:"The kind of problem in words." example:"The input is not valid"`
	Status int            `json:"status" doc:"The HTTP status." example:"422"`
	Detail string         `json:"detail" doc:"What is wrong in this request." example:"messages[3].role is required"`
	Code   problemCode    `json:"code" doc:"The kind of problem for programs."`
	Errors fault.Problems `json:"errors,omitempty" doc:"What is wrong with which part of the input."`
	// RequestID is empty where a gateway refuses a request.
	RequestID string `json:"requestId,omitempty" doc:"The request's id, which its log lines have."`

	retryAfter time.Duration
	// anonymous is set if the request had no credentials.
	anonymous bool
}

// problemCode is the code of a problem.
type problemCode string

// Schema lists the codes.
func (problemCode) Schema(huma.Registry) *huma.Schema {
	return oneOfSchema("", []fault.Code{
		fault.Invalid, fault.Unauthorized, fault.Forbidden, fault.NotFound, fault.MethodNotAllowed, fault.Conflict,
		fault.TooLarge, fault.IdempotencyMismatch, fault.RateLimited, fault.Unavailable, fault.Internal,
	})
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

// challenge returns the WWW-Authenticate value of RFC 6750.
func (p *problem) challenge() string {
	if p.anonymous {
		return `Bearer realm="throughline"`
	}
	return `Bearer realm="throughline", error="invalid_token", error_description="` +
		strings.NewReplacer(`"`, `'`, `\`, ``).Replace(p.Detail) + `"`
}

// problemKind is how errors of one code are written.
type problemKind struct {
	status int
	title  string
	// detail is the text of an error that has no message of its own.
	detail string
	// retryAfter is the Retry-After of an error that has none of its own.
	retryAfter time.Duration
}

// problemKinds are the kinds of the codes. Every other code is internal.
var problemKinds = map[fault.Code]problemKind{
	fault.Invalid:      {422, "The input is not valid", "the input is not valid", 0},
	fault.NotJSON:      {400, "The body is not JSON", "the body is not JSON", 0},
	fault.Unauthorized: {401, "Not authenticated", "a valid bearer token is needed", 0},
	fault.Forbidden:    {403, "Not allowed", "the token's scopes do not allow this", 0},
	fault.NotFound:     {404, "Not found", "there is no such thing", 0},
	fault.MethodNotAllowed: {
		405, "Method not allowed", "this path does not take that method", 0,
	},
	fault.Conflict: {409, "Conflict", "this conflicts with what is there", 0},
	fault.TooLarge: {413, "Too large", "the request is too large", 0},
	fault.IdempotencyMismatch: {
		422, "Idempotency key used before", "the Idempotency-Key was used with another body", 0,
	},
	fault.RateLimited: {429, "Too many requests", "too many requests", time.Second},
	fault.Unavailable: {503, "Not available", "a service is not available for the moment", time.Second},
	fault.Internal:    {500, "Internal error", "something went wrong on our side", 0},
}

// newProblem returns the problem of a code that has no message.
func newProblem(code fault.Code) *problem {
	k, ok := problemKinds[code]
	switch {
	case !ok:
		code, k = fault.Internal, problemKinds[fault.Internal]
	case code == fault.NotJSON:
		code = fault.Invalid
	}
	return &problem{
		Type: "urn:throughline:problem:" + string(code), Title: k.title, Status: k.status, Detail: k.detail,
		Code: problemCode(code), retryAfter: k.retryAfter,
	}
}

// problemOf turns any error into what the client may read. An error without a code is internal, and its text is not
// shown. The end of the request's time is Unavailable.
func problemOf(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	f := fault.From(err)
	if f.Code == fault.Internal && errors.Is(err, context.DeadlineExceeded) {
		f = fault.New(fault.Unavailable, "the answer took too long")
	}
	if service, ok := errors.AsType[llm.ServiceError](err); ok && f.Message == "" {
		f = serviceFault(f, service)
	}
	p := newProblem(f.Code)
	for _, field := range f.Fields {
		p.Errors.Add(clip(field.Field), clip(field.Message))
	}
	switch {
	case p.Status == http.StatusInternalServerError:
	case len(p.Errors) > 0 && (f.Message == "" || f.Message == p.Detail):
		p.Detail = fault.Sentence(p.Errors)
	case f.Message != "":
		p.Detail = f.Message
	}
	p.anonymous = errors.Is(err, errNoToken)
	if f.RetryAfter > 0 {
		p.retryAfter = f.RetryAfter
	}
	return p
}

// serviceFault returns an error of a model's service as the client may read it. A call that the service refuses until
// the configuration is another is not the caller's fault, and no error of this program.
func serviceFault(f *fault.Error, service llm.ServiceError) *fault.Error {
	shown := *f
	shown.Message = service.Detail()
	if shown.Code == fault.Internal {
		shown.Code = fault.Unavailable
	}
	return &shown
}

// WriteProblem answers with the problem of an error, outside of any operation.
func WriteProblem(w http.ResponseWriter, err error) {
	p := problemOf(err)
	writeProblem(w, p, p.GetHeaders())
}

func writeProblem(w http.ResponseWriter, p *problem, header http.Header) {
	p.RequestID = cmp.Or(p.RequestID, w.Header().Get(RequestIDHeader))
	maps.Copy(w.Header(), header)
	w.Header().Set("Content-Type", problemType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	// An error here means that the client is gone.
	_ = json.NewEncoder(w).Encode(p)
}

// maxProblems is how many wrong fields one response lists.
const maxProblems = 100

// fromHuma is a huma transformer. It turns the framework's own errors into problems, and gives each the request's id.
func fromHuma(ctx huma.Context, _ string, v any) (any, error) {
	if p, ok := v.(*problem); ok {
		p.RequestID = RequestID(ctx.Context())
		return p, nil
	}
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := problemOfStatus(model.Status)
	p.RequestID = RequestID(ctx.Context())
	seen := map[string]bool{}
	for _, d := range model.Errors {
		f := fieldProblemOf(d)
		if f.Message == unknownParameter {
			f.Message = "is an unknown query parameter; " + queryParameters(ctx.Operation())
		}
		if !seen[f.Field] && len(p.Errors) < maxProblems {
			p.Errors = append(p.Errors, f)
		}
		seen[f.Field] = true
	}
	slices.SortStableFunc(p.Errors, func(a, b fault.Field) int { return strings.Compare(a.Field, b.Field) })
	if len(p.Errors) > 0 {
		p.Detail = fault.Sentence(p.Errors)
	}
	return p, nil
}

// problemOfStatus returns the problem of a status that the framework chose itself.
func problemOfStatus(status int) *problem {
	for _, code := range []fault.Code{fault.Invalid, fault.NotJSON, fault.TooLarge, fault.Unavailable} {
		if problemKinds[code].status == status {
			return newProblem(code)
		}
	}
	if status >= http.StatusInternalServerError {
		return newProblem(fault.Internal)
	}
	p := newProblem(fault.Invalid)
	p.Status = status
	return p
}

// clip shortens text that echoes the input.
func clip(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return truncate.Bytes(s, most) + "…"
}

// setValidationMessages replaces the framework's validation messages by texts that follow a field's name in a sentence.
// The texts are variables of the library. The verb %.0s takes an argument and prints nothing.
func setValidationMessages() {
	validation.MsgUnexpectedProperty = "is not a field of this call"
	validation.MsgExpectedBoolean = "must be true or false"
	validation.MsgExpectedNumber = "must be a number"
	validation.MsgExpectedInteger = "must be a whole number"
	validation.MsgExpectedString = "must be a string"
	validation.MsgExpectedArray = "must be a list"
	validation.MsgExpectedObject = "must be an object"
	validation.MsgExpectedOneOf = "must be one of %s"
	validation.MsgExpectedMinimumNumber = "must be at least %.16g"
	validation.MsgExpectedMaximumNumber = "must be at most %.16g"
	validation.MsgExpectedMinLength = "must have %d or more characters"
	validation.MsgExpectedMaxLength = "must have %d or fewer characters"
	validation.MsgExpectedMinItems = "must have %d or more items"
	validation.MsgExpectedMaxItems = "must have %d or fewer items"
	validation.MsgExpectedBePattern = "must be %s"
	validation.MsgExpectedRFC5322Email = "must be an e-mail address%.0s"
}

// parameterMessages replace the framework's texts about parameters, which are not variables.
var parameterMessages = map[string]string{
	"invalid integer": "must be a whole number", "invalid boolean": "must be true or false",
	"invalid float": "must be a number",
}

// unknownParameter is the framework's text about a query parameter that an operation does not take.
const unknownParameter = "unknown query parameter"

// queryParameters says which query parameters an operation takes.
func queryParameters(op *huma.Operation) string {
	var names []string
	for _, p := range op.Parameters {
		if p.In == "query" {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return "this operation takes none"
	}
	slices.Sort(names)
	return "this operation takes " + strings.Join(names, ", ")
}

// fieldProblemOf names a field as the client wrote it: "messages[3].role is required" and not "body.messages[3]:
// expected required property role to be present".
func fieldProblemOf(d *huma.ErrorDetail) fault.Field {
	field, message := d.Location, strings.TrimPrefix(d.Message, "invalid value: ")
	for _, source := range []string{"body", "query", "path", "header"} {
		if rest, ok := strings.CutPrefix(field, source+"."); ok {
			field = rest
			break
		}
	}
	before, after, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%s")
	if rest, ok := strings.CutPrefix(message, before); ok && strings.HasSuffix(rest, after) {
		field, message = joinPath(field, strings.TrimSuffix(rest, after)), "is required"
	}
	if text, ok := parameterMessages[message]; ok {
		message = text
	}
	return fault.Field{Field: clip(field), Message: clip(message)}
}

// joinPath appends a field's name to a path. The path of the whole body is empty or "body".
func joinPath(path, name string) string {
	if path == "" || path == "body" {
		return name
	}
	return path + "." + name
}
