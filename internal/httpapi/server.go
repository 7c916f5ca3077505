package httpapi

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Base is what every handler needs. The zero value of an optional field has a default.
type Base struct {
	// Log takes the access log and the causes of what clients see as internal or unavailable. Needed.
	Log *slog.Logger
	// Now is the clock; time.Now where nil.
	Now func() time.Time
	// NewID makes request ids; random where nil.
	NewID func() string
}

// server is one function's handler in the making: a mux, and the huma API that registers its operations there.
type server struct {
	log   *slog.Logger
	now   func() time.Time
	newID func() string
	mux   *http.ServeMux
	api   huma.API
	// cursors signs the cursors of this function's lists.
	cursors CursorKey
}

// strict makes huma take field names as they are written, and know arrays from null. The switches are the library's
// own variables, hence once.
var strict = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
	wordValidation()
})

func newServer(b Base) *server {
	strict()
	s := &server{log: b.Log, now: b.Now, newID: b.NewID, mux: http.NewServeMux()}
	if s.now == nil {
		s.now = time.Now
	}
	if s.newID == nil {
		s.newID = func() string { return "req_" + rand.Text() }
	}
	s.api = humago.New(s.mux, humaConfig())
	return s
}

// humaConfig is huma without its own pages: openapi.go and docs.go serve ours, of the operations of all functions.
func humaConfig() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       &huma.Info{},
			Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName)},
		},
		Formats:                      map[string]huma.Format{"application/json": jsonFormat(), problemType: jsonFormat()},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{fromHuma},
	}
}

// moment is the time now, as precise as times are stored.
func (s *server) moment() time.Time { return conversation.Milliseconds(s.now()) }

// handler closes the server: what every request passes before its operation. Authenticate, where not nil, finds the
// caller; otherwise the transport has found it already.
func (s *server) handler(authenticate func(http.Handler) http.Handler) http.Handler {
	h := s.route()
	if authenticate != nil {
		h = authenticate(h)
	}
	return s.observe(h)
}

// route finds the operation, and answers itself where there is none, so that these errors are problems too.
func (s *server) route() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped {
			writeProblem(w, fault.New(fault.NotFound, "there is nothing at this path"))
			return
		}
		h, pattern := s.mux.Handler(r)
		if pattern == "" {
			s.unrouted(h, w, r)
			return
		}
		if a, ok := w.(*answer); ok {
			a.route = pattern
		}
		if err := checkQuery(r.URL.RawQuery); err != nil {
			writeProblem(w, err)
			return
		}
		// Every answer has one media type, whatever the client would rather have.
		r.Header.Del("Accept")
		s.mux.ServeHTTP(w, r)
	})
}

// unrouted answers 404 or 405 as the mux would, as a problem.
func (s *server) unrouted(h http.Handler, w http.ResponseWriter, r *http.Request) {
	probe := &recorder{header: http.Header{}}
	h.ServeHTTP(probe, r)
	if probe.status != http.StatusMethodNotAllowed {
		writeProblem(w, fault.New(fault.NotFound, "there is nothing at this path"))
		return
	}
	allowed := probe.header.Get("Allow")
	w.Header().Set("Allow", allowed)
	writeProblem(w, fault.New(fault.MethodNotAllowed, "this path takes "+allowed))
}

// checkQuery refuses what net/url would drop in silence: malformed pairs, and all but the first of equal names.
func checkQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fault.New(fault.Invalid, "the query is malformed")
	}
	var wrong []fault.Field
	for name, values := range query {
		if len(values) > 1 {
			wrong = append(wrong, fault.Field{Field: name, Message: "is given more than once"})
		}
		if strings.ToValidUTF8(values[0], "") != values[0] {
			wrong = append(wrong, fault.Field{Field: name, Message: "is not UTF-8"})
		}
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong...)
	}
	return nil
}
