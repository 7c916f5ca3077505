package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
	"github.com/throughline/throughline/internal/testing/pineconetest"
	"github.com/throughline/throughline/internal/vector"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// stage is the environment of a stack with a further index of 8 dimensions.
func stage(t *testing.T) map[string]string {
	t.Helper()
	for name, value := range map[string]string{ // the SDK reads these itself
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1",
		"AWS_ENDPOINT_URL_DYNAMODB": dynamodbtest.Endpoint(t),
	} {
		t.Setenv(name, value)
	}
	t.Chdir("../..") // the prices are there
	models := httptest.NewServer(offlinemodel.Handler(offlinemodel.Options{}))
	t.Cleanup(models.Close)
	return map[string]string{
		"TABLE_NAME": dynamotest.Table(t), address: models.URL + "/v1",
		"OPENAI_EMBEDDING_API_KEY": "local", "OPENAI_EMBEDDING_MODEL": "text-embedding-3-small",
		"OPENAI_EMBEDDING_DIMENSIONS": "16", "PINECONE_API_KEY": "local",
		"PINECONE_INDEX_HOST": pineconetest.Host(t, 16), next: pineconetest.Host(t, 8) + ",text-embedding-3-large@8,2",
	}
}

// next is the variable with the index that is filled.
const next = "PINECONE_NEXT_INDEX"

// address is the variable with the address of the embedding model's service.
const address = "OPENAI_EMBEDDING_BASE_URL"

// TestCommand runs the command as an operator does. Bad input is refused in one line that says what helps, before any
// user is touched.
func TestCommand(t *testing.T) {
	environ := stage(t)
	client := dynamodbtest.Client(t)
	store := dynamotest.StoresOf(dynamo.New(client, environ["TABLE_NAME"]))
	const users = 3
	for i := range users {
		user := conversation.UserID(fmt.Sprint("user", i))
		in := conversation.NewSession{ID: "s", Context: "coach_conversation", CoachID: "c"}
		if _, err := store.Sessions.CreateSession(t.Context(), user, in, conversation.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		_, err := store.Messages.Append(t.Context(), user, conversation.Append{
			SessionID: "s", Messages: []conversation.NewMessage{{Role: conversation.RoleUser, Content: "My knee hurts."}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	command := func(change map[string]string, arguments ...string) (code int, out, failures string) {
		t.Helper()
		with := maps.Clone(environ)
		maps.Copy(with, change)
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), arguments, with, &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	for _, c := range []struct {
		change    map[string]string
		arguments []string
		words     string
	}{
		{nil, []string{"b"}, `"b" is no flag`},
		{nil, []string{"-segments", "0"}, "-segments=0: must be from 1 to 1000"},
		{nil, []string{"-texts-per-second", "-1"}, "must be 0 or more"},
		{nil, []string{"-every", "0s"}, "-every=0s: must be more than 0"},
		{map[string]string{next: ""}, nil, "PINECONE_NEXT_INDEX is empty"},
		{map[string]string{next: "b"}, nil, "PINECONE_NEXT_INDEX=b: must be a host, a model and a layout"},
		{
			map[string]string{next: strings.Replace(environ[next], "@8", "@9", 1)},
			nil,
			"the next index has 8 dimensions and PINECONE_NEXT_INDEX (PineconeNextIndex) says text-embedding-3-large@9",
		},
		{map[string]string{address: environ[address] + "/none"}, nil, "embed texts"},
	} {
		code, out, failures := command(c.change, c.arguments...)
		if code != notBegun || out != "" || !strings.Contains(failures, c.words) || strings.Count(failures, "\n") != 1 {
			t.Errorf("%v %v: %d, %q, %q; want one line with %q", c.change, c.arguments, code, out, failures, c.words)
		}
	}
	for _, c := range []struct {
		arguments []string
		words     []string
	}{
		{
			[]string{"-dry-run"},
			[]string{"3 users to reindex", "3 vectors", "about $0.00 for", "tokens of text-embedding-3-large"},
		},
		{nil, []string{"(text-embedding-3-large@8), 4 segments", "3 users reindexed, 0 left; 3 vectors"}},
	} {
		code, out, failures := command(nil, c.arguments...)
		t.Log(out)
		for _, words := range c.words {
			if code != done || failures != "" || !strings.Contains(out, words) {
				t.Errorf("%v: %d, %q; want %q in\n%s", c.arguments, code, failures, words, out)
			}
		}
	}
	host, _, _ := strings.Cut(environ[next], ",")
	matches, err := pineconetest.Dial(t, host, 2).Query(t.Context(), "user1", 0, vector.Query{
		Dense: slices.Repeat([]float32{1}, 8), TopK: 10,
	})
	if err != nil || len(matches) != 1 {
		t.Errorf("the shared namespaces have %v of a user, %v", matches, err)
	}
}

// TestConfigurationOfAFunction takes the configuration from a deployed function, as Lambda's API answers it.
func TestConfigurationOfAFunction(t *testing.T) {
	environ := stage(t)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/2015-03-31/functions/throughline-remember/configuration" {
			w.Header().Set("X-Amzn-ErrorType", "ResourceNotFoundException")
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answer := map[string]any{"Environment": map[string]any{"Variables": environ}}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(api.Close)
	t.Setenv("AWS_ENDPOINT_URL_LAMBDA", api.URL)
	for name, want := range map[string]struct {
		code  int
		words string
	}{
		"throughline-remember": {done, "0 users to reindex"},
		"throughline-other":    {notBegun, "-function=throughline-other: read the configuration"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"-dry-run", "-function", name}, map[string]string{}, &stdout, &stderr)
		if said := stdout.String() + stderr.String(); code != want.code || !strings.Contains(said, want.words) {
			t.Errorf("%s: %d, %q; want %d and %q", name, code, said, want.code, want.words)
		}
	}
}
