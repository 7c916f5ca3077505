package bootstrap

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/testing/check"
)

const (
	openAIKey       = "sk-openai-of-the-test"
	chatSecret      = "app/dev/openai-api-key@api.openai.com"
	embeddingSecret = "app/dev/embedding-api-key@api.openai.com"
	pineconeKey     = "pc-pinecone-of-the-test"
)

// fakes are Secrets Manager and Pinecone's control plane, as far as the command uses them.
type fakes struct {
	secrets map[string]string
	indexes map[string]map[string]any
	writes  []string
	control string
	config  string
	// pineconeDown makes Pinecone answer 500.
	pineconeDown bool
}

// newFakes points the environment at the fakes.
func newFakes(t *testing.T) *fakes {
	t.Helper()
	f := &fakes{secrets: map[string]string{}, indexes: map[string]map[string]any{}}
	manager := httptest.NewServer(http.HandlerFunc(f.secretsManager))
	control := httptest.NewServer(http.HandlerFunc(f.pinecone))
	t.Cleanup(manager.Close)
	t.Cleanup(control.Close)
	f.control, f.config = control.URL, filepath.Join(t.TempDir(), "samconfig.toml")
	config := "[dev.global.parameters]\nstack_name = \"app-dev\"\nregion = \"us-east-1\"\n" +
		"parameter_overrides = [\"SecretPrefix=app/dev\", \"PineconeIndex=h.example.com,m@768,8\"]\n"
	check.OK(t, os.WriteFile(f.config, []byte(config), 0o600))
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_SECRETS_MANAGER": manager.URL, "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_CONFIG_FILE": "/dev/null",
		"AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
		"OPENAI_API_KEY":              openAIKey, "PINECONE_API_KEY": pineconeKey, "OPENAI_EMBEDDING_API_KEY": "",
	} {
		t.Setenv(name, value)
	}
	return f
}

// secretsManager speaks the service's JSON protocol.
func (f *fakes) secretsManager(w http.ResponseWriter, r *http.Request) {
	var in struct{ SecretID, Name, SecretString string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	id := in.SecretID + in.Name
	text, exists := f.secrets[id]
	switch operation {
	case "GetSecretValue":
		if !exists {
			refuse(w, "ResourceNotFoundException")
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"Name": id, "SecretString": text})
		return
	case "CreateSecret":
		if exists {
			refuse(w, "ResourceExistsException")
			return
		}
	default:
		refuse(w, "InvalidRequestException")
		return
	}
	f.writes = append(f.writes, operation)
	f.secrets[id] = in.SecretString
	fmt.Fprint(w, `{}`)
}

func refuse(w http.ResponseWriter, code string) {
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"__type":%q,"Message":"refused"}`, code)
}

// pinecone speaks the control plane's protocol.
func (f *fakes) pinecone(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := func(status int, body any) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
	problem := func(status int, code string) {
		answer(status, map[string]any{"status": status, "error": map[string]string{"code": code, "message": "refused"}})
	}
	name, isIndex := strings.CutPrefix(r.URL.Path, "/indexes/")
	switch {
	case f.pineconeDown:
		problem(http.StatusInternalServerError, "INTERNAL")
	case r.Header.Get("Api-Key") != pineconeKey:
		problem(http.StatusUnauthorized, "UNAUTHENTICATED")
	case r.Method == http.MethodGet && isIndex && f.indexes[name] == nil:
		problem(http.StatusNotFound, "NOT_FOUND")
	case r.Method == http.MethodGet && isIndex:
		answer(http.StatusOK, f.indexes[name])
	case r.Method == http.MethodPost && r.URL.Path == "/indexes":
		var in map[string]any
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			problem(http.StatusBadRequest, "INVALID_ARGUMENT")
			return
		}
		f.writes = append(f.writes, "CreateIndex")
		in["host"] = in["name"].(string) + "-abc.svc.aped-1.pinecone.io"
		in["status"] = map[string]any{"ready": false, "state": "Initializing"}
		in["spec"].(map[string]any)["serverless"].(map[string]any)["read_capacity"] = onDemand
		f.indexes[in["name"].(string)] = in
		answer(http.StatusCreated, in)
	default:
		problem(http.StatusMethodNotAllowed, "INVALID_ARGUMENT")
	}
}

// onDemand is how the control plane describes an index that is paid for by its reads.
var onDemand = map[string]any{
	"mode": "OnDemand", "status": map[string]any{"state": "Ready", "current_replicas": 1, "current_shards": 1},
}

// run runs the command and checks that it prints no key.
func (f *fakes) run(t *testing.T, isApplied bool) (string, error) {
	t.Helper()
	var out bytes.Buffer
	of := check.Got(deployment.Open(f.config, "dev"))(t)
	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(of.Region))
	check.OK(t, err)
	o := Options{Apply: isApplied, control: f.control}
	err = Run(t.Context(), secretsmanager.NewFromConfig(cfg), of, o, &out)
	said := out.String() + fmt.Sprint(err)
	for _, key := range append(slices.Collect(maps.Values(f.secrets)), openAIKey, pineconeKey) {
		check.Lacks(t, said, key, "the command prints a key")
	}
	return out.String(), err
}

func wantText(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		check.Contains(t, got, want, "the output")
	}
}

func TestDryRunChangesNothing(t *testing.T) {
	f := newFakes(t)
	out := check.Got(f.run(t, false))(t)
	wantText(t, out, "secret "+chatSecret+" (us-east-1): would be made",
		"secret "+embeddingSecret+" (us-east-1): would be made",
		"secret app/dev/pinecone-api-key (us-east-1): would be made",
		"secret app/dev/cursor-key (us-east-1): would be made",
		"index app-dev (aws us-east-1): would be made: dotproduct, 768 dimensions, dense, with deletion protection",
		"Nothing was changed")
	if len(f.writes) != 0 {
		t.Errorf("a dry run made %v", f.writes)
	}
}

func TestApplyMakesBothOnce(t *testing.T) {
	f := newFakes(t)
	out := check.Got(f.run(t, true))(t)
	wantText(t, out, "secret "+chatSecret+" (us-east-1): made",
		"Give the stack PineconeIndex=app-dev-abc.svc.aped-1.pinecone.io,m@768,8")
	cursor := f.secrets["app/dev/cursor-key"]
	want := map[string]string{
		chatSecret: openAIKey, embeddingSecret: openAIKey,
		"app/dev/pinecone-api-key": pineconeKey, "app/dev/cursor-key": cursor,
	}
	check.Same(t, want, f.secrets, "secrets")
	version, key, _ := strings.Cut(cursor, ":")
	if raw, err := base64.StdEncoding.DecodeString(key); version != "1" || err != nil || len(raw) != cursorKeyBytes {
		t.Errorf("got the cursor key %q", cursor)
	}
	made := f.indexes["app-dev"]
	spec := made["spec"].(map[string]any)["serverless"].(map[string]any)
	if made["metric"] != "dotproduct" || made["dimension"] != 768.0 || made["deletion_protection"] != "enabled" ||
		made["vector_type"] != "dense" || spec["cloud"] != "aws" || spec["region"] != "us-east-1" {
		t.Errorf("got the index %v", made)
	}

	// A repeat changes nothing, and needs no keys.
	before := len(f.writes)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("PINECONE_API_KEY", "")
	check.Got(f.run(t, true))(t)
	f.configure(t, `"SecretPrefix`,
		`"OpenAIEmbeddingBaseUrl=https://e.example.org/v1", "SecretPrefix`)
	if len(f.writes) != before || f.secrets["app/dev/cursor-key"] != cursor {
		t.Errorf("a repeat made %v", f.writes[before:])
	}
}

func TestSecretsThatExistAreKept(t *testing.T) {
	f := newFakes(t)
	f.secrets[chatSecret], f.secrets["app/dev/pinecone-api-key"] = "sk-old", pineconeKey
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("PINECONE_API_KEY", "")
	out := check.Got(f.run(t, true))(t)
	wantText(t, out, "secret "+chatSecret+" (us-east-1): is kept",
		"secret "+embeddingSecret+" (us-east-1): made")
	if f.secrets[chatSecret] != "sk-old" || f.secrets[embeddingSecret] != "sk-old" {
		t.Errorf("got the secrets %s", f.secrets)
	}
}

// TestKeysOfTwoServices has another service for embeddings, which must not get the chat's key.
func TestKeysOfTwoServices(t *testing.T) {
	f := newFakes(t)
	f.configure(t, `"SecretPrefix`,
		`"OpenAIEmbeddingBaseUrl=https://e.example.org/v1", "SecretPrefix`)
	if _, err := f.run(t, true); err == nil || !strings.Contains(err.Error(), "OPENAI_EMBEDDING_API_KEY is not set") {
		t.Errorf("without the key of the embeddings: %v", err)
	}
	t.Setenv("OPENAI_EMBEDDING_API_KEY", "e-key-of-the-test")
	const secret = "app/dev/embedding-api-key@e.example.org"
	if _, err := f.run(t, true); err != nil || f.secrets[secret] != "e-key-of-the-test" {
		t.Errorf("got the secrets %s, %v", f.secrets, err)
	}
}

// TestDryRunWithoutKeys says what is needed and does not fail.
func TestDryRunWithoutKeys(t *testing.T) {
	f := newFakes(t)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("PINECONE_API_KEY", "")
	out := check.Got(f.run(t, false))(t)
	wantText(t, out, "openai-api-key@api.openai.com (us-east-1): would be made from OPENAI_API_KEY, which is not set",
		"embedding-api-key@api.openai.com (us-east-1): would be made from OPENAI_API_KEY, which is not set",
		"index app-dev: cannot be looked for without PINECONE_API_KEY")
}

// configure replaces a part of the configuration.
func (f *fakes) configure(t *testing.T, from, to string) {
	t.Helper()
	text := check.Got(os.ReadFile(f.config))(t)
	check.OK(t, os.WriteFile(f.config, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600))
}

func TestWhatStopsIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*testing.T, *fakes)
		says   string
	}{
		{
			name: "no OpenAI key", says: "OPENAI_API_KEY is not set",
			change: func(t *testing.T, _ *fakes) { t.Setenv("OPENAI_API_KEY", "") },
		},
		{
			name: "no Pinecone key", says: "PINECONE_API_KEY is not set",
			change: func(t *testing.T, _ *fakes) { t.Setenv("PINECONE_API_KEY", "") },
		},
		{
			name: "index of another form", says: "its metric is cosine, it has 1536 dimensions",
			change: func(_ *testing.T, f *fakes) {
				f.indexes["app-dev"] = map[string]any{
					"name": "app-dev", "host": "h", "metric": "cosine", "dimension": 1536, "vector_type": "dense",
					"status": map[string]any{"ready": true, "state": "Ready"},
					"spec": map[string]any{"serverless": map[string]any{
						"cloud": "aws", "region": "us-east-1", "read_capacity": onDemand,
					}},
				}
			},
		},
		{
			name: "index of no form", says: "PineconeIndex=h.example.com",
			change: func(t *testing.T, f *fakes) { f.configure(t, "h.example.com,m@768,8", "h.example.com") },
		},
		{
			name: "Pinecone fails", says: "failed to describe index",
			change: func(_ *testing.T, f *fakes) { f.pineconeDown = true },
		},
		{
			name: "a region without Pinecone", says: "no serverless indexes of Pinecone in eu-central-1",
			change: func(t *testing.T, f *fakes) {
				f.configure(t, `region = "us-east-1"`, `region = "eu-central-1"`)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakes(t)
			if c.change != nil {
				c.change(t, f)
			}
			_, err := f.run(t, true)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
			if len(f.indexes) > 1 || (len(f.writes) > 0 && f.writes[0] != "CreateSecret") {
				t.Errorf("it made %v all the same", f.writes)
			}
		})
	}
}
