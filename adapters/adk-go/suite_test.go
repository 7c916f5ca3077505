package adk_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/session/sessiontestsuite"

	adk "github.com/throughline/throughline/adapters/adk-go"
	throughline "github.com/throughline/throughline/clients/go"
)

// base is the address of the stack, which make adapters starts.
func base(t *testing.T) string {
	t.Helper()
	address := os.Getenv("THROUGHLINE")
	if address == "" {
		t.Fatal("THROUGHLINE is not set: run make adapters ADAPTER=adk-go")
	}
	return address
}

// credential gets the server's credential of the local stack.
func credential(address string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		body := strings.NewReader(`{"server":true}`)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/dev/tokens", body)
		if err != nil {
			return "", err
		}
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		var got struct{ Token string }
		err = json.NewDecoder(answer.Body).Decode(&got)
		return got.Token, err
	}
}

// fresh returns options for users whom no other test has.
func fresh(t *testing.T, transport http.RoundTripper) adk.Options {
	t.Helper()
	address, test := base(t), rand.Text()[:10]
	client := throughline.New(throughline.Config{
		BaseURL: address, TokenSource: credential(address), HTTP: &http.Client{Transport: transport},
	})
	return adk.Options{
		Client: client, Context: "coach_conversation", CoachID: "kim",
		User: func(app, user string) string { return strings.Join([]string{"adk", test, app, user}, "-") },
	}
}

// TestSuite runs ADK's own tests of session services.
func TestSuite(t *testing.T) {
	t.Parallel()
	options := sessiontestsuite.SuiteOptions{SupportsUserProvidedSessionID: true}
	sessiontestsuite.RunServiceTests(t, options, func(t *testing.T) session.Service {
		t.Helper()
		return adk.NewSessions(fresh(t, nil))
	})
}
