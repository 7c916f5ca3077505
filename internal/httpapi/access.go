package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/throughline/throughline/internal/fault"
)

// RequestIDHeader carries a request's id, in both directions.
const RequestIDHeader = "X-Request-Id"

type requestIDKey struct{}

// RequestID returns the id of the request that the context belongs to, empty outside a request.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// WithRequestID returns a context of the request with that id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// LogHandler returns a handler that puts the request's id into every record logged with the request's context.
func LogHandler(h slog.Handler) slog.Handler { return logHandler{h} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("requestId", id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}

// answer is a ResponseWriter that remembers what was sent.
type answer struct {
	http.ResponseWriter
	status int
	// route is the pattern that the request matched.
	route string
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the writer beneath.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// observe gives the request its id, survives a panic of what is behind it, and logs one line: never a path value, a
// query or a body, only the route.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(RequestIDHeader)
		if !ValidRequestID(id) {
			id = s.newID()
		}
		started := s.now()
		r = r.WithContext(WithRequestID(r.Context(), id))
		secure(w.Header())
		w.Header().Set(RequestIDHeader, id)
		a := &answer{ResponseWriter: w}
		defer s.logAccess(a, r, started)
		defer s.survive(a, r)
		next.ServeHTTP(a, r)
	})
}

// survive turns a panic into a 500, or, behind the first byte, into the end of the answer.
func (s *server) survive(a *answer, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	s.log.ErrorContext(r.Context(), "handler panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	if a.status == 0 {
		writeProblem(a, fault.New(fault.Internal, ""))
	}
}

func (s *server) logAccess(a *answer, r *http.Request, started time.Time) {
	s.log.InfoContext(r.Context(), "request", "method", r.Method, "route", a.route, "status", a.status,
		"ms", s.now().Sub(started).Milliseconds())
}

// secure sets the headers that every answer bears. Handlers may replace them.
func secure(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
}

// ValidRequestID reports whether a client's request id may be echoed and logged: 1 to 128 of a few plain characters.
func ValidRequestID(id string) bool {
	if len(id) < 1 || len(id) > 128 {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '_', c == '.', c == ':', c == '/', c == '=', c == '+':
		default:
			return false
		}
	}
	return true
}
