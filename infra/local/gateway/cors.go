package gateway

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/throughline/throughline/infra/local/template"
)

// CORS applies an API's CORS configuration as the service does. It answers preflight requests itself, before any
// authorizer, and adds the headers for allowed origins to all other responses and errors. Browsers keep a response
// without these headers from the page. A nil configuration changes nothing.
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
				allowRequests(h, c)
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

// allowedOrigin returns the Access-Control-Allow-Origin for a page of that origin, or "" if the page is not allowed.
func allowedOrigin(c *template.CORS, origin string) string {
	i := slices.IndexFunc(c.AllowOrigins, func(o string) bool { return o == origin || o == "*" })
	if origin == "" || i < 0 {
		return ""
	}
	return c.AllowOrigins[i]
}

// isPreflight reports whether the request asks if a page may make another request.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" &&
		r.Header.Get("Access-Control-Request-Method") != ""
}

// allowRequests sets the headers that say what a page of an allowed origin may send.
func allowRequests(h http.Header, c *template.CORS) {
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
