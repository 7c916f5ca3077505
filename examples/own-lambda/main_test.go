package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdaurl"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/sashabaranov/go-openai"

	throughline "github.com/throughline/throughline/clients/go"
)

// TestCoach has two messages answered with the local stack's functions and model. The second prompt has the first
// message, and both turns are stored.
func TestCoach(t *testing.T) {
	base := os.Getenv("THROUGHLINE")
	if base == "" {
		t.Fatal("run make adapters, which starts a stack")
	}
	var info stack
	call(t, http.MethodGet, base+"/dev/info", "", &info)
	var server struct{ Token string }
	call(t, http.MethodPost, base+"/dev/tokens", `{"server":true}`, &server)
	client := lambda.New(lambda.Options{
		Region: "us-east-1", BaseEndpoint: &info.LambdaEndpoint,
		Credentials: aws.NewCredentialsCache(credentials.NewStaticCredentialsProvider("a", "b", "")),
	})
	models := openai.DefaultConfig("offline")
	models.BaseURL = info.OpenAIBaseURL
	var prompts []string
	invoke := invoker(client, info.Functions["prompt"]+":live")
	c := coach{
		invoke: func(ctx context.Context, payload []byte) ([]byte, error) {
			out, err := invoke(ctx, payload)
			prompts = append(prompts, string(out))
			return out, err
		},
		memory: throughline.New(throughline.Config{
			BaseURL: base, TokenSource: credential(issuer(t, server.Token), "grant_type=client_credentials", "app", "s:1"),
		}),
		models: openai.NewClientWithConfig(models), model: "throughline-offline",
	}
	app := httptest.NewServer(c)
	defer app.Close()
	user := "own-lambda-" + strings.ToLower(rand.Text())
	for _, message := range []string{"I only have resistance bands at home.", "What should I do tomorrow?"} {
		if answer := say(t, app.URL, user, message); len(answer) < 10 {
			t.Errorf("the answer is %q", answer)
		}
	}
	if !strings.Contains(prompts[1], "resistance bands") {
		t.Errorf("the second prompt is %s", prompts[1])
	}
	n := 0
	for m, err := range c.memory.As(user).ListMessages(t.Context(), "coach", throughline.ListMessagesQuery{}).All() {
		if n++; err != nil || m.Content == "" {
			t.Errorf("%+v, %v", m, err)
		}
	}
	if n != 4 {
		t.Errorf("%d messages are stored, want 4", n)
	}
}

// TestRefusals has nobody signed in, and a prompt that is refused.
func TestRefusals(t *testing.T) {
	var info stack
	call(t, http.MethodGet, os.Getenv("THROUGHLINE")+"/dev/info", "", &info)
	client := lambda.New(lambda.Options{
		Region: "us-east-1", BaseEndpoint: &info.LambdaEndpoint,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
	if _, err := invoker(client, info.Functions["prompt"]+":live")(t.Context(), []byte(`{"userId":"u"}`)); err == nil ||
		!strings.Contains(err.Error(), "invalid") {
		t.Errorf("an event without a context: %v", err)
	}
	w := httptest.NewRecorder()
	coach{}.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"message":"Hi"}`)))
	if w.Code != http.StatusBadRequest {
		t.Errorf("without a user: %d", w.Code)
	}
}

// TestBrokenAnswerSaysSo has a model that breaks off. The page sees that, nothing is stored, and the process goes on.
func TestBrokenAnswerSaysSo(t *testing.T) {
	stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/chat/completions":
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Start with\"}}]}\n\n")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		case "/v1/sessions/coach":
			fmt.Fprint(w, `{"sessionId":"coach"}`)
		default:
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
	}))
	defer stub.Close()
	models := openai.DefaultConfig("offline")
	models.BaseURL = stub.URL + "/v1"
	c := coach{
		invoke: func(context.Context, []byte) ([]byte, error) { return []byte(`{"openaiChat":{"messages":[]}}`), nil },
		memory: throughline.New(throughline.Config{BaseURL: stub.URL, Token: "a"}),
		models: openai.NewClientWithConfig(models),
	}
	r := events.LambdaFunctionURLRequest{Headers: map[string]string{"user": "ann"}, Body: `{"message":"Hi"}`}
	r.RequestContext.HTTP.Method, r.RequestContext.DomainName = http.MethodPost, "app.example"
	answer, err := lambdaurl.Wrap(c)(t.Context(), &r)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(answer.Body); string(text) != "Start with"+brokenOff || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestCredentialIsRefused has a client that the issuer does not know.
func TestCredentialIsRefused(t *testing.T) {
	token, err := credential(issuer(t, "token"), "grant_type=client_credentials", "app", "wrong")(t.Context())
	if token != "" || err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("got %q, %v", token, err)
	}
}

// issuer returns the address at which an issuer gives a token for client credentials.
func issuer(t *testing.T, token string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		if id != "app" || secret != "s%3A1" || r.FormValue("grant_type") != "client_credentials" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer"}`, token)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// stack is what a local stack says of itself.
type stack struct {
	OpenAIBaseURL, LambdaEndpoint string
	Functions                     map[string]string
}

func call(t *testing.T, method, url, body string, out any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
}

func say(t *testing.T, url, user, message string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("User", user)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d: %s, %v", answer.StatusCode, text, err)
	}
	return string(text)
}
