package function_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/coachfn"
	"github.com/throughline/throughline/internal/function/contextfn"
	"github.com/throughline/throughline/internal/function/mcpfn"
	"github.com/throughline/throughline/internal/function/messagesfn"
	"github.com/throughline/throughline/internal/function/migratefn"
	"github.com/throughline/throughline/internal/function/promptfn"
	"github.com/throughline/throughline/internal/function/rememberfn"
	"github.com/throughline/throughline/internal/function/summarizefn"
	"github.com/throughline/throughline/internal/testing/check"
)

const cursorKeyOfTheTest = "1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// startCalls are Secrets Manager and an issuer of tokens, for one start of a function. They answer when as many calls
// have come as are expected, so calls that wait for each other are never answered.
type startCalls struct {
	t        *testing.T
	allowed  []string // the names of secrets that the function's role allows it to read
	expected int
	together chan struct{}

	mu    sync.Mutex
	calls int
	read  []string
}

func (s *startCalls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/.well-known/openid-configuration" { // it comes before the keys
		fmt.Fprintf(w, `{"issuer":"http://%s","jwks_uri":"http://%s/keys"}`, r.Host, r.Host)
		return
	}
	var in struct{ SecretID string }
	if r.URL.Path == "/" && json.NewDecoder(r.Body).Decode(&in) != nil {
		s.t.Error("a call of Secrets Manager is not JSON")
	}
	s.mu.Lock()
	if s.calls++; s.calls == s.expected {
		close(s.together)
	}
	if in.SecretID != "" {
		s.read = append(s.read, in.SecretID)
	}
	s.mu.Unlock()
	select {
	case <-s.together:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	switch {
	case in.SecretID == "":
		_, _ = io.WriteString(w, `{"keys":[]}`)
	case !slices.Contains(s.allowed, in.SecretID):
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"AccessDeniedException","Message":"refused"}`)
	default:
		_ = json.NewEncoder(w).Encode(map[string]string{"Name": in.SecretID, "SecretString": cursorKeyOfTheTest + "\n"})
	}
}

func start[H any](build function.Constructor[H]) func(context.Context, config.Config, function.Runtime) error {
	return func(ctx context.Context, cfg config.Config, rt function.Runtime) error {
		_, err := build(ctx, cfg, rt)
		return err
	}
}

// TestFunctionsReadOnlyTheirKeys starts each function with the environment of the template. It has to read exactly the
// secrets that its role allows, together with its other calls at the start.
func TestFunctionsReadOnlyTheirKeys(t *testing.T) {
	t.Parallel()
	t.Run("one key", func(t *testing.T) {
		t.Parallel()
		readOnlyTheirKeys(t, nil, "coach", "summarize")
	})
	t.Run("a key of the background's own", func(t *testing.T) {
		t.Parallel()
		readOnlyTheirKeys(t, map[string]string{"BackgroundKey": "true"}, "coach")
	})
}

// readOnlyTheirKeys starts the functions with some parameters. chats are those that read the key of the chat model.
func readOnlyTheirKeys(t *testing.T, parameters map[string]string, chats ...string) {
	t.Helper()
	tpl := check.Got(template.Parse(throughline.Template, parameters))(t)
	starts := map[string]func(context.Context, config.Config, function.Runtime) error{
		"messages": start(messagesfn.New), "context": start(contextfn.New), "prompt": start(promptfn.New),
		"coach": start(coachfn.New), "summarize": start(summarizefn.New), "remember": start(rememberfn.New),
		"migrate": start(migratefn.New), "mcp": start(mcpfn.New),
	}
	for _, f := range tpl.Functions {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			s := &startCalls{t: t, together: make(chan struct{})}
			role := check.Got(tpl.Role(f.Name))(t)
			for _, p := range role {
				if p.Secret() != "" {
					s.allowed = append(s.allowed, "throughline/"+p.SecretName())
				}
			}
			s.expected = len(s.allowed)
			if f.Name == "coach" || f.Name == "mcp" { // it fetches the issuer's keys too
				s.expected++
			}
			server := httptest.NewServer(s)
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			check.OK(t, starts[f.Name](ctx, s.config(f, server.URL), function.Runtime{
				Log: slog.New(slog.DiscardHandler), Metrics: io.Discard,
			}))
			slices.Sort(s.read)
			slices.Sort(s.allowed)
			check.Same(t, s.allowed, s.read, "its role allows (-) and it reads (+)")
			reads := slices.Contains(s.read, "throughline/openai-api-key@api.openai.com")
			if reads != slices.Contains(chats, f.Name) {
				t.Errorf("it reads the key of the chat model: %v", reads)
			}
		})
	}
}

// config returns a function's configuration, with the fake in the place of AWS and of the issuer.
func (s *startCalls) config(f template.Function, url string) config.Config {
	environment := maps.Clone(f.Environment)
	maps.Copy(environment, map[string]string{
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_ENDPOINT_URL_SECRETS_MANAGER": url,
		"AWS_ENDPOINT_URL_DYNAMODB": url, "AWS_ENDPOINT_URL_LAMBDA": url, "PINECONE_INDEX_HOST": url,
		"JWT_ISSUER": url, "JWT_AUDIENCE": "app",
	})
	cfg, err := config.Parse(environment)
	check.OK(s.t, err)
	return cfg
}

func TestSecretsThatAreNotThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ answer, says string }{
		"missing": {`{"__type":"ResourceNotFoundException"}`, "read secret app/pinecone-api-key: "},
		"empty":   {`{"SecretString":" "}`, "secret app/pinecone-api-key is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if strings.Contains(c.answer, "__type") {
					w.WriteHeader(http.StatusBadRequest)
				}
				fmt.Fprint(w, c.answer)
			}))
			defer server.Close()
			cfg := config.Config{
				Region: "us-east-1", AccessKeyID: "local", SecretAccessKey: "local", SecretPrefix: "app",
				SecretsEndpoint: server.URL, CursorKey: "given",
			}
			got, err := function.WithSecrets(t.Context(), cfg, config.PineconeKey, config.CursorKey)
			if err == nil || !strings.HasPrefix(err.Error(), c.says) || got.CursorKey != "given" {
				t.Errorf("got %v and the cursor key %q, want %q", err, got.CursorKey, c.says)
			}
		})
	}
}
