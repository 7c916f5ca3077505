package reindex

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
	models := httptest.NewServer(offlinemodel.Handler())
	t.Cleanup(models.Close)
	return map[string]string{
		"TABLE_NAME": dynamotest.Table(t), address: models.URL + "/v1",
		"OPENAI_EMBEDDING_API_KEY": "local", "OPENAI_EMBEDDING_MODEL": "text-embedding-3-small@16",
		"PINECONE_API_KEY":    "local",
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
	command := func(change map[string]string, o Options) (isWhole bool, out string, err error) {
		t.Helper()
		o.Environ = maps.Clone(environ)
		maps.Copy(o.Environ, change)
		var stdout bytes.Buffer
		o.Out = &stdout
		isWhole, err = Run(t.Context(), o)
		return isWhole, stdout.String(), err
	}
	four := Options{Segments: 4}
	for _, c := range []struct {
		change  map[string]string
		options Options
		words   string
	}{
		{nil, Options{}, "-segments=0: must be from 1 to 1000"},
		{nil, Options{Segments: 1, TextsPerSecond: -1}, "must be 0 or more"},
		{map[string]string{next: ""}, four, "PINECONE_NEXT_INDEX is empty"},
		{map[string]string{next: "b"}, four, "PINECONE_NEXT_INDEX=b: must be a host, a model and a layout"},
		{
			map[string]string{next: strings.Replace(environ[next], "@8", "@9", 1)},
			four,
			"the next index has 8 dimensions and PINECONE_NEXT_INDEX (PineconeNextIndex) says text-embedding-3-large@9",
		},
		{map[string]string{address: environ[address] + "/none"}, four, "embed texts"},
	} {
		isWhole, out, err := command(c.change, c.options)
		if isWhole || out != "" || err == nil || !strings.Contains(err.Error(), c.words) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%v %v: %v, %q, %v; want one line with %q", c.change, c.options, isWhole, out, err, c.words)
		}
	}
	for _, c := range []struct {
		options Options
		words   []string
	}{
		{
			Options{Segments: 4, DryRun: true},
			[]string{"3 users to reindex", "3 vectors", "about $0.00 for", "tokens of text-embedding-3-large"},
		},
		{four, []string{"(text-embedding-3-large@8), 4 segments", "3 users reindexed, 0 left; 3 vectors"}},
	} {
		isWhole, out, err := command(nil, c.options)
		t.Log(out)
		for _, words := range c.words {
			if !isWhole || err != nil || !strings.Contains(out, words) {
				t.Errorf("%v: %v, %v; want %q in\n%s", c.options, isWhole, err, words, out)
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
		isWhole bool
		words   string
	}{
		"throughline-remember": {true, "0 users to reindex"},
		"throughline-other":    {false, "read the configuration"},
	} {
		var out bytes.Buffer
		isWhole, err := Run(t.Context(), Options{Function: name, DryRun: true, Segments: 1, Out: &out})
		if said := fmt.Sprint(&out, err); isWhole != want.isWhole || !strings.Contains(said, want.words) {
			t.Errorf("%s: %v, %q; want %v and %q", name, isWhole, said, want.isWhole, want.words)
		}
	}
}
