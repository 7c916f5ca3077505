package issuer_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/internal/auth"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestTokensPassTheRealCheck(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, body, user string
		scopes           []string
	}{
		{"default", `{"userId":"ann"}`, "ann", []string{"throughline/user", "throughline/app"}},
		{"one scope", `{"userId":"ann","scopes":["throughline/user"]}`, "ann", []string{"throughline/user"}},
		{"no scopes", `{"userId":"ann","scopes":[]}`, "ann", nil},
		{"audience in client_id", `{"userId":"ann","scopes":["x"],"audience":"client_id"}`, "ann", []string{"x"}},
		{"any printable user", `{"userId":"ü b/c|#%"}`, "ü b/c|#%", []string{"throughline/user", "throughline/app"}},
	}
	url, verifier := serve(t, "")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			token := mint(t, url, c.body)
			user, scopes, err := verifier.Verify(t.Context(), token)
			check.OK(t, err)
			if string(user) != c.user || !slices.Equal(scopes, c.scopes) {
				t.Errorf("user %q scopes %q, want %q %q", user, scopes, c.user, c.scopes)
			}
		})
	}
}

// TestTokenAsText mints a token for a shell.
func TestTokenAsText(t *testing.T) {
	t.Parallel()
	url, verifier := serve(t, "")
	resp := post(t, url+"/dev/tokens/ann%20b", "")
	token, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.StatusCode, err)
	}
	user, scopes, err := verifier.Verify(t.Context(), string(token))
	if user != "ann b" || len(scopes) != 2 || err != nil {
		t.Errorf("user %q, scopes %q, %v", user, scopes, err)
	}
	server := post(t, url+"/dev/tokens", `{"server":true}`, "Accept", "text/plain")
	token, err = io.ReadAll(server.Body)
	if err != nil || server.StatusCode != http.StatusOK {
		t.Fatal(server.StatusCode, err)
	}
	if _, scopes, err = verifier.Verify(t.Context(), string(token)); len(scopes) != 3 || err != nil {
		t.Errorf("a server's token: scopes %q, %v", scopes, err)
	}
	long := post(t, url+"/dev/tokens/"+strings.Repeat("x", 129), "")
	if long.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a name that is too long: %d", long.StatusCode)
	}
}

// TestTokensSayWhenTheyExpire compares the answer with the claim.
func TestTokensSayWhenTheyExpire(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, "")
	var out struct {
		Token     string
		ExpiresAt time.Time
	}
	began := time.Now()
	body := post(t, url+"/dev/tokens", `{"userId":"ann","expiresIn":90}`).Body
	check.OK(t, json.NewDecoder(body).Decode(&out))
	claims := jwt.MapClaims{}
	if _, _, err := jwt.NewParser().ParseUnverified(out.Token, claims); err != nil {
		t.Fatal(err)
	}
	exp, err := claims.GetExpirationTime()
	if err != nil || !exp.Equal(out.ExpiresAt) || out.ExpiresAt.Sub(began).Round(time.Minute/2) != 90*time.Second {
		t.Errorf("expires %v, the claim is %v, %v", out.ExpiresAt, exp, err)
	}
}

func TestKeyOutlivesTheRun(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key.pem")
	first := check.Got(issuer.New("http://issuer", file))(t)
	second := check.Got(issuer.New("http://issuer", file))(t)
	if diff := cmp.Diff(keys(t, first), keys(t, second)); diff != "" {
		t.Errorf("keys of two runs (-first +second):\n%s", diff)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file %v, error %v", info, err)
	}
	check.OK(t, os.WriteFile(file, []byte("garbage"), 0o600))
	if _, err := issuer.New("http://issuer", file); err == nil {
		t.Error("took a file without a key")
	}
}

func TestServersHaveNoUser(t *testing.T) {
	t.Parallel()
	url, verifier := serve(t, "")
	user, scopes, err := verifier.Verify(t.Context(), mint(t, url, `{"server":true}`))
	if want := "throughline/on-behalf throughline/user throughline/app"; err != nil || strings.Join(scopes, " ") != want {
		t.Errorf("scopes %q, %v, want %q", scopes, err, want)
	}
	if user == "" {
		t.Error("the token names no client")
	}
	_, scopes, err = verifier.Verify(t.Context(), mint(t, url, `{"server":true,"scopes":["throughline/on-behalf"]}`))
	if err != nil || len(scopes) != 1 {
		t.Errorf("scopes %q, %v, want the one that was asked for", scopes, err)
	}
	if r := post(t, url+"/dev/tokens", `{"server":true,"userId":"ann"}`); r.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a server's token for a user: status %d", r.StatusCode)
	}
}

func TestConfigurationNamesTheKeys(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, "")
	var got struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	get(t, url+"/.well-known/openid-configuration", &got)
	if got.Issuer != url || got.Keys != url+"/.well-known/jwks.json" {
		t.Errorf("configuration %+v", got)
	}
}

func serve(t *testing.T, keyFile string) (string, *auth.Verifier) {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i := check.Got(issuer.New(server.URL, keyFile))(t)
	i.Register(mux)
	verifier := check.Got(auth.New(t.Context(), auth.Config{Issuer: server.URL, Audiences: []string{issuer.Audience}}))(t)
	return server.URL, verifier
}

func mint(t *testing.T, url, body string) string {
	t.Helper()
	resp := post(t, url+"/dev/tokens", body)
	var out struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, error %v", resp.StatusCode, err)
	}
	return out.Token
}

// response is a response whose body is closed when the test ends.
type response struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

// post sends a body, with headers as names and values in turn.
func post(t *testing.T, url, body string, headers ...string) response {
	t.Helper()
	req := check.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body)))(t)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp := check.Got(http.DefaultClient.Do(req))(t)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return response{resp.StatusCode, resp.Header, resp.Body}
}

func get(t *testing.T, url string, out any) {
	t.Helper()
	req := check.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))(t)
	resp := check.Got(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	check.OK(t, json.NewDecoder(resp.Body).Decode(out))
}

func keys(t *testing.T, i *issuer.Issuer) (out any) {
	t.Helper()
	mux := http.NewServeMux()
	i.Register(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	get(t, server.URL+"/.well-known/jwks.json", &out)
	return out
}
