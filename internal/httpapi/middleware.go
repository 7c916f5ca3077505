package httpapi

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
)

// RequestIDHeader is the header that carries a request's id, in requests and in responses.
const RequestIDHeader = "X-Request-Id"

type requestIDKey struct{}

// RequestID returns the id of the request that the context belongs to. It is empty outside a request.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// WithRequestID returns a context that carries a request's id.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// ValidRequestID reports whether a client's request id may be echoed and logged: it has 1 to 128 characters, each a
// letter, a digit or one of - _ . : / = +.
func ValidRequestID(id string) bool {
	return conversation.ConsistsOf(id, 128, "-_.:/=+")
}

// LogHandler returns a slog.Handler that adds the request's id to every record logged with the request's context.
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

// statusWriter is a ResponseWriter that remembers the status of the response, for the access log.
type statusWriter struct {
	http.ResponseWriter
	// status is 0 until the header is written.
	status int
	// route is the pattern that the request matched, and caller who the request comes from.
	route  string
	caller Caller
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	if status == http.StatusNoContent { // huma names a type as soon as one answer of the operation has a body
		w.Header().Del("Content-Type")
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the wrapped writer.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// instrument gives each request an id, recovers from panics of the handler, and writes one access log line. The line
// names the route and never holds a path value, a query or a body.
func (s *server) instrument(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(RequestIDHeader)
		if !ValidRequestID(id) {
			id = "req_" + rand.Text()
		}
		started := s.Now()
		r = r.WithContext(WithRequestID(r.Context(), id))
		setSecurityHeaders(w.Header())
		w.Header().Set(RequestIDHeader, id)
		sw := &statusWriter{ResponseWriter: w}
		defer s.logAccess(sw, r, started)
		defer s.recoverPanic(sw, r)
		next.ServeHTTP(sw, r)
	})
}

// recoverPanic answers a panic with a 500. If the response has begun already, it ends there.
func (s *server) recoverPanic(w *statusWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	s.logPanic(r.Context(), "handler", v)
	if w.status == 0 {
		WriteProblem(w, fault.New(fault.Internal, ""))
	}
}

func (s *server) logPanic(ctx context.Context, where string, v any) {
	s.Log.ErrorContext(ctx, "panicked", "where", where, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
}

// logAccess writes the line of a request. For a server that acts on behalf of a user it has hashes of both, so that who
// acted for whom can be found out later.
func (s *server) logAccess(w *statusWriter, r *http.Request, started time.Time) {
	line := []any{
		"method", r.Method, "route", w.route, "status", w.status, "ms", s.Now().Sub(started).Milliseconds(),
	}
	if w.caller.Server != "" {
		line = append(line, "server", llm.EndUser(w.caller.Server), "onBehalfOf", llm.EndUser(string(w.caller.User)))
	}
	s.Log.InfoContext(r.Context(), "request", line...)
	if s.Observe != nil {
		s.Observe(r.Context(), r.Method, w.route, w.status)
	}
}

// setSecurityHeaders sets the headers that every response has. Handlers may replace them.
func setSecurityHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Strict-Transport-Security", "max-age=63072000; includeSubDomains")
}

// cors answers preflight requests and marks the responses that pages of the given origins may read. The origin "*"
// allows every origin.
func cors(origins []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, h := r.Header.Get("Origin"), w.Header()
		h.Add("Vary", "Origin")
		allowed := slices.Contains(origins, origin) || slices.Contains(origins, "*")
		if origin == "" || !allowed {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "Idempotency-Replayed, Location, Retry-After, X-Request-Id")
		if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		h.Set("Access-Control-Allow-Headers",
			"authorization, content-type, idempotency-key, traceparent, tracestate, x-request-id")
		h.Set("Access-Control-Max-Age", "3600")
		w.WriteHeader(http.StatusNoContent)
	})
}
