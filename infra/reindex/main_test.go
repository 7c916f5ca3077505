package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
	"github.com/throughline/throughline/internal/testing/pineconetest"
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
		"PINECONE_INDEX_HOST":       pineconetest.Host(t, 16),
		"PINECONE_MORE_INDEXES":     "b=" + pineconetest.Host(t, 8) + ",c=" + pineconetest.Host(t, 16),
		"PINECONE_INDEX_EMBEDDINGS": "b=text-embedding-3-large@8", "PINECONE_NEW_USERS_INDEX": "b",
	}
}

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
		{nil, nil, "name the index with -to NAME"},
		{nil, []string{"b"}, `"b" is no flag; write -to NAME`},
		{nil, []string{"-to", "b", "-segments", "0"}, "-segments=0: must be from 1 to 1000"},
		{nil, []string{"-to", "b", "-texts-per-second", "-1"}, "must be 0 or more"},
		{nil, []string{"-to", "b", "-every", "0s"}, "-every=0s: must be more than 0"},
		{nil, []string{"-to", "d"}, "-to=d: must be one of first, b, c; add others to PINECONE_MORE_INDEXES"},
		{
			map[string]string{"PINECONE_MORE_INDEXES": "", "PINECONE_INDEX_EMBEDDINGS": ""},
			[]string{"-to", "first"},
			"PINECONE_MORE_INDEXES is empty",
		},
		{
			map[string]string{"PINECONE_NEW_USERS_INDEX": "first"},
			[]string{"-to", "b"},
			"PINECONE_NEW_USERS_INDEX=first: must be b",
		},
		{
			map[string]string{"PINECONE_INDEX_EMBEDDINGS": "b=text-embedding-3-large@9"},
			[]string{"-to", "b"},
			"set b=text-embedding-3-large@8, or make an index of 9 dimensions",
		},
		{map[string]string{"PINECONE_INDEX_EMBEDDINGS": "b"}, []string{"-to", "b"}, "PINECONE_INDEX_EMBEDDINGS=b: must be "},
		{map[string]string{address: environ[address] + "/none"}, []string{"-to", "b"}, "embed texts"},
	} {
		code, out, failures := command(c.change, c.arguments...)
		if code != notBegun || out != "" || !strings.Contains(failures, c.words) || strings.Count(failures, "\n") != 1 {
			t.Errorf("%v %v: %d, %q, %q; want one line with %q", c.change, c.arguments, code, out, failures, c.words)
		}
	}
	directory := dynamo.NewIndexDirectory(dynamo.New(client, environ["TABLE_NAME"]))
	for _, c := range []struct {
		arguments []string
		words     []string
		serving   string
	}{
		{
			[]string{"-to", "b", "-dry-run"},
			[]string{"3 users to reindex", "3 vectors", "about $0.00 for", "tokens of text-embedding-3-large"},
			"",
		},
		{[]string{"-to", "b"}, []string{"3 users reindexed, 0 there already, 0 left; 3 vectors"}, "b"},
		{[]string{"-to", "b"}, []string{"0 users reindexed, 3 there already, 0 left; 0 vectors"}, "b"},
	} {
		code, out, failures := command(nil, c.arguments...)
		t.Log(out)
		for _, words := range c.words {
			if code != done || failures != "" || !strings.Contains(out, words) {
				t.Errorf("%v: %d, %q; want %q in\n%s", c.arguments, code, failures, words, out)
			}
		}
		if p, err := directory.Locate(t.Context(), "user1"); p.Serving != c.serving || err != nil {
			t.Errorf("%v: a user is placed %+v, %v", c.arguments, p, err)
		}
	}
	// The users have left the first index. That reindex has to end before one into a third begins.
	code, out, _ := command(map[string]string{"PINECONE_NEW_USERS_INDEX": "c"}, "-to", "c")
	if code != incomplete || strings.Count(out, "left for the next run: user ") != users {
		t.Errorf("%d\n%s", code, out)
	}
	back := map[string]string{"PINECONE_NEW_USERS_INDEX": config.FirstIndex}
	if code, out, _ = command(back, "-to", config.FirstIndex); code != done {
		t.Errorf("the way back: %d\n%s", code, out)
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
		"throughline-other":    {notBegun, "-function=throughline-other: read its configuration"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"-to", "b", "-dry-run", "-function", name}, map[string]string{}, &stdout, &stderr)
		if said := stdout.String() + stderr.String(); code != want.code || !strings.Contains(said, want.words) {
			t.Errorf("%s: %d, %q; want %d and %q", name, code, said, want.code, want.words)
		}
	}
}
