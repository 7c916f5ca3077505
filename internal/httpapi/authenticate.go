package httpapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
)

// Verifier checks a bearer token and says whose it is. A token that is not good is Unauthorized; Unavailable means
// that the issuer's keys could not be had.
type Verifier interface {
	Verify(ctx context.Context, token string) (user conversation.UserID, scopes []string, err error)
}

// bearer checks the token of every request behind it.
func (s *server) bearer(v Verifier) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			if !strings.EqualFold(scheme, "Bearer") || token == "" {
				writeProblem(w, errNoToken)
				return
			}
			user, scopes, err := v.Verify(r.Context(), strings.TrimSpace(token))
			if err != nil {
				writeProblem(w, s.report(r.Context(), "verify token", err))
				return
			}
			next.ServeHTTP(w, r.WithContext(withCaller(r.Context(), Caller{User: user, Scopes: scopes})))
		})
	}
}

// cors answers preflights and marks answers for pages of the given origins. "*" stands for every origin.
func cors(origins []string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			origin := r.Header.Get("Origin")
			w.Header().Add("Vary", "Origin")
			allowed := slices.Contains(origins, origin) || slices.Contains(origins, "*")
			if origin == "" || !allowed {
				next.ServeHTTP(w, r)
				return
			}
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Expose-Headers", "Idempotency-Replayed, Location, Retry-After, X-Request-Id")
			if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
				next.ServeHTTP(w, r)
				return
			}
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", "authorization, content-type, idempotency-key, x-request-id")
			h.Set("Access-Control-Max-Age", "3600")
			w.WriteHeader(http.StatusNoContent)
		})
	}
}
