// Package httpapi serves Throughline's HTTP API. It turns requests into calls of the domain, turns the domain's errors
// into problem+json responses, and generates the OpenAPI document from the types that it serves. There is one
// constructor for each function that answers HTTP (Messages, Context, Prompts, Coach). It returns an http.Handler with
// the operations of that function. GatewayHandler puts a handler behind an API Gateway HTTP API, and lambdaurl.Wrap
// puts Coach behind a function URL.
//
// The rules that hold for every operation are each in one file: callers and scopes in caller.go, bodies in body.go,
// errors in problem.go, lists and their cursors in list.go, repeated requests in idempotency.go, request ids and the
// access log in middleware.go.
//
// The package knows no store. It uses the interfaces of the domain and declares the ones that the domain lacks.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
)

// Base is what every handler needs.
type Base struct {
	// Log takes the access log and the causes of internal and unavailable errors. It is required.
	Log *slog.Logger
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// Limiter bounds what a user may ask for. The default is no bound.
	Limiter Limiter
	// Observe, if set, is called at the end of each request with its method, its route and the status of the answer.
	Observe func(ctx context.Context, method, route string, status int)
}

// Limiter counts what users ask for, by weight. It returns a RateLimited error with RetryAfter for a user who asks for
// too much.
type Limiter interface {
	Allow(ctx context.Context, user conversation.UserID, weight int) error
}

// MessagesDeps are the dependencies of the messages function. All are required.
type MessagesDeps struct {
	Base
	Sessions       conversation.SessionStore
	SessionRemover SessionRemover
	Messages       MessageStore
	MessageRemover MessageRemover
	SessionCutter  SessionCutter
	LongTerm       LongTerm
	Documents      DocumentStore
	Eraser         Eraser
	Spines         longterm.SpineReader
	Usage          QuotaReader
	Health         HealthReader
	Tokens         llm.Counter
	// Cursors signs list cursors.
	Cursors CursorKey
}

// Messages returns the handler of the messages function: sessions, messages, the timeline, long-term records, spines,
// today's tokens, preferences, erasing, and the state of the background work. GatewayHandler has to be in front of it,
// because it takes the caller from the gateway.
func Messages(d MessagesDeps) http.Handler {
	s := newServer(d.Base)
	s.cursors, s.tokens = d.Cursors, d.Tokens
	registerMessages(s, d)
	s.registerPages()
	return s.instrument(s.route())
}

func registerMessages(s *server, d MessagesDeps) {
	sessions{s, d.Sessions, d.SessionRemover}.register()
	messages{s, d.Sessions, d.Messages, d.MessageRemover, d.SessionCutter}.register()
	d.LongTerm.register(s)
	documents{s, d.Documents}.register()
	registerSpines(s, d.Spines)
	registerUsage(s, d.Usage)
	registerHealth(s, d.Health)
	registerApp(s)
	registerUser(s, d.Eraser)
}

// PromptsDeps are the dependencies of the prompt function's HTTP API. All are required.
type PromptsDeps struct {
	Base
	Prompter Prompter
	// Cursors signs list cursors.
	Cursors CursorKey
}

// Prompts returns the handler of the prompt function's HTTP API. GatewayHandler has to be in front of it.
func Prompts(d PromptsDeps) http.Handler {
	s := newServer(d.Base)
	s.cursors = d.Cursors
	prompts{s, d.Prompter}.register()
	return s.instrument(s.route())
}

// ContextDeps are the dependencies of the context function's HTTP API. All are required.
type ContextDeps struct {
	Base
	Recaller  Recaller
	Documents document.Reader
	// Cursors signs list cursors.
	Cursors CursorKey
}

// Context returns the handler of the context function's HTTP API: the query of summaries, the recall of messages, the
// searches, and the list of documents.
// GatewayHandler has to be in front of it.
func Context(d ContextDeps) http.Handler {
	s := newServer(d.Base)
	s.cursors = d.Cursors
	contexts{s, d.Recaller}.register()
	documentLists{s, d.Documents, d.Recaller}.register()
	return s.instrument(s.route())
}

// CoachDeps are the dependencies of the coach function. All but Origins are required.
type CoachDeps struct {
	Base
	Chat   Chatter
	Turns  TurnTaker
	Export ExportDeps
	// Cursors signs the cursors of exports.
	Cursors CursorKey
	// Verifier checks tokens, because a function URL has no authorizer.
	Verifier Verifier
	// Origins are the origins whose pages may call the function URL. "*" allows every origin.
	Origins []string
}

// Coach returns the handler of the coach function: the streaming chat and the export. It checks tokens itself.
func Coach(d CoachDeps) http.Handler {
	s := newServer(d.Base)
	s.cursors = d.Cursors
	registerCoach(s, d)
	return s.instrument(cors(d.Origins, s.authenticate(d.Verifier, s.route())))
}

func registerCoach(s *server, d CoachDeps) {
	chats{s, d.Chat}.register()
	turns{s, d.Turns}.register()
	exports{s, d.Export}.register()
}

// server is the handler of one function while it is put together.
type server struct {
	Base
	mux *http.ServeMux
	// document, where it is set, describes the operations in place of answering requests for them.
	document huma.API
	// cursors signs the cursors of this function's lists.
	cursors CursorKey
	// tokens counts what is stored.
	tokens llm.Counter
}

// configureHuma makes huma match field names exactly and refuse null where a list is needed. The settings are variables
// of the library, so they are set once.
var configureHuma = sync.OnceFunc(func() {
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
	setValidationMessages()
})

func newServer(b Base) *server {
	configureHuma()
	s := &server{Base: b, mux: http.NewServeMux()}
	if s.Now == nil {
		s.Now = time.Now
	}
	return s
}

// humaConfig turns off huma's own pages. Ours, in openapi.go and docs.go, show the operations of all functions.
func humaConfig() huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       &huma.Info{},
			Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName)},
		},
		Formats: map[string]huma.Format{
			"application/json": huma.DefaultJSONFormat, problemType: huma.DefaultJSONFormat,
		},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{fromHuma},
	}
}

// storedNow returns the current time with the precision of stored times.
func (s *server) storedNow() time.Time { return conversation.Milliseconds(s.Now()) }

// route passes a request to its operation. It answers 404 and 405 itself, so that these are problems too.
func (s *server) route() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.ContainsRune(r.URL.Path, utf8.RuneError) { // invalid, or as gateways mend it
			WriteProblem(w, fault.New(fault.Invalid, "the path is not UTF-8"))
			return
		}
		if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped {
			WriteProblem(w, fault.New(fault.NotFound, "there is nothing at this path"))
			return
		}
		h, pattern := s.mux.Handler(r)
		if pattern == "" {
			s.serveUnrouted(h, w, r)
			return
		}
		if sw, ok := w.(*statusWriter); ok {
			sw.route = pattern
		}
		if err := checkQuery(r.URL.RawQuery); err != nil {
			WriteProblem(w, err)
			return
		}
		// Every response has one media type, so the client's preference is ignored.
		r.Header.Del("Accept")
		s.mux.ServeHTTP(w, r)
	})
}

// serveUnrouted answers 404 or 405, whichever the mux would answer, with a problem.
func (s *server) serveUnrouted(h http.Handler, w http.ResponseWriter, r *http.Request) {
	probe := &recorder{header: http.Header{}}
	h.ServeHTTP(probe, r)
	if probe.status != http.StatusMethodNotAllowed {
		WriteProblem(w, fault.New(fault.NotFound, "there is nothing at this path"))
		return
	}
	allowed := probe.header.Get("Allow")
	if strings.HasSuffix(r.URL.Path, truncatePath) { // DELETE is that of a message, whose id may be any text
		allowed = http.MethodPost
	}
	w.Header().Set("Allow", allowed)
	WriteProblem(w, fault.New(fault.MethodNotAllowed, "this path takes "+allowed))
}

// checkQuery refuses what net/url and huma would drop silently: malformed pairs, repeated names, and empty values. An
// empty cursor is the beginning of a list.
func checkQuery(raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fault.New(fault.Invalid, "the query is malformed")
	}
	var wrong fault.Problems
	for name, values := range query {
		wrong.If(len(values) > 1, name, "is given more than once")
		wrong.If(values[0] == "" && name != "cursor", name, "is empty")
		wrong.If(!utf8.ValidString(values[0]), name, "is not UTF-8")
	}
	return wrong.Err()
}
