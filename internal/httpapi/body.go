package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

// maxBody is how large a body may be (api 1).
const maxBody = 3 << 20

// readBody is the middleware of operations that take a body: it reads at most maxBody of it, sees that it is JSON that
// can be taken as it stands, and puts it back for huma, which checks it against the operation's schema.
func readBody(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	body, err := bodyOf(r)
	if err != nil {
		writeProblem(w, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	next(ctx)
}

func bodyOf(r *http.Request) ([]byte, error) {
	if !isJSON(r.Header.Get("Content-Type")) {
		k := kindOf(fault.Invalid)
		k.status, k.title, k.detail = http.StatusUnsupportedMediaType, "Unsupported media type", "the body has to be application/json"
		return nil, newProblem(fault.Invalid, k)
	}
	tooLarge := fault.Newf(fault.TooLarge, "a body has at most %d bytes", maxBody)
	if r.ContentLength > maxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if len(body) > maxBody {
		return nil, tooLarge
	}
	return body, strictjson.Check(body)
}

// noBody says what is wrong with a body where none is taken.
const noBody = "this call takes no body"

// refuseBody is the middleware of operations that take no body: what would be ignored is refused, since whoever sends it
// means something by it. An empty object says nothing.
func refuseBody(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	if err := checkNoBody(r.Body); err != nil {
		writeProblem(w, err)
		return
	}
	next(ctx)
}

func checkNoBody(body io.Reader) error {
	const most = 64 << 10 // enough to name its fields
	text, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return unreadable(err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if len(text) > most || json.Unmarshal(text, &fields) != nil || fields == nil {
		return fault.InvalidField("body", noBody)
	}
	var wrong []fault.Field
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		wrong = append(wrong, fault.Field{Field: name, Message: "is not a field of this call, which takes no body"})
	}
	return wrongOr(wrong[:min(len(wrong), maxProblems)])
}

// unreadable is the problem of a body that ended early or was badly encoded.
func unreadable(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return fault.Wrap(fault.TooLarge, "read body", err)
	}
	return &fault.Error{Code: fault.NotJSON, Message: "the body could not be read to its end", Op: "read body", Err: err}
}

// jsonFormat reads and writes bodies. It names the field of a value that its schema lets pass and its Go type does not:
// a whole number written as 1e1 or 1.0.
func jsonFormat() huma.Format {
	return huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}
}

// misfit begins the text of an error that ends in a field's name; fieldOf takes it apart.
const misfit = "misfit "

func unmarshal(text []byte, v any) error {
	err := json.Unmarshal(text, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return errors.New(misfit + wrong.Field)
	}
	return err
}

// isJSON reports whether a Content-Type may hold JSON in UTF-8; none at all may.
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

// hashOf is the hash of a decoded body, so that two texts of the same value are the same body.
func hashOf(body any) (string, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return "", fault.Wrap(fault.Internal, "hash body", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
