package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/dynamo/preflight"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

type object = map[string]any

const (
	oldTable    = "throughline-Table-1"
	ledgerTable = "throughline-erasures"
)

// rehearsal is a stage on the local engine. before is the stack with the old table, which goes on running, as instances
// do that do not know the new one. after is the one with the new table.
type rehearsal struct {
	*testing.T
	tables        *tableService
	program       string
	before, after *launch.Stack
	parameters    map[string]string
	at            time.Time
}

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

// restoreStepByStep runs the command once for each step, ends it there, and looks at what holds then. The last run goes
// to the end, and another one after it changes nothing.
func (x *rehearsal) restoreStepByStep() {
	x.Helper()
	var closed []map[string]types.AttributeValue
	for _, last := range []string{"close", "restore", "settings", "preflight", "erase again", "switch"} {
		err := x.command(last).run(x.Context())
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
	for range 2 {
		if err := x.command("").run(x.Context()); err != nil {
			x.Fatal(err)
		}
	}
	x.refuses(x.before)
	if diff := cmp.Diff(closed, records(x.T, x.tables.engine, oldTable), cmpopts.IgnoreUnexported(
		types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberBOOL{},
		types.AttributeValueMemberL{}, types.AttributeValueMemberM{}, types.AttributeValueMemberB{},
		types.AttributeValueMemberNULL{}, types.AttributeValueMemberSS{})); diff != "" {
		x.Errorf("the old table has changed since it was closed (-before +after)\n%s", diff)
	}
	x.hasSettings()
}

// hasSettings checks what a restore by DynamoDB leaves out.
func (x *rehearsal) hasSettings() {
	x.Helper()
	target := x.parameters["ExistingTableName"]
	table, err := x.tables.engine.DescribeTable(x.Context(), &dynamodb.DescribeTableInput{TableName: &target})
	if err != nil {
		x.Fatal(err)
	}
	ttl, err := x.tables.engine.DescribeTimeToLive(x.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &target})
	if err != nil {
		x.Fatal(err)
	}
	for what, holds := range map[string]bool{
		"a stream":               aws.ToString(table.Table.LatestStreamArn) == x.parameters["ExistingTableStreamArn"],
		"a release of its own":   x.parameters["Release"] != "" && x.parameters["GradualReleases"] == "false",
		"a TTL":                  ttl.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled,
		"point-in-time recovery": x.tables.recovered[target],
		"deletion protection":    x.tables.protected[target],
	} {
		if !holds {
			x.Errorf("the new table has no %s", what)
		}
	}
}

func newRehearsal(t *testing.T) *rehearsal {
	t.Helper()
	program, err := launch.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := &rehearsal{T: t, tables: newTableService(t), program: program, parameters: map[string]string{}}
	x.before = x.start(oldTable, "PINECONE_MORE_INDEXES=b=local")
	return x
}

// start starts a stack on a table of the service.
func (x *rehearsal) start(table string, environment ...string) *launch.Stack {
	x.Helper()
	stack, err := launch.Start(x.Context(), x.program, os.Stderr, append([]string{
		"TABLE_NAME=" + table, "ERASURES_TABLE=" + ledgerTable, "AWS_ENDPOINT_URL_DYNAMODB=" + x.tables.url,
		"AWS_ENDPOINT_URL_DYNAMODB_STREAMS=" + dynamodbtest.Endpoint(x), "AWS_ACCESS_KEY_ID=functions",
		"TRIGGERS=idle=1s,sweep=1s",
	}, environment...)...)
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(func() {
		if err := stack.Stop(); err != nil {
			x.Errorf("stop: %v", err)
		}
	})
	return stack
}

// command returns the command of an operator, which is stopped after a step.
func (x *rehearsal) command(last string) *restore {
	tables := x.tables.client("operator")
	return &restore{
		out: testWriter{x.T}, stack: "throughline", region: "us-east-1", at: x.at, tables: tables,
		operator: []string{principalOf("operator")}, stacks: x, now: time.Now, poll: 10 * time.Millisecond,
		services: preflight.Services{
			Table:      tables,
			KeyManager: func(context.Context, string) (string, error) { return "AWS", nil },
			Consumers:  func(context.Context, string) ([]string, error) { return nil, nil },
		},
		eraser: func(ctx context.Context, table string) (eraser, error) {
			return newEraser(ctx, x.environment(), table)
		},
		afterStep: func(step string) error {
			if step == last {
				return errStopped
			}
			return nil
		},
	}
}

// environment is that of a deployed function, with the operator's credentials.
func (x *rehearsal) environment() map[string]string {
	info := x.info(x.before)
	return map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_DYNAMODB": x.tables.url, "AWS_ACCESS_KEY_ID": "operator",
		"AWS_SECRET_ACCESS_KEY": "local", "PINECONE_INDEX_HOST": info.PineconeHost, "PINECONE_API_KEY": "local",
	}
}

type stackInfo struct{ PineconeHost, OpenAIBaseURL string }

func (x *rehearsal) info(stack *launch.Stack) stackInfo {
	x.Helper()
	var info stackInfo
	x.do(client.New(stack.Base), http.MethodGet, "/dev/info", nil, &info)
	return info
}

// furtherIndex returns the host of the index b, which the first stack serves.
func (x *rehearsal) furtherIndex() string {
	x.Helper()
	for _, line := range x.before.Output {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "pinecone" && f[1] == "b" {
			return f[2]
		}
	}
	x.Fatal("the stack prints no index b")
	return ""
}

// DescribeStacks answers as CloudFormation does.
func (x *rehearsal) DescribeStacks(context.Context, *cloudformation.DescribeStacksInput,
	...func(*cloudformation.Options),
) (*cloudformation.DescribeStacksOutput, error) {
	table := x.parameters["ExistingTableName"]
	if table == "" {
		table = oldTable
	}
	stack := cfntypes.Stack{
		StackStatus: cfntypes.StackStatusUpdateComplete,
		Outputs: []cfntypes.Output{
			{OutputKey: aws.String("TableName"), OutputValue: &table},
			{OutputKey: aws.String("ErasuresTableName"), OutputValue: aws.String(ledgerTable)},
		},
	}
	for _, name := range []string{
		"JwtIssuer", "ExistingTableName", "ExistingTableStreamArn", "ExistingTableKmsKeyArn", "GradualReleases", "Release",
	} {
		value := x.parameters[name]
		stack.Parameters = append(stack.Parameters, cfntypes.Parameter{ParameterKey: &name, ParameterValue: &value})
	}
	return &cloudformation.DescribeStacksOutput{Stacks: []cfntypes.Stack{stack}}, nil
}

// UpdateStack starts the functions anew with the new table, as an update of the stack does.
func (x *rehearsal) UpdateStack(_ context.Context, in *cloudformation.UpdateStackInput,
	_ ...func(*cloudformation.Options),
) (*cloudformation.UpdateStackOutput, error) {
	for _, p := range in.Parameters {
		if !aws.ToBool(p.UsePreviousValue) {
			x.parameters[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
		}
	}
	info := x.info(x.before)
	x.after = x.start(x.parameters["ExistingTableName"], "PINECONE_INDEX_HOST="+info.PineconeHost,
		"PINECONE_MORE_INDEXES=b="+x.furtherIndex(), "PINECONE_NEW_USERS_INDEX=b")
	return &cloudformation.UpdateStackOutput{}, nil
}

// reindex moves everybody to the empty index, as an operator does after a restore.
func (x *rehearsal) reindex() {
	x.Helper()
	root, err := launch.ModuleRoot(x.Context())
	if err != nil {
		x.Fatal(err)
	}
	program := filepath.Join(x.TempDir(), "reindex")
	build := exec.CommandContext(x.Context(), "go", "build", "-o", program, "./infra/reindex")
	build.Dir, build.Env = root, launch.BuildEnv()
	if out, err := build.CombinedOutput(); err != nil {
		x.Fatalf("build: %v\n%s", err, out)
	}
	command := exec.CommandContext(x.Context(), program, "-to", "b")
	environ := x.environment()
	environ["TABLE_NAME"], environ["OPENAI_BASE_URL"] = x.parameters["ExistingTableName"], x.info(x.after).OpenAIBaseURL
	environ["OPENAI_API_KEY"], environ["PINECONE_NEW_USERS_INDEX"] = "local", "b"
	environ["PINECONE_MORE_INDEXES"] = "b=" + x.furtherIndex()
	for name, value := range environ {
		command.Env = append(command.Env, name+"="+value)
	}
	out, err := command.CombinedOutput()
	x.Logf("%s", out)
	if err != nil {
		x.Fatalf("reindex: %v", err)
	}
}

func (x *rehearsal) as(stack *launch.Stack, user string) *client.Client {
	x.Helper()
	api, err := client.New(stack.Base).As(x.Context(), user)
	if err != nil {
		x.Fatal(err)
	}
	return api
}

func (x *rehearsal) do(api *client.Client, method, path string, in, out any, headers ...client.Header) {
	x.Helper()
	if err := api.Do(x.Context(), method, path, in, out, headers...); err != nil {
		x.Fatalf("%s %s: %v", method, path, err)
	}
}

// say appends a message of the user to a session, which it creates.
func (x *rehearsal) say(stack *launch.Stack, user, session, text string, headers ...client.Header) {
	x.Helper()
	api := x.as(stack, user)
	x.do(api, http.MethodPut, "/v1/sessions/"+session, object{"context": "coach_conversation", "coachId": "coach"}, nil)
	x.do(api, http.MethodPost, "/v1/sessions/"+session+"/messages",
		object{"messages": []object{{"role": "user", "content": text}}}, nil, headers...)
}

// tell has a user say some secrets in a session of its own.
func (x *rehearsal) tell(stack *launch.Stack, user, word string, times int) {
	x.Helper()
	for i := range times {
		x.say(stack, user, "s-"+word, fmt.Sprintf("My secret word number %d is %s%s.", i, user, word))
	}
}

type message struct{ MessageID, Content string }

func (x *rehearsal) messages(stack *launch.Stack, user, session string) []message {
	x.Helper()
	var list struct{ Items []message }
	x.do(x.as(stack, user), http.MethodGet, "/v1/sessions/"+session+"/messages", nil, &list)
	return list.Items
}

// sessions counts the sessions of a user after the restore.
func (x *rehearsal) sessions(user string) int {
	x.Helper()
	var list struct{ Items []any }
	x.do(x.as(x.after, user), http.MethodGet, "/v1/sessions", nil, &list)
	return len(list.Items)
}

// finds checks how many messages a user finds after the restore.
func (x *rehearsal) finds(user string, want int) {
	x.Helper()
	var found struct {
		Messages []message
		Degraded []any
	}
	query := object{"query": "What is my secret word?", "limit": 100}
	x.do(x.as(x.after, user), http.MethodPost, "/v1/recall", query, &found)
	if len(found.Messages) != want || len(found.Degraded) > 0 {
		x.Errorf("%s finds %+v, want %d messages", user, found, want)
	}
}

func (x *rehearsal) settle(stack *launch.Stack) {
	x.Helper()
	var settled struct{ Settled bool }
	x.do(client.New(stack.Base), http.MethodPost, "/dev/settle", object{"timeoutMs": 60000}, &settled)
	if !settled.Settled {
		x.Fatal("the stack has not settled")
	}
}

// settleAnyway gives the background work of a read-only stack time to try.
func (x *rehearsal) settleAnyway(stack *launch.Stack) {
	x.Helper()
	x.do(client.New(stack.Base), http.MethodPost, "/dev/settle", object{"timeoutMs": 3000}, nil)
}

// refuses checks that a stack refuses writes at every door with 503 and Retry-After, and goes on to answer reads.
func (x *rehearsal) refuses(stack *launch.Stack) {
	x.Helper()
	api := x.as(stack, "ann")
	for path, body := range map[string]any{
		"POST /v1/sessions":                  object{"context": "coach_conversation", "coachId": "coach"},
		"POST /v1/sessions/s-first/messages": object{"messages": []object{{"role": "user", "content": "Hello."}}},
		"PUT /v1/preferences":                object{"memory": true, "crossContext": true},
		"POST /v1/memories":                  object{"type": "PROFILE", "content": "The user rows."},
		"DELETE /v1/sessions/s-first":        nil,
		"DELETE /v1/user":                    nil,
		"POST /v1/chat":                      object{"sessionId": "s-first", "message": "Hello."},
	} {
		method, path, _ := strings.Cut(path, " ")
		var err error
		if path == "/v1/chat" {
			err = api.Chat(x.Context(), body, func(client.Event) error { return nil })
		} else {
			err = api.Do(x.Context(), method, path, body, nil)
		}
		var p *client.Problem
		if !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable || p.RetryAfter != time.Minute {
			x.Errorf("%s %s of a read-only stage: %v, want 503 and Retry-After", method, path, err)
		}
	}
	x.do(api, http.MethodGet, "/v1/sessions", nil, nil)
	x.do(api, http.MethodPost, "/v1/recall", object{"query": "secret"}, nil)
}

// testWriter prints what the command says.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimRight(p, "\n"))
	return len(p), nil
}
