package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/pineconetest"
)

// TestReindex takes a stage to an index of another model, dimension and layout while a user goes on talking, and back.
// What users said is found before, meanwhile and afterwards.
func TestReindex(t *testing.T) {
	t.Parallel()
	data, next := "DATA_DIR="+t.TempDir(), pineconetest.Host(t, 256)
	names := "PINECONE_NEXT_INDEX=" + next + ",text-embedding-3-large@256,1"
	before, err := launch.Start(t.Context(), program, t.Output(), data)
	check.OK(t, err)
	old, young := newTenant(t, before, "old"), newTenant(t, before, "young")
	old.tell(t)
	young.tell(t)
	settleStack(t, before)
	restart := func(stack *launch.Stack, environment ...string) *launch.Stack {
		check.OK(t, stack.Stop())
		started, err := launch.Start(t.Context(), program, t.Output(), append(environment, data)...)
		check.OK(t, err)
		for _, one := range []*tenant{&old, &young} {
			if one.api, err = client.New(started.Base).As(t.Context(), one.name); err != nil {
				t.Fatal(err)
			}
		}
		return started
	}

	stack := restart(before, names)
	fill := reindexCommand(t, stack, names)
	check.OK(t, fill.Start())
	filled := make(chan error, 1)
	go func() { filled <- fill.Wait() }()
	const mostSaid = 10
	said := 3
	for isFilling := true; isFilling; {
		select {
		case err := <-filled:
			if err != nil {
				t.Fatalf("reindex: %v\n%s", err, fill.Stdout)
			}
			isFilling = false
		default:
			if young.finds(t, 3); said < mostSaid {
				said++
				content := fmt.Sprintf("My secret word number %d is %s.", said, old.secret)
				do(t, old.api, http.MethodPost, messagesPath, userMessage(content), nil)
			}
		}
	}
	settleStack(t, stack)
	t.Logf("%d messages meanwhile:\n%s", said-3, fill.Stdout)
	if all := vectorCounts(t, next); len(all) != 1 || slices.Max(slices.Collect(maps.Values(all))) != said+1+4 {
		t.Errorf("the one namespace of the next index has %v, want %d vectors", all, said+1+4)
	}

	stack = restart(stack, names, "PINECONE_SERVE_NEXT=true")
	old.finds(t, said)
	young.finds(t, 3)
	do(t, young.api, http.MethodPost, messagesPath, userMessage("My secret word is still "+young.secret+"."), nil)
	settleStack(t, stack)
	young.finds(t, 4)

	stack = restart(stack, names)
	t.Cleanup(func() {
		if err := stack.Stop(); err != nil {
			t.Error(err)
		}
	})
	young.finds(t, 4)
	old.finds(t, said)
	var receipt erased
	do(t, young.api, http.MethodDelete, "/v1/user", nil, &receipt)
	first, second := vectorCounts(t, pineconeHost(t, stack)), vectorCounts(t, next)
	if receipt.Erasing || receipt.Vectors != 10 || first["young"] > 0 ||
		slices.Max(slices.Collect(maps.Values(second))) != said+1 {
		t.Errorf("the receipt says %+v, want 5 vectors of each index; left are %v and %v", receipt, first, second)
	}
	old.finds(t, said)
}

// reindexCommand returns the command of an operator with the environment of a stack's functions.
func reindexCommand(t *testing.T, stack *launch.Stack, environment ...string) *exec.Cmd {
	t.Helper()
	root := check.Got(launch.ModuleRoot(t.Context()))(t)
	program := filepath.Join(t.TempDir(), "throughline")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./infra/cli")
	build.Dir, build.Env = root, launch.BuildEnv()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	var info struct{ PineconeHost, OpenAIBaseURL, DynamoDBEndpoint, TableName string }
	do(t, client.New(stack.Base), http.MethodGet, "/dev/info", nil, &info)
	command := exec.CommandContext(t.Context(), program, "reindex", "-texts-per-second", "5")
	command.Env = append([]string{
		"TABLE_NAME=" + info.TableName, "AWS_REGION=us-east-1", "AWS_ENDPOINT_URL_DYNAMODB=" + info.DynamoDBEndpoint,
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "PINECONE_INDEX_HOST=" + info.PineconeHost,
		"PINECONE_API_KEY=local", "OPENAI_EMBEDDING_BASE_URL=" + info.OpenAIBaseURL,
		"OPENAI_EMBEDDING_API_KEY=local", "OPENAI_EMBEDDING_MODEL=text-embedding-3-small@1536",
	}, environment...)
	var out strings.Builder
	command.Stdout, command.Stderr = &out, &out
	return command
}
