package auth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/auth"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
)

const audience = "throughline"

// issuer publishes keys and signs tokens.
type issuer struct {
	*httptest.Server
	mu      sync.Mutex
	keys    map[string]*rsa.PrivateKey
	down    bool
	fetches int
}

func newIssuer(t testing.TB, kids ...string) *issuer {
	t.Helper()
	i := &issuer{keys: map[string]*rsa.PrivateKey{}}
	for _, kid := range kids {
		i.add(t, kid)
	}
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) add(t testing.TB, kid string) {
	t.Helper()
	key := check.Got(rsa.GenerateKey(rand.Reader, 2048))(t)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys[kid] = key
}

func (i *issuer) setDown(down bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.down = down
}

func (i *issuer) fetched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

func (i *issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.down:
		http.Error(w, "down", http.StatusServiceUnavailable)
	case r.URL.Path == "/.well-known/openid-configuration":
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/oauth2/v1/keys")
	case r.URL.Path == "/oauth2/v1/keys":
		i.fetches++
		i.serveKeys(w)
	default:
		http.NotFound(w, r)
	}
}

func (i *issuer) serveKeys(w http.ResponseWriter) {
	type jwk struct {
		Kty string `json:"kty"`
		Kid string `json:"kid"`
		Alg string `json:"alg"`
		Use string `json:"use"`
		N   string `json:"n"`
		E   string `json:"e"`
	}
	set := struct {
		Keys []jwk `json:"keys"`
	}{}
	for kid, key := range i.keys {
		set.Keys = append(set.Keys, jwk{
			"RSA", kid, "RS256", "sig", base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
			base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
		})
	}
	_ = json.NewEncoder(w).Encode(set)
}

func (i *issuer) sign(t *testing.T, kid string, claims jwt.MapClaims) string {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = kid
	return check.Got(token.SignedString(i.keys[kid]))(t)
}

// claims returns valid claims with changes. A nil value removes a claim.
func (i *issuer) claims(changes jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss": i.URL, "aud": audience, "sub": "user-1", "scope": "throughline/user throughline/app",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
	}
	maps.Copy(c, changes)
	for name, value := range c {
		if value == nil {
			delete(c, name)
		}
	}
	return c
}

// signText signs a payload as it is.
func (i *issuer) signText(t testing.TB, kid, payload string) string {
	t.Helper()
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","kid":"`+kid+`"}`)) + "." + encode([]byte(payload))
	signature := check.Got(jwt.SigningMethodRS256.Sign(text, i.keys[kid]))(t)
	return text + "." + encode(signature)
}

func newVerifier(t testing.TB, i *issuer) *auth.Verifier {
	t.Helper()
	return check.Got(auth.New(t.Context(), auth.Config{Issuer: i.URL, Audiences: []string{audience}}))(t)
}

func TestGoodTokens(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "a", "b")
	v := newVerifier(t, i)
	for name, tc := range map[string]struct {
		changes jwt.MapClaims
		scopes  []string
	}{
		"scope as text": {nil, []string{"throughline/user", "throughline/app"}},
		"no scopes":     {jwt.MapClaims{"scope": nil}, nil},
		"issued a moment later": {
			jwt.MapClaims{"iat": time.Now().Add(5 * time.Second).Unix(), "scope": "x"}, []string{"x"},
		},
		"expired a moment": {
			jwt.MapClaims{"exp": time.Now().Add(-2 * time.Second).Unix(), "scope": "x"}, []string{"x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			user, scopes, err := v.Verify(t.Context(), i.sign(t, "b", i.claims(tc.changes)))
			check.OK(t, err)
			if user != "user-1" || cmp.Diff(tc.scopes, scopes) != "" {
				t.Errorf("user %q, scopes %q, want user-1 and %q", user, scopes, tc.scopes)
			}
		})
	}
}

func TestBadTokens(t *testing.T) {
	t.Parallel()
	i, other := newIssuer(t, "a", "b"), newIssuer(t, "a", "z")
	v := newVerifier(t, i)
	hour := time.Hour
	unsigned := check.Got(jwt.NewWithClaims(jwt.SigningMethodNone,
		i.claims(nil)).SignedString(jwt.UnsafeAllowNoneSignatureType))(t)
	symmetric := check.Got(jwt.NewWithClaims(jwt.SigningMethodHS256, i.claims(nil)).SignedString([]byte("secret")))(t)
	nameless := jwt.NewWithClaims(jwt.SigningMethodRS256, i.claims(nil))
	noKid := check.Got(nameless.SignedString(i.keys["a"]))(t)
	withHeader := func(name string, value any) string {
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, i.claims(nil))
		token.Header["kid"] = "a"
		token.Header[name] = value
		return check.Got(token.SignedString(i.keys["a"]))(t)
	}
	good := i.sign(t, "a", i.claims(nil))
	for name, tc := range map[string]struct{ token, says string }{
		"nothing":        {"", "malformed"},
		"no token":       {"abc", "malformed"},
		"cut":            {good[:len(good)-8], "RS256"},
		"other payload":  {swapPayload(good, i.sign(t, "a", i.claims(jwt.MapClaims{"sub": "user-2"}))), "RS256"},
		"unsigned":       {unsigned, "RS256"},
		"HS256":          {symmetric, "RS256"},
		"no kid":         {noKid, "kid"},
		"empty kid":      {withHeader("kid", ""), "kid"},
		"kid no text":    {withHeader("kid", 7), "kid"},
		"crit":           {withHeader("crit", []string{"b64"}), "crit"},
		"an empty crit":  {withHeader("crit", []string{}), "crit"},
		"issued later":   {i.sign(t, "a", i.claims(jwt.MapClaims{"iat": time.Now().Add(hour).Unix()})), "in the future"},
		"same kid":       {other.sign(t, "a", i.claims(nil)), "RS256"},
		"unknown kid":    {other.sign(t, "z", i.claims(nil)), "unknown key"},
		"expired":        {i.sign(t, "a", i.claims(jwt.MapClaims{"exp": time.Now().Add(-hour).Unix()})), "expired"},
		"never expires":  {i.sign(t, "a", i.claims(jwt.MapClaims{"exp": nil})), "lacks"},
		"not yet":        {i.sign(t, "a", i.claims(jwt.MapClaims{"nbf": time.Now().Add(hour).Unix()})), "not valid yet"},
		"other issuer":   {i.sign(t, "a", i.claims(jwt.MapClaims{"iss": "https://elsewhere"})), "issuer"},
		"other audience": {i.sign(t, "a", i.claims(jwt.MapClaims{"aud": "another"})), "audience"},
		"other client":   {i.sign(t, "a", i.claims(jwt.MapClaims{"aud": nil, "client_id": "another"})), "audience"},
		"empty aud, own client_id": {
			i.sign(t, "a", i.claims(jwt.MapClaims{"aud": []string{}, "client_id": audience})), "lacks",
		},
		"neither aud nor client_id": {i.sign(t, "a", i.claims(jwt.MapClaims{"aud": nil})), "lacks"},
		"huge":                      {strings.Repeat("x", 1<<20), "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			user, _, err := v.Verify(t.Context(), tc.token)
			if !fault.Is(err, fault.Unauthorized) {
				t.Fatalf("user %q, error %v; want an unauthorized error", user, err)
			}
			if message := fault.From(err).Message; !strings.Contains(message, tc.says) || strings.Contains(message, "\n") {
				t.Errorf("message %q, want one line with %q", message, tc.says)
			}
		})
	}
}

func TestNewKeyIsFetchedOnceAWhile(t *testing.T) {
	t.Parallel()
	i, forger := newIssuer(t, "a"), newIssuer(t, "forged")
	v := newVerifier(t, i)
	check.OK(t, v.Warm(t.Context()))
	i.add(t, "new")
	if _, _, err := v.Verify(t.Context(), i.sign(t, "new", i.claims(nil))); err != nil {
		t.Fatalf("a token of a key that was added later: %v", err)
	}
	for range 20 {
		if _, _, err := v.Verify(t.Context(), forger.sign(t, "forged", i.claims(nil))); !fault.Is(err, fault.Unauthorized) {
			t.Fatalf("forged token: %v, want unauthorized", err)
		}
	}
	check.Equal(t, 2, i.fetched(), "fetches of the keys, want 2: the first, and one for the new key")
}

func TestIssuerDownIsUnavailable(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "a")
	v := newVerifier(t, i)
	token := i.sign(t, "a", i.claims(nil))
	i.setDown(true)
	if _, _, err := v.Verify(t.Context(), token); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("keys never fetched: %v, want unavailable", err)
	}
	i.setDown(false)
	if _, _, err := v.Verify(t.Context(), token); err != nil {
		t.Fatalf("issuer back: %v", err)
	}
	i.setDown(true)
	if _, _, err := v.Verify(t.Context(), token); err != nil {
		t.Fatalf("known key, issuer down: %v", err)
	}
	i.add(t, "new")
	if _, _, err := v.Verify(t.Context(), i.sign(t, "new", i.claims(nil))); !fault.Is(err, fault.Unavailable) {
		t.Errorf("new key, issuer down: %v, want unavailable", err)
	}
}

func TestConfigurationIsNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range []auth.Config{
		{}, {Issuer: "https://x"}, {Audiences: []string{"y"}}, {Issuer: "x", Audiences: []string{""}},
	} {
		if _, err := auth.New(t.Context(), c); err == nil {
			t.Errorf("New(%+v) made a verifier", c)
		}
	}
}

func swapPayload(a, b string) string {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	return x[0] + "." + y[1] + "." + x[2]
}
