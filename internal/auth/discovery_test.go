package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/throughline/throughline/internal/auth"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestDiscover(t *testing.T) {
	t.Parallel()
	const keys = "https://keys.example.com/v1"
	for _, c := range []struct {
		name string
		// path is what the server has a configuration at, and suffix what the issuer's name ends with.
		path, suffix string
		// configuration is what the server answers, with its URL as %[1]s.
		configuration, want, problem string
	}{
		{
			name: "keys elsewhere", path: "/", configuration: `{"issuer":"%[1]s","jwks_uri":"https://keys.example.com/v1"}`,
			want: keys,
		},
		{
			name: "an issuer with a path and a slash at its end", path: "/tenant/", suffix: "/tenant/",
			configuration: `{"issuer":"%[1]s","jwks_uri":"https://keys.example.com/v1"}`, want: keys,
		},
		{
			name: "keys of a local issuer", path: "/", configuration: `{"issuer":"%[1]s","jwks_uri":"http://127.0.0.1:1/keys"}`,
			want: "http://127.0.0.1:1/keys",
		},
		{
			name: "another issuer", path: "/", configuration: `{"issuer":"https://other.example.com","jwks_uri":"https://a"}`,
			problem: `is of the issuer "https://other.example.com": JwtIssuer must be that one exactly`,
		},
		{
			name: "a slash too few", path: "/", configuration: `{"issuer":"%[1]s/","jwks_uri":"https://a"}`,
			problem: "JwtIssuer must be that one exactly",
		},
		{name: "no keys", path: "/", configuration: `{"issuer":"%[1]s"}`, problem: `names no keys by https (jwks_uri is "")`},
		{name: "no configuration", path: "/elsewhere/", problem: "answers 404"},
		{name: "no JSON", path: "/", configuration: "<html>", problem: "invalid character '<'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var issuer string
			mux := http.NewServeMux()
			mux.HandleFunc("GET "+c.path+".well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, strings.ReplaceAll(c.configuration, "%[1]s", issuer))
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			issuer = server.URL + c.suffix

			got, err := auth.Discover(t.Context(), server.Client(), issuer)
			if c.problem == "" && (err != nil || got != c.want) {
				t.Errorf("keys at %q, %v, want %q", got, err, c.want)
			}
			if c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
				t.Errorf("error %v, want one with %q", err, c.problem)
			}
		})
	}
}

// TestKeysOfASecureIssuerComeSecurely checks that an issuer with https cannot name keys that travel in the clear.
func TestKeysOfASecureIssuerComeSecurely(t *testing.T) {
	t.Parallel()
	var issuer string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"http://127.0.0.1:1/keys"}`, issuer)
	}))
	defer server.Close()
	issuer = server.URL
	if got, err := auth.Discover(t.Context(), server.Client(), issuer); err == nil {
		t.Errorf("keys at %q are accepted", got)
	}
}

// TestKeysAtTheUsualPlace checks that the keys are fetched from where most issuers have them while the issuer is asked
// where they are, and that only the issuer's answer decides.
func TestKeysAtTheUsualPlace(t *testing.T) {
	t.Parallel()
	for _, configured := range []bool{true, false} {
		both := make(chan struct{})
		var asked atomic.Int32
		meet := func() {
			if asked.Add(1) == 2 {
				close(both)
			}
			<-both
		}
		mux := http.NewServeMux()
		server := httptest.NewServer(mux)
		defer server.Close()
		mux.HandleFunc("/.well-known/jwks.json", func(w http.ResponseWriter, _ *http.Request) {
			meet()
			fmt.Fprint(w, `{"keys":[]}`)
		})
		mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
			meet()
			if !configured {
				http.NotFound(w, r)
				return
			}
			fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, server.URL, server.URL+"/.well-known/jwks.json")
		})
		verifier := check.Got(auth.New(t.Context(), auth.Config{Issuer: server.URL, Audiences: []string{"app"}}))(t)
		if err := verifier.Warm(t.Context()); (err == nil) != configured || asked.Load() != 2 {
			t.Errorf("configured %t: error %v after %d requests, want 2", configured, err, asked.Load())
		}
	}
}
