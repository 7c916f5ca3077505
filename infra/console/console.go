// Package console carries the built web console in the binaries that serve it.
package console

import (
	"embed"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed dist
var dist embed.FS

// policy allows the page its own scripts, styles and icon, and calls to its own origin. It has no inline code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Console serves the console's files, which are compiled in. It is safe for concurrent use.
type Console struct{}

// find returns a file by the path of a request, and its name.
func (Console) find(at string) (content []byte, name string, ok bool) {
	if name = at; at == "/" {
		name = "/index.html"
	}
	content, err := dist.ReadFile("dist" + name)
	return content, name, err == nil
}

// cacheControl lets browsers keep the assets, whose names change with their content, and ask for everything else.
func cacheControl(name string) string {
	if strings.HasPrefix(name, "/assets/") {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}

// Has reports whether the console has a file at a request's path.
func (c Console) Has(path string) bool {
	_, _, ok := c.find(path)
	return ok
}

// ServeHTTP serves a file to GET and HEAD. A path without a file gets a page that says so, with status 404.
func (c Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, name, ok := c.find(r.URL.Path)
	status := http.StatusOK
	if !ok {
		content, name, _ = c.find("/404.html")
		status = http.StatusNotFound
	}
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "this path takes GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Cache-Control", cacheControl(name))
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(content) // an error means that the client is gone
	}
}
