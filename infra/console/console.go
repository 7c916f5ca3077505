// Package console carries the built web console in the binaries that serve it.
package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io/fs"
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

// file is one built file, as it is and compressed.
type file struct {
	contentType, cache string
	plain, compressed  []byte
}

// Console serves the console's files. It is safe for concurrent use.
type Console struct{ files map[string]file }

// New reads the files that are compiled in.
func New() (*Console, error) {
	c := &Console{files: map[string]file{}}
	err := fs.WalkDir(dist, "dist", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		compressed, err := compress(content)
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(name, "dist")
		c.files[at] = file{
			contentType: mime.TypeByExtension(path.Ext(name)), cache: cacheControl(at), plain: content, compressed: compressed,
		}
		return nil
	})
	c.files["/"] = c.files["/index.html"]
	return c, err
}

// cacheControl lets browsers keep the assets, whose names change with their content, and ask for everything else.
func cacheControl(at string) string {
	if strings.HasPrefix(at, "/assets/") {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}

func compress(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// Has reports whether the console has a file at a request's path.
func (c *Console) Has(path string) bool {
	_, ok := c.files[path]
	return ok
}

// ServeHTTP serves a file to GET and HEAD. A path without a file gets a page that says so, with status 404.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := c.files[r.URL.Path]
	status := http.StatusOK
	if !ok {
		f, status = c.files["/404.html"], http.StatusNotFound
	}
	h := w.Header()
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "this path takes GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", f.cache)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Vary", "Accept-Encoding")
	body := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.compressed
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // an error means that the client is gone
	}
}
