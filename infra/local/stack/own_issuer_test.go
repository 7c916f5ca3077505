package stack_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/internal/testing/check"
)

// A stack with an own issuer finds its keys by discovery, takes its tokens and no others, and makes none.
func TestOwnIssuer(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	own := newIssuer(t, server.URL)
	own.Register(mux)
	f := start(t, map[string]string{"JWT_ISSUER": server.URL, "JWT_AUDIENCE": "other," + issuer.Audience})
	for name, c := range map[string]struct {
		issuer *issuer.Issuer
		want   int
	}{"own": {own, http.StatusCreated}, "another": {newIssuer(t, "https://issuer.example"), http.StatusUnauthorized}} {
		token, _, err := c.issuer.Mint(issuer.Claims{UserID: "ann"})
		check.OK(t, err)
		if status, body := f.post(t, "/v1/sessions/s/messages", token, "hello"); status != c.want {
			t.Errorf("%s issuer: %d %s", name, status, body)
		}
	}
	for _, path := range []string{"/dev/tokens", "/dev/tokens/ann"} {
		var p struct{ Detail string }
		status := f.call(t, http.MethodPost, path, `{"userId":"ann"}`, &p)
		if status != http.StatusConflict || !strings.Contains(p.Detail, server.URL) {
			t.Errorf("%s: %d %+v", path, status, p)
		}
	}
}

func newIssuer(t *testing.T, url string) *issuer.Issuer {
	t.Helper()
	return check.Got(issuer.New(url, ""))(t)
}
