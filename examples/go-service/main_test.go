package main

import (
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	throughline "github.com/throughline/throughline/clients/go"
)

// TestService talks to both screens of the service, which share one memory at the stack of THROUGHLINE.
func TestService(t *testing.T) {
	base := os.Getenv("THROUGHLINE")
	if base == "" {
		t.Fatal("run make adapters, which starts a stack")
	}
	memory := throughline.New(throughline.Config{BaseURL: base, TokenSource: credential(base)})
	server := httptest.NewServer(newHandler(memory))
	defer server.Close()
	user := "go-service-" + strings.ToLower(rand.Text())

	ask := func(method, path, body, user, key string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User", user)
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(text)
	}

	const swap = `{"message": "I only have bands at home: swap the hip thrusts for glute bridges."}`
	if status, text := ask("POST", "/say/designer", swap, user, ""); status != 200 {
		t.Fatalf("%d: %s", status, text)
	}
	const question = `{"message": "What did I swap the hip thrusts for?"}`
	_, answer := ask("POST", "/say/coach", question, user, "turn-1")
	if !strings.Contains(answer, "glute bridges") {
		t.Errorf("the coach does not know what the designer was told: %s", answer)
	}
	if _, again := ask("POST", "/say/coach", question, user, "turn-1"); again != answer {
		t.Errorf("the same turn got another answer: %s", again)
	}
	want := "user: What did I swap the hip thrusts for?\nassistant: " + answer + "\n"
	if _, history := ask("GET", "/history/coach", "", user, ""); history != want {
		t.Errorf("the history is not\n%sbut\n%s", want, history)
	}

	for _, c := range []struct {
		method, path, body, user string
		want                     int
	}{
		{"POST", "/say/coach", question, "", 401},
		{"POST", "/say/kitchen", question, user, 404},
		{"POST", "/say/coach", `no JSON`, user, 400},
		{"POST", "/say/coach", `{"message": ""}`, user, 422},
		{"GET", "/history/coach", "", user + "-other", 404},
	} {
		if status, text := ask(c.method, c.path, c.body, c.user, ""); status != c.want {
			t.Errorf("%s %s: %d, want %d: %s", c.method, c.path, status, c.want, text)
		}
	}
}
