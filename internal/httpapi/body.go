package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/strictjson"
)

// maxBody is the largest body that is read, in bytes.
const maxBody = 3 << 20

// readBody is the middleware of operations that take a body. It reads the body, checks that it is acceptable JSON, and
// puts it back for huma, which checks it against the operation's schema.
func readBody(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	body, err := checkedBody(r)
	if err != nil {
		WriteProblem(w, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	next(ctx)
}

func checkedBody(r *http.Request) ([]byte, error) {
	if !isJSON(r.Header.Get("Content-Type")) {
		p := problemOfStatus(http.StatusUnsupportedMediaType)
		p.Title, p.Detail = "Unsupported media type", "the body has to be application/json"
		return nil, p
	}
	tooLarge := fault.Newf(fault.TooLarge, "a body has at most %d bytes", maxBody)
	if r.ContentLength > maxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, readError(err)
	}
	if len(body) > maxBody {
		return nil, tooLarge
	}
	return body, strictjson.Check(body)
}

// isJSON reports whether a Content-Type may hold JSON in UTF-8. An empty one may.
func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || (params["charset"] != "" && !strings.EqualFold(params["charset"], "utf-8")) {
		return false
	}
	return media == "application/json" || (strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
}

// refuseBody is the middleware of operations that take no body. A body that would be ignored is an error, because the
// client expects it to have an effect. An empty object is accepted.
func refuseBody(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if err := checkNoBody(r.Body); err != nil {
		WriteProblem(w, err)
		return
	}
	next(ctx)
}

func checkNoBody(body io.Reader) error {
	const most = 64 << 10 // enough to list the fields of a usual body
	text, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return readError(err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if len(text) > most || json.Unmarshal(text, &fields) != nil || fields == nil {
		return fault.InvalidField("body", "this call takes no body")
	}
	var wrong []fault.Field
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		wrong = append(wrong, fault.Field{Field: name, Message: "is not a field of this call, which takes no body"})
	}
	return invalidFields(wrong[:min(len(wrong), maxProblems)])
}

// readError returns the error of a body that is too large, ended early or was badly encoded.
func readError(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return fault.Wrap(fault.TooLarge, "read body", err)
	}
	return &fault.Error{Code: fault.NotJSON, Message: "the body could not be read to its end", Op: "read body", Err: err}
}

// jsonFormat reads and writes bodies.
func jsonFormat() huma.Format {
	return huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}
}

// typeMismatch begins the text of an error that ends in a field's name. fieldProblemOf reads it.
const typeMismatch = "type mismatch at "

// unmarshal is json.Unmarshal with an error that names the field. A value can pass the schema and still not fit its Go
// type: a whole number that is written as 1e1 or 1.0.
func unmarshal(text []byte, v any) error {
	err := json.Unmarshal(text, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return errors.New(typeMismatch + wrong.Field)
	}
	return err
}
