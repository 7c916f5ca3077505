package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/throughline/throughline/infra/local/template"
)

// anyOrigin stands for every origin in a configuration.
const anyOrigin = "*"

// CORS does what the service does with an API's configuration for pages of other origins: it answers their preflights
// itself, before any authorizer, and marks every other answer, errors included, for the origins that are allowed.
// Answers to others bear no mark, so that browsers keep them from the page. A nil configuration changes nothing.
func CORS(c *template.CORS, next http.Handler) http.Handler {
	if c == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		allowed := allowedOrigin(c, r.Header.Get("Origin"))
		if allowed != "" {
			h.Set("Access-Control-Allow-Origin", allowed)
		}
		if isPreflight(r) {
			if allowed != "" {
				permit(h, c)
			}
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if allowed != "" {
			setList(h, "Access-Control-Expose-Headers", c.ExposeHeaders)
		}
		next.ServeHTTP(w, r)
	})
}

// allowedOrigin is what an answer to a page of that origin names as allowed, empty where it is not.
func allowedOrigin(c *template.CORS, origin string) string {
	switch {
	case origin == "":
		return ""
	case slices.Contains(c.AllowOrigins, anyOrigin):
		return anyOrigin
	case slices.Contains(c.AllowOrigins, origin):
		return origin
	}
	return ""
}

// isPreflight tells a browser's question whether a page may make a request.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// permit says what a page of an allowed origin may send.
func permit(h http.Header, c *template.CORS) {
	setList(h, "Access-Control-Allow-Methods", c.AllowMethods)
	setList(h, "Access-Control-Allow-Headers", c.AllowHeaders)
	if c.MaxAge > 0 {
		h.Set("Access-Control-Max-Age", strconv.Itoa(c.MaxAge))
	}
}

func setList(h http.Header, name string, values []string) {
	if len(values) > 0 {
		h.Set(name, strings.Join(values, ","))
	}
}
