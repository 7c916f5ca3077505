// Package problem writes the errors of what only the local stack serves, and of its gateway, in the one form of the
// API's errors: problem+json (RFC 9457) with a code (api 1).
package problem

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"

	"github.com/throughline/throughline/internal/fault"
)

// body is a problem of no type of its own: its title is that of its status.
type body struct {
	Type   string        `json:"type"`
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Detail string        `json:"detail,omitempty"`
	Code   string        `json:"code"`
	Errors []fault.Field `json:"errors,omitempty"`
}

// Write answers with the fault in err, from its code, message and fields alone.
func Write(w http.ResponseWriter, err error) {
	f := fault.From(err)
	status, code := statusOf(f.Code)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	detail := f.Message
	if len(f.Fields) > 0 {
		detail = fault.Sentence(f.Fields)
	}
	w.WriteHeader(status)
	// The status is sent; a client that is gone cannot be told anything.
	_ = json.NewEncoder(w).Encode(body{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail,
		Code: string(code), Errors: f.Fields,
	})
}

// WriteJSON answers 200 with a value.
func WriteJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v)
}

// Read decodes a JSON body of at most 64 KiB into v. Its errors are faults: what is not JSON, an unknown field, a
// value of the wrong kind. An empty body leaves v as it is.
func Read(r *http.Request, v any) error {
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 64<<10))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(v)
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var large *http.MaxBytesError
	switch {
	case err == nil && !decoder.More(), errors.Is(err, io.EOF):
		return nil
	case errors.As(err, &large):
		return fault.New(fault.TooLarge, "the body is too large")
	case err == nil, errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return fault.New(fault.NotJSON, "the body is not one JSON value")
	case errors.As(err, &kind):
		return fault.InvalidField(cmp.Or(kind.Field, "body"), "must be "+kindName(kind.Type.Kind()))
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fault.InvalidField(strings.Trim(field, `"`), "is not a field of this call")
	}
	return fault.New(fault.NotJSON, "the body could not be read")
}

// kindName is what a Go kind is called in JSON.
func kindName(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}

func statusOf(code fault.Code) (int, fault.Code) {
	switch code {
	case fault.Invalid, fault.IdempotencyMismatch:
		return http.StatusUnprocessableEntity, code
	case fault.NotJSON:
		return http.StatusBadRequest, fault.Invalid
	case fault.Unauthorized:
		return http.StatusUnauthorized, code
	case fault.Forbidden:
		return http.StatusForbidden, code
	case fault.NotFound:
		return http.StatusNotFound, code
	case fault.MethodNotAllowed:
		return http.StatusMethodNotAllowed, code
	case fault.Conflict:
		return http.StatusConflict, code
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge, code
	case fault.RateLimited:
		return http.StatusTooManyRequests, code
	case fault.Unavailable:
		return http.StatusServiceUnavailable, code
	}
	return http.StatusInternalServerError, fault.Internal
}
