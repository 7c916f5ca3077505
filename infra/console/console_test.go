package console_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/console"
	"github.com/throughline/throughline/internal/testing/check"
)

// maxSize is the most that a visitor loads, compressed, in bytes.
const maxSize = 200 << 10

// get requests a path, and returns the answer with its body and its size where a server compresses it, as CloudFront
// does.
func get(t *testing.T, method, path string) (answer *http.Response, body string, size int) {
	t.Helper()
	w := httptest.NewRecorder()
	console.Console{}.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody))
	var compressed bytes.Buffer
	out := gzip.NewWriter(&compressed)
	check.Got(out.Write(w.Body.Bytes()))(t)
	check.OK(t, out.Close())
	return w.Result(), w.Body.String(), compressed.Len()
}

// TestMissingPage checks that a person who has mistyped an address gets a page, from which the start is one click away.
func TestMissingPage(t *testing.T) {
	t.Parallel()
	answer, page, _ := get(t, http.MethodGet, "/no/such/page")
	if answer.StatusCode != http.StatusNotFound || answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("the answer is %d, %q", answer.StatusCode, answer.Header.Get("Content-Type"))
	}
	style := regexp.MustCompile(`href="(/assets/[^"]+)"`).FindStringSubmatch(page)
	if style == nil || !strings.Contains(page, `href="/"`) {
		t.Fatalf("the page has no style or no way to the start: %s", page)
	}
	if answer, _, _ := get(t, http.MethodGet, style[1]); answer.StatusCode != http.StatusOK {
		t.Errorf("its style answers %d", answer.StatusCode)
	}
}

// TestPageIsStrictAndSmall follows the page to its assets.
func TestPageIsStrictAndSmall(t *testing.T) {
	t.Parallel()
	answer, page, total := get(t, http.MethodGet, "/")
	check.Equal(t, "no-cache", answer.Header.Get("Cache-Control"), "the page has Cache-Control")
	policy := answer.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	if strings.Contains(page, "<style") || regexp.MustCompile(`<script[^>]*>[^<]`).MatchString(page) {
		t.Error("the page has inline code")
	}
	assets := regexp.MustCompile(`(?:href|src)="(assets/[^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(assets) != 2 {
		t.Fatalf("the page loads %d assets, want a script and a style", len(assets))
	}
	for _, asset := range assets {
		answer, body, size := get(t, http.MethodGet, "/"+asset[1])
		if !strings.Contains(answer.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s may not be kept", asset[1])
		}
		if strings.Contains(body, "//# sourceMappingURL") {
			t.Errorf("%s names a source map, which is not there", asset[1])
		}
		total += size
	}
	if total > maxSize {
		t.Errorf("a visitor loads %d bytes, want at most %d", total, maxSize)
	}
}

func TestOtherMethodsAndPaths(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/config.json", http.StatusOK},
		{http.MethodHead, "/", http.StatusOK},
		{http.MethodPost, "/", http.StatusMethodNotAllowed},
		{http.MethodGet, "/assets/", http.StatusNotFound},
		{http.MethodGet, "/v1/sessions", http.StatusNotFound},
	} {
		answer, body, _ := get(t, test.method, test.path)
		if answer.StatusCode != test.status {
			t.Errorf("%s %s answers %d, want %d", test.method, test.path, answer.StatusCode, test.status)
		}
		if test.method == http.MethodHead && body != "" {
			t.Errorf("%s %s has a body", test.method, test.path)
		}
	}
}
