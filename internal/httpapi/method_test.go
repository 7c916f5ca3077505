package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// TestMethodsOfEveryPath sends HEAD to every documented path, which has to answer like GET without a body. It also
// sends methods that a path does not have: the answer has to list the allowed ones.
func TestMethodsOfEveryPath(t *testing.T) {
	t.Parallel()
	h := allFunctions(t, newMemory(t, noon).stores(&fakeEraser{}))
	for path, operations := range serveDocument(t, h).Paths {
		var allowed []string
		for method := range operations {
			allowed = append(allowed, strings.ToUpper(method))
		}
		path = strings.NewReplacer("{id}", "x", "{messageId}", "x", "{coachId}", "x", "{promptId}", "x",
			"{namespace}", "x", "{key}", "x", "{sessionId}", "x", "{turnId}", "x").Replace(path)
		if slices.Contains(allowed, http.MethodGet) {
			allowed = append(allowed, http.MethodHead)
			get := send(t, h, as("ann", "GET", path))
			head := expect(t, h, get.status, as("ann", "HEAD", path))
			if len(head.body) > 0 || head.header.Get("Content-Type") != get.header.Get("Content-Type") {
				t.Errorf(
					"HEAD %s: %q %s, want %q", path, head.header.Get("Content-Type"), head.body, get.header.Get("Content-Type"),
				)
			}
		}
		if strings.HasSuffix(path, "/messages/truncate") {
			continue // DELETE is that of a message, whose id may be any text
		}
		slices.Sort(allowed)
		for _, method := range []string{
			"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get",
		} {
			if slices.Contains(allowed, method) {
				continue
			}
			r := expect(t, h, 405, as("ann", method, path))
			if got := r.header.Get("Allow"); got != strings.Join(allowed, ", ") {
				t.Errorf("%s %s: Allow %q, want %q", method, path, got, allowed)
			}
		}
	}
	for _, path := range []string{"/docs", "/openapi.json"} {
		expect(t, h, 200, as("", "HEAD", path))
		expect(t, h, 404, as("", "HEAD", path+"/x"))
	}
}

// TestHeadReadsNoExport calls the handler without a server, because a server drops the body of a HEAD response.
func TestHeadReadsNoExport(t *testing.T) {
	t.Parallel()
	h, _ := newExport(t, nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/v1/export", nil)
	r.Header.Set("Authorization", "Bearer user:ann")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/x-ndjson" || w.Body.Len() > 0 {
		t.Errorf("%d %v, %d bytes", w.Code, w.Header(), w.Body.Len())
	}
}
