package httpapi

import (
	"bytes"
	"cmp"
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

// sentBodyKey is the key of a request's body in its context: as it was sent, and checked.
type sentBodyKey struct{}

// readBody is the middleware of operations that take a body. It reads the body, checks that it is acceptable JSON, and
// puts it back for huma, which checks it against the operation's schema.
func readBody(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	body, plain, err := checkedBody(r)
	if err != nil {
		WriteProblem(w, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(plain))
	r.Header.Set("Content-Type", "application/json")
	next(huma.WithValue(ctx, sentBodyKey{}, body))
}

// verbatimParts are the values in the parts of messages, which come back as they were sent.
var verbatimParts = strictjson.Verbatim{List: "parts", Fields: []string{"input", "output", "data"}}

// checkedBody returns a request's body as it was sent, and with its whole numbers as plain digits.
func checkedBody(r *http.Request) (sent, plain []byte, err error) {
	if err := CheckMediaType(r.Header); err != nil {
		return nil, nil, err
	}
	tooLarge := fault.Newf(fault.TooLarge, "a body has at most %d bytes", maxBody)
	if r.ContentLength > maxBody {
		return nil, nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, nil, readError(err)
	}
	if len(body) > maxBody {
		return nil, nil, tooLarge
	}
	plain, err = strictjson.Plain(body, verbatimParts)
	return body, plain, err
}

// CheckMediaType returns the problem of a request whose body is not JSON.
func CheckMediaType(h http.Header) error {
	if isJSON(h.Get("Content-Type")) {
		return nil
	}
	p := problemOfStatus(http.StatusUnsupportedMediaType)
	p.Title, p.Detail = "Unsupported media type", "the body has to be application/json"
	return p
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
	var wrong fault.Problems
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		wrong.Add(name, "is not a field of this call, which takes no body")
	}
	return wrong[:min(len(wrong), maxProblems)].Err()
}

// readError returns the error of a body that is too large, ended early or was badly encoded.
func readError(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return fault.Wrap(fault.TooLarge, "read body", err)
	}
	return &fault.Error{Code: fault.NotJSON, Message: "the body could not be read to its end", Op: "read body", Err: err}
}

// allowNulls adds null to the schema of every optional field of a request body: a field that is null counts as absent.
// A reference cannot have another type, so the schema that it refers to is copied into the field.
func allowNulls(registry huma.Registry, s *huma.Schema) {
	if s.Ref != "" {
		s = registry.SchemaFromRef(s.Ref)
	}
	if s.Items != nil {
		allowNulls(registry, s.Items)
	}
	for name, field := range s.Properties {
		allowNulls(registry, field)
		if slices.Contains(s.Required, name) {
			continue
		}
		if field.Nullable {
			field.Enum = withNull(field.Enum)
			continue
		}
		if field.Ref != "" {
			inlined := *registry.SchemaFromRef(field.Ref)
			if inlined.Type == "" && len(inlined.OneOf)+len(inlined.AnyOf)+len(inlined.AllOf) == 0 {
				continue // any value, which includes null
			}
			inlined.Description = cmp.Or(field.Description, inlined.Description)
			field = &inlined
			s.Properties[name] = field
		}
		field.Nullable = true
		field.Enum = withNull(field.Enum)
	}
}

// withNull returns the values of an enumeration and null. Without values any is allowed.
func withNull(values []any) []any {
	if len(values) == 0 || slices.Contains(values, nil) {
		return values
	}
	return append(slices.Clone(values), nil)
}
