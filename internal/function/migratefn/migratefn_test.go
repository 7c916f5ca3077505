package migratefn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/migratefn"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// app is a table of an app with its migrate function.
type app struct {
	table  string
	handle function.PayloadHandler
	client *dynamodb.Client
	// writers is the state as the writers know it.
	writers *adopt.StageStore
}

func newApp(t *testing.T, stage migration.Stage) *app {
	t.Helper()
	return openApp(t, dynamotest.Table(t), dynamodbtest.Endpoint(t), stage)
}

// openApp returns another migrate function of a table.
func openApp(t *testing.T, table, endpoint string, stage migration.Stage) *app {
	t.Helper()
	a := &app{table: table, client: dynamodbtest.Client(t)}
	var err error
	a.handle, err = migratefn.New(t.Context(), config.Config{
		TableName: a.table, Region: "us-east-1", AccessKeyID: "local", SecretAccessKey: "local",
		DynamoDBEndpoint: endpoint, InitialStage: config.MigrationStage(stage),
	}, function.Runtime{Log: slog.New(slog.DiscardHandler), Metrics: io.Discard})
	check.OK(t, err)
	return a
}

func (a *app) call(ctx context.Context, payload string) (migration.Answer, error) {
	out, err := a.handle(ctx, json.RawMessage(payload))
	if err != nil {
		return migration.Answer{}, err
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return migration.Answer{}, err
	}
	var answer migration.Answer
	return answer, json.Unmarshal(raw, &answer)
}

// do carries out an action until it is done.
func (a *app) do(t *testing.T, payload string) migration.Answer {
	t.Helper()
	for {
		out, err := a.call(t.Context(), payload)
		if err != nil {
			t.Fatalf("%s: %v", payload, err)
		}
		if out.Done {
			return out
		}
	}
}

// kill ends an action while it waits for a change of the stage to settle.
func (a *app) kill(t *testing.T, payload string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), migration.SettleTime/5)
	defer cancel()
	if _, err := a.call(ctx, payload); err == nil {
		t.Errorf("%s did not wait", payload)
	}
}

// refused expects an error of a code that says something.
func (a *app) refused(t *testing.T, payload, code, says string) {
	t.Helper()
	_, err := a.call(t.Context(), payload)
	e, ok := errors.AsType[messages.InvokeResponse_Error](err)
	if !ok || e.Type != code || !strings.Contains(e.Message, says) {
		t.Errorf("%s: got %v, want %s with %q", payload, err, code, says)
	}
}

// settle makes the last change of the stage old enough and known to the writers, so that the test need not wait.
func (a *app) settle(t *testing.T) {
	t.Helper()
	_, err := a.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &a.table, UpdateExpression: aws.String("SET changedAt = :at"),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "migration"}, "sk": &types.AttributeValueMemberS{Value: "state"},
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":at": &types.AttributeValueMemberS{Value: conversation.FormatTime(time.Now().Add(-migration.SettleTime))},
		},
	})
	if err == nil && a.writers != nil {
		_, err = a.writers.State(t.Context())
	}
	check.OK(t, err)
}

func TestInput(t *testing.T) {
	t.Parallel()
	a := newApp(t, migration.Embedded)
	for payload, says := range map[string]string{
		`{}`:                                                     `"action"`,
		`{"action":"begin"}`:                                     "must be preflight, status, advance",
		`{"action":"status","x":1}`:                              "x",
		`{"action":"advance","percent":101}`:                     "must be 1 to 100",
		`{"action":"advance","to":"later"}`:                      "must be embedded, dual, shared-read or shared",
		`{"action":"rollback"}`:                                  "must name the stage to go back to",
		`{"action":"verify","dryRun":true}`:                      "works with backfill only",
		`{"action":"backfill","segment":1}`:                      "must be 0 to totalSegments - 1",
		`{"action":"backfill","rateLimit":-1}`:                   "must be messages a second",
		`{"action":"status","checkpoint":"x"}`:                   "works with backfill",
		`{"action":"backfill","to":"dual"}`:                      "works with advance and rollback only",
		`{"action":"backfill","dryRun":true,"checkpoint":"e30"}`: "leave it out",
	} {
		a.refused(t, payload, "invalid", says)
	}
	for payload, says := range map[string]string{
		`{"action":"advance","to":"shared"}`:      "one step",
		`{"action":"advance","to":"shared-read"}`: "dual comes before shared-read",
		`{"action":"backfill"}`:                   "advance to dual before backfill",
		`{"action":"verify"}`:                     "advance to dual before verify",
		`{"action":"index"}`:                      "run backfill first",
		`{"action":"cleanup"}`:                    "cleanup needs shared at 100%",
	} {
		if strings.Contains(payload, `"shared"}`) {
			says = "comes before shared"
		}
		a.refused(t, payload, "conflict", says)
	}
}

// TestMigration drives the whole migration of a small table, forward, back and forward again, while writers append.
func TestMigration(t *testing.T) {
	t.Parallel()
	a := newApp(t, migration.Embedded)
	source := legacy.Table{Users: 24, Sessions: 26, Messages: 104, Seed: 2} // each shape twice
	check.OK(t, source.Load(t.Context(), a.client, a.table))
	w := startWriters(t, a, source)

	plan := a.do(t, `{"action":"backfill","dryRun":true}`)
	f := plan.Forecast
	least := 0 // without what the writers have added
	for n := range source.Sessions {
		least += len(source.Session(n).Messages)
	}
	if f == nil || f.Sessions != source.Sessions || f.Messages < least || f.WriteUnits < 3*float64(least) || f.USD <= 0 {
		t.Errorf("the forecast is %+v", plan.Forecast)
	}
	a.do(t, `{"action":"advance","to":"dual","percent":50}`)
	a.settle(t)
	half := a.do(t, `{"action":"backfill"}`)
	if half.Backfilled != 50 || half.Progress.Changed < source.Sessions/3 || half.Progress.Changed > source.Sessions*2/3 {
		t.Errorf("half of the users: %+v", half.Progress)
	}
	a.do(t, `{"action":"advance"}`)
	a.settle(t)
	a.refused(t, `{"action":"advance","to":"shared-read"}`, "conflict", "covered 50% of the users")
	for _, segment := range []int{2, 0, 1} {
		a.do(t, fmt.Sprintf(`{"action":"backfill","segment":%d,"totalSegments":3}`, segment))
	}
	again := a.do(t, `{"action":"backfill"}`)
	if again.Backfilled != 100 || again.Progress.Changed > w.written() {
		t.Errorf("the second backfill: %+v", again)
	}
	a.do(t, `{"action":"advance","to":"shared-read"}`)
	a.settle(t)
	a.refused(t, `{"action":"advance","to":"shared"}`, "conflict", "there was none")
	w.want(t, a.do(t, `{"action":"verify"}`))
	a.do(t, `{"action":"advance","to":"shared"}`)
	a.settle(t)
	a.do(t, `{"action":"backfill"}`)
	w.want(t, a.do(t, `{"action":"verify"}`))

	for _, to := range []string{"shared-read", "dual", "embedded"} {
		a.kill(t, `{"action":"rollback","to":"`+to+`"}`)
		a.settle(t)
		a.do(t, `{"action":"rollback","to":"`+to+`"}`)
	}
	w.check(t)
	for _, to := range []string{"dual", "shared-read", "shared"} {
		a.do(t, `{"action":"advance","to":"`+to+`"}`)
		a.settle(t)
		a.do(t, `{"action":"backfill"}`)
		if to != "dual" {
			w.want(t, a.do(t, `{"action":"verify"}`))
		}
	}
	w.stop()
	w.check(t)
	if due := a.do(t, `{"action":"index"}`); due.Progress.Changed == 0 {
		t.Errorf("index made nothing due: %+v", due.Progress)
	}
	clean := a.do(t, `{"action":"cleanup"}`)
	if !clean.Cleaned || clean.Progress.Changed == 0 {
		t.Errorf("cleanup: %+v", clean)
	}
	a.refused(t, `{"action":"rollback","to":"shared-read"}`, "conflict", "no way back")
	w.check(t)
	if s := a.do(t, `{"action":"status"}`); s.Stage != migration.Shared || !s.Cleaned || s.Progress.Percent != 100 {
		t.Errorf("status: %+v", s)
	}
}

// writers append to sessions of the table while they move.
type writers struct {
	stores interface {
		Append(ctx context.Context, user conversation.UserID, in conversation.Append) (conversation.Appended, error)
		Messages(ctx context.Context, user conversation.UserID, id string, page conversation.Page,
		) ([]conversation.Message, conversation.Position, error)
	}
	source legacy.Table
	mu     sync.Mutex
	said   map[int][]string // by session
	count  atomic.Int64
	end    chan struct{}
	work   sync.WaitGroup
}

func startWriters(t *testing.T, a *app, source legacy.Table) *writers {
	w := &writers{source: source, said: map[int][]string{}, end: make(chan struct{})}
	db := dynamo.New(a.client, a.table, adopt.WithInitialStage(migration.Embedded))
	w.stores, a.writers = dynamo.NewMessageStore(db), adopt.NewStageStore(db)
	w.work.Go(func() {
		ticks := time.NewTicker(40 * time.Millisecond)
		defer ticks.Stop()
		for i := 0; ; i += 7 {
			select {
			case <-w.end:
				return
			case <-ticks.C:
				w.say(t, 1+i%(source.Sessions-1)) // nothing but the job makes the first session due
			}
		}
	})
	t.Cleanup(w.stop)
	return w
}

func (w *writers) say(t *testing.T, n int) {
	s := w.source.Session(n)
	w.mu.Lock()
	defer w.mu.Unlock()
	content := fmt.Sprintf("later %d", w.count.Add(1))
	_, err := w.stores.Append(context.WithoutCancel(t.Context()), conversation.UserID(s.User), conversation.Append{
		SessionID: s.ID, Messages: []conversation.NewMessage{{Role: conversation.RoleUser, Content: content}},
	})
	if err != nil {
		t.Errorf("append to %s, %s: %v", s.ID, s.Shape, err)
		return
	}
	w.said[n] = append(w.said[n], content)
}

func (w *writers) written() int { return int(w.count.Load()) }

func (w *writers) stop() {
	select {
	case <-w.end:
	default:
		close(w.end)
	}
	w.work.Wait()
}

// want expects that an action found nothing.
func (w *writers) want(t *testing.T, out migration.Answer) {
	t.Helper()
	if len(out.Mismatches) > 0 || out.VerifiedAt == "" {
		t.Fatalf("verify found %+v", out)
	}
}

// check compares every session with what the app had and what was said since.
func (w *writers) check(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for n := range w.source.Sessions {
		s := w.source.Session(n)
		var want, got []string
		for _, m := range s.Messages {
			want = append(want, m.Content)
		}
		want = append(want, w.said[n]...)
		page, _, err := w.stores.Messages(t.Context(), conversation.UserID(s.User), s.ID, conversation.Page{Limit: 200})
		check.OK(t, err)
		for i, m := range page {
			if got = append(got, m.Content); m.Seq != i+1 {
				t.Errorf("message %d of %s has seq %d", i, s.ID, m.Seq)
			}
		}
		if strings.Join(want, "\n") != strings.Join(got, "\n") {
			t.Errorf("%s, %s: got %d messages, want %d: %q", s.ID, s.Shape, len(got), len(want), got)
		}
	}
}
