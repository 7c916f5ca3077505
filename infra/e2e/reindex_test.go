package e2e_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
)

// TestReindex moves users to an index of another model and dimension while one of them goes on talking. What they said
// is found before, meanwhile and afterwards.
func TestReindex(t *testing.T) {
	t.Parallel()
	const models = "PINECONE_INDEX_EMBEDDINGS=b=text-embedding-3-large@256"
	stack := startStack(t, "PINECONE_MORE_INDEXES=b=local", models)
	next := furtherIndex(t, stack)
	old, young := newTenant(t, stack, "old"), newTenant(t, stack, "young")
	old.tell(t)
	young.tell(t)
	settleStack(t, stack)

	move := reindexCommand(t, stack, "PINECONE_MORE_INDEXES=b="+next, models, "PINECONE_NEW_USERS_INDEX=b")
	if err := move.Start(); err != nil {
		t.Fatal(err)
	}
	moved := make(chan error, 1)
	go func() { moved <- move.Wait() }()
	const mostSaid = 10
	said := 3
	for isMoving := true; isMoving; {
		select {
		case err := <-moved:
			if err != nil {
				t.Fatalf("reindex: %v\n%s", err, move.Stdout)
			}
			isMoving = false
		default:
			if young.finds(t, 3); said < mostSaid {
				said++
				content := fmt.Sprintf("My secret word number %d is %s.", said, old.secret)
				do(t, old.api, http.MethodPost, messagesPath, userMessage(content), nil)
			}
		}
	}
	settleStack(t, stack)
	t.Logf("%d messages while the users were moved:\n%s", said-3, move.Stdout)
	old.finds(t, said)
	young.finds(t, 3)
	if diff := cmp.Diff(map[string]int{"old": said + 1, "young": 4}, vectorCounts(t, next)); diff != "" {
		t.Errorf("vectors (-want +got)\n%s", diff)
	}

	do(t, young.api, http.MethodPost, messagesPath, userMessage("My secret word is still "+young.secret+"."), nil)
	settleStack(t, stack)
	young.finds(t, 4)
	var receipt erased
	do(t, young.api, http.MethodDelete, "/v1/user", nil, &receipt)
	first := vectorCounts(t, pineconeHost(t, stack))
	if receipt.Erasing || receipt.Vectors != 9 || first["young"] > 0 || vectorCounts(t, next)["young"] > 0 {
		t.Errorf("the receipt says %+v, want 9 vectors: 5 of the index and 4 that the sweep had still to delete", receipt)
	}
	old.finds(t, said)
}

// furtherIndex returns the host of the index b, which the stack serves and prints.
func furtherIndex(t *testing.T, stack *launch.Stack) string {
	t.Helper()
	for _, line := range stack.Output {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "pinecone" && f[1] == "b" {
			return f[2]
		}
	}
	t.Fatalf("no index b in %q", stack.Output)
	return ""
}

// reindexCommand returns the command of an operator with the environment of a stack's functions.
func reindexCommand(t *testing.T, stack *launch.Stack, environment ...string) *exec.Cmd {
	t.Helper()
	root, err := launch.ModuleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "reindex")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./infra/reindex")
	build.Dir, build.Env = root, launch.BuildEnv()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	var info struct{ PineconeHost, OpenAIBaseURL, DynamoDBEndpoint, TableName string }
	do(t, client.New(stack.Base), http.MethodGet, "/dev/info", nil, &info)
	command := exec.CommandContext(t.Context(), program, "-to", "b", "-texts-per-second", "5")
	command.Env = append([]string{
		"TABLE_NAME=" + info.TableName, "AWS_REGION=us-east-1", "AWS_ENDPOINT_URL_DYNAMODB=" + info.DynamoDBEndpoint,
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "PINECONE_INDEX_HOST=" + info.PineconeHost,
		"PINECONE_API_KEY=local", "OPENAI_EMBEDDING_BASE_URL=" + info.OpenAIBaseURL,
		"OPENAI_EMBEDDING_API_KEY=local", "OPENAI_EMBEDDING_MODEL=text-embedding-3-small",
	}, environment...)
	var out strings.Builder
	command.Stdout, command.Stderr = &out, &out
	return command
}
