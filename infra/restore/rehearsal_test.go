package restore

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/deploymenttest"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

type object = map[string]any

const (
	oldTable    = deploymenttest.Table
	ledgerTable = deploymenttest.Ledger
)

// TestRestoreIsRehearsed restores a stage to an earlier time, with a run that is stopped after every step. What was
// acknowledged before is there, what was erased since is gone, and nothing is written to the old table any more.
func TestRestoreIsRehearsed(t *testing.T) {
	x := newRehearsal(t)
	for _, name := range []string{"ann", "bob", "cleo", "dora"} {
		x.tell(x.before, name, "first", 3)
	}
	x.say(x.before, "ann", "s", "My secret word is key.", client.Key("before"))
	x.tell(x.before, "cleo", "second", 2)
	x.settle(x.before)
	x.at = x.tables.backUp(oldTable)

	x.say(x.before, "ann", "s", "My secret word is lost.", client.Key("lost"))
	x.do(x.as(x.before, "bob"), http.MethodDelete, "/v1/user", nil, nil)
	x.do(x.as(x.before, "cleo"), http.MethodDelete, "/v1/sessions/s-second", nil, nil)
	deleted := x.messages(x.before, "cleo", "s-first")[0]
	x.do(x.as(x.before, "cleo"), http.MethodDelete, "/v1/sessions/s-first/messages/"+deleted.MessageID, nil, nil)
	x.do(x.as(x.before, "dora"), http.MethodDelete, "/v1/user", nil, nil)
	x.tell(x.before, "dora", "again", 2)
	x.settle(x.before)

	x.restoreStepByStep()

	if n := len(x.messages(x.after, "ann", "s-first")) + len(x.messages(x.after, "ann", "s")); n != 4 {
		t.Errorf("ann has %d messages, want the 4 that were acknowledged before the backup", n)
	}
	x.finds("ann", 4)
	for _, name := range []string{"bob", "dora"} {
		if n := x.sessions(name); n != 0 {
			t.Errorf("%s, who was erased after the backup, has %d sessions", name, n)
		}
		x.finds(name, 0)
	}
	if got := x.messages(x.after, "cleo", "s-first"); len(got) != 2 || got[0].MessageID == deleted.MessageID {
		t.Errorf("cleo's deleted message is there again: %+v", got)
	}
	if n := x.sessions("cleo"); n != 1 {
		t.Errorf("cleo has %d sessions, want 1: the other was deleted after the backup", n)
	}
	x.writesGoOn()
}

// writesGoOn checks what is written after the restore, and that idempotency keys of before the backup are known.
func (x *rehearsal) writesGoOn() {
	x.Helper()
	x.say(x.after, "ann", "s", "My secret word is key.", client.Key("before"))
	if n := len(x.messages(x.after, "ann", "s")); n != 1 {
		x.Errorf("a repeat of a request of before the backup made %d messages, want the 1 of then", n)
	}
	x.say(x.after, "ann", "s", "My secret word is lost.", client.Key("lost"))
	if n := len(x.messages(x.after, "ann", "s")); n != 2 {
		x.Errorf("a repeat of a request that the backup does not have made %d messages, want it to be stored", n)
	}
	x.say(x.after, "dora", "s-new", "My secret word is new.")
	x.settle(x.after)
	x.finds("dora", 1)
	x.finds("ann", 5)
	x.reindex()
	x.finds("ann", 5)
	x.finds("cleo", 2)
}

// errStopped ends a run.
var errStopped = errors.New("stopped")

// restoreStepByStep runs the command once for each step, ends it there, and looks at what holds then. Another operator
// goes on after the first steps. The first switch fails and is taken back. The last run goes to the end, and another
// one after it changes nothing.
func (x *rehearsal) restoreStepByStep() {
	x.Helper()
	var closed []map[string]types.AttributeValue
	for _, last := range []string{"close", "restore", "settings", "preflight", "erase again", "rights", "switch"} {
		operator := "operator"
		switch last {
		case "close", "restore":
			operator = "first"
		case "switch":
			x.stack.FailAt = "aliases"
			if err := x.command(operator, last).Run(x.Context()); err == nil || errors.Is(err, errStopped) {
				x.Errorf("the switch fails, and the command says %v", err)
			}
		}
		err := x.command(operator, last).Run(x.Context())
		if !errors.Is(err, errStopped) {
			x.Fatalf("the run to %s: %v", last, err)
		}
		if last == "close" {
			x.refuses(x.before)
			x.settleAnyway(x.before)
			closed = records(x.T, x.tables.engine, oldTable)
		}
	}
	x.refuses(x.after)
	updates := x.stack.Updates
	for range 2 {
		check.OK(x, x.command("operator", "").Run(x.Context()))
	}
	if x.stack.Updates != updates || updates != 3 {
		x.Errorf("%d updates of the stack, and %d after the switch", updates, x.stack.Updates-updates)
	}
	if err := x.stack.IsAt("TABLE_NAME", x.stack.TableName()); err != nil {
		x.Error(err)
	}
	x.refuses(x.before)
	if diff := cmp.Diff(closed, records(x.T, x.tables.engine, oldTable), cmpopts.IgnoreUnexported(
		types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberBOOL{},
		types.AttributeValueMemberL{}, types.AttributeValueMemberM{}, types.AttributeValueMemberB{},
		types.AttributeValueMemberNULL{}, types.AttributeValueMemberSS{})); diff != "" {
		x.Errorf("the old table has changed since it was closed (-before +after)\n%s", diff)
	}
	x.hasSettings()
	x.tables.policies.operatorsMay(x.T)
}

// hasSettings checks what a restore by DynamoDB leaves out.
func (x *rehearsal) hasSettings() {
	x.Helper()
	target := x.stack.TableName()
	table := check.Got(x.tables.engine.DescribeTable(x.Context(), &dynamodb.DescribeTableInput{TableName: &target}))(x)
	ttl := check.Got(x.tables.engine.DescribeTimeToLive(x.Context(),
		&dynamodb.DescribeTimeToLiveInput{TableName: &target}))(x)
	for what, holds := range map[string]bool{
		"a stream":               aws.ToString(table.Table.LatestStreamArn) == x.stack.Given["ExistingTableStreamArn"],
		"a TTL":                  ttl.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled,
		"point-in-time recovery": x.tables.recovered[target],
		"deletion protection":    x.tables.protected[target],
	} {
		if !holds {
			x.Errorf("the new table has no %s", what)
		}
	}
}

// command returns the command of an operator, which is stopped after a step.
func (x *rehearsal) command(operator, last string) *Restore {
	tables := x.tables.client(operator)
	return &Restore{
		out: testWriter{x.T}, at: x.at, tables: tables,
		operator: []string{principalOf(operator)}, updater: x.stack.Updater(testWriter{x.T}),
		services: preflight.Services{
			Table:      tables,
			KeyManager: func(context.Context, string) (string, error) { return "AWS", nil },
			Consumers:  func(context.Context, string) ([]string, error) { return nil, nil },
		},
		environ: func(context.Context) (map[string]string, error) { return x.environment(operator), nil },
		afterStep: func(step string) error {
			if step == last {
				return errStopped
			}
			return nil
		},
	}
}

// reindex fills an empty index and has it searched, as an operator does after a restore.
func (x *rehearsal) reindex() {
	x.Helper()
	root := check.Got(launch.ModuleRoot(x.Context()))(x)
	program := filepath.Join(x.TempDir(), "throughline")
	build := exec.CommandContext(x.Context(), "go", "build", "-o", program, "./infra/cli")
	build.Dir, build.Env = root, launch.BuildEnv()
	if out, err := build.CombinedOutput(); err != nil {
		x.Fatalf("build: %v\n%s", err, out)
	}
	command := exec.CommandContext(x.Context(), program, "reindex")
	environ := x.environment("operator")
	environ["TABLE_NAME"] = x.stack.TableName()
	environ["OPENAI_EMBEDDING_BASE_URL"] = x.info(x.after).OpenAIBaseURL
	environ["OPENAI_EMBEDDING_MODEL"] = "text-embedding-3-small@1536"
	environ["OPENAI_EMBEDDING_API_KEY"], environ["PINECONE_NEXT_INDEX"] = "local", x.next
	for name, value := range environ {
		command.Env = append(command.Env, name+"="+value)
	}
	out, err := command.CombinedOutput()
	x.Logf("%s", out)
	if err != nil {
		x.Fatalf("reindex: %v", err)
	}
	x.after = x.start(x.stack.TableName(), "PINECONE_INDEX_HOST="+x.info(x.before).PineconeHost,
		"PINECONE_NEXT_INDEX="+x.next, "PINECONE_SERVE_NEXT=true")
}

// testWriter prints what the command says.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimRight(p, "\n"))
	return len(p), nil
}
