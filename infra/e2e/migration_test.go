package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/infra/local/faults"
	"github.com/throughline/throughline/infra/statemachine"
	"github.com/throughline/throughline/internal/testing/check"
)

// The size of TestMigration. "make soak MIGRATED=400000" has a table of 400,000 messages and 50 kills.
var (
	migrationUsers    = flag.Int("migration-users", 20, "users of TestMigration")
	migrationSessions = flag.Int("migration-sessions", 130, "sessions of TestMigration")
	migrationMessages = flag.Int("migration-messages", 2_000, "messages in the arrays of TestMigration")
	migrationKills    = flag.Int("migration-kills", 3, "how many processes of a backfill TestMigration kills")
	migrationSegments = flag.Int("migration-segments", 4, "segments of the table")
	migrationPause    = flag.Duration("migration-pause", 0, "how long writers and readers wait between two requests")
	migrationReturn   = flag.Bool("migration-return", false, "go through every percentage, back, and forward again")
)

// TestMigration moves an app's table through all stages, back, and forward again, while the app writes and reads and
// processes of the backfill are killed.
func TestMigration(t *testing.T) {
	t.Parallel()
	table := legacy.Table{
		Users: *migrationUsers, Sessions: *migrationSessions, Messages: *migrationMessages, Seed: 20260105,
		Large: max(1, *migrationSessions/1000),
	}
	stack := startStack(t, "INITIAL_STAGE=embedded")
	m := newMigrationCase(t, stack, table)
	m.startMachine()
	m.load()
	m.done("load")
	m.x = startTraffic(t.Context(), stack.Base, table, 2, 2)
	x := m.x
	defer x.cancel()

	m.forward(*migrationKills)
	if *migrationReturn {
		m.back()
		m.forward(*migrationKills)
	}
	x.large.Store(true)
	m.segments("cleanup", nil)
	m.done("cleanup")
	check.OK(t, x.stop())
	if err := x.checkAll(t.Context(), 4); err != nil {
		t.Error(err)
	}
	m.checkTable(x)
	m.done("comparing")
	t.Logf("%d appends and %d reads beside the migration; %d processes killed; %d calls that found the engine too busy",
		x.writes.Load(), x.reads.Load(), m.killed.Load(), m.unanswered.Load()+x.unanswered.Load())
}

// migrationCase is a migration under test.
type migrationCase struct {
	*testing.T
	table    legacy.Table
	base     string // the address of the API
	name     string // of the table
	dynamodb string // its endpoint, which describes a large table at once
	lambda   string // the endpoint of the functions
	function string
	machine  *statemachine.Engine
	worker   string // the program of a process that backfills
	killed   atomic.Int64
	// unanswered is how many calls had to be made again because the engine was too busy.
	unanswered atomic.Int64
	x          *traffic
	lastStep   time.Time
}

func newMigrationCase(t *testing.T, stack *launch.Stack, table legacy.Table) *migrationCase {
	t.Helper()
	var info struct {
		TableName, DynamoDBEndpoint, LambdaEndpoint string
		Functions                                   map[string]string
	}
	do(t, client.New(stack.Base), http.MethodGet, "/dev/info", nil, &info)
	engine := check.Got(faults.Proxy(info.DynamoDBEndpoint))(t)
	dynamodb := httptest.NewServer(engine)
	t.Cleanup(dynamodb.Close)
	return &migrationCase{
		T: t, table: table, base: stack.Base, name: info.TableName, dynamodb: dynamodb.URL, lambda: info.LambdaEndpoint,
		function: info.Functions["migrate"],
	}
}

// step is the request of an action.
type step = map[string]any

// moved is the function's answer, as far as the test reads it.
type moved struct {
	Stage      string
	Percent    int
	Mismatches []struct{ UserID, SessionID, Reason string }
	Progress   struct{ Problems, Sessions, Changed int }
	Done       bool
	Checkpoint any
}

// startMachine starts the state machine with the stack's own function.
func (m *migrationCase) startMachine() {
	m.Helper()
	engine := check.Got(statemachine.Start(m.Context(), m.lambda,
		"arn:aws:lambda:us-east-1:123456789012:function:"+m.function))(m)
	m.machine = engine
	m.Cleanup(func() {
		if err := engine.Stop(); err != nil {
			m.Error(err)
		}
	})
}

// forward goes from embedded to shared. So many of the backfill's processes are killed. In each stage the app puts
// records of its own.
func (m *migrationCase) forward(kills int) {
	m.arrive(m.x)
	m.advance("dual")
	m.refused(step{"action": "advance", "to": "shared-read"})
	m.arrive(m.x)
	m.backfill(kills)
	m.done("backfill in dual")
	m.advance("shared-read")
	m.refused(step{"action": "advance", "to": "shared"})
	m.arrive(m.x)
	m.segments("backfill", nil)
	m.done("backfill in shared-read")
	m.verify()
	m.done("verify in shared-read")
	m.advance("shared")
	m.arrive(m.x)
	m.backfill(kills)
	m.done("backfill in shared")
	m.verify()
	m.done("verify in shared")
}

// back goes from shared to embedded.
func (m *migrationCase) back() {
	for _, stage := range []string{"shared-read", "dual", "embedded"} {
		m.segments("rollback", step{"to": stage})
		m.arrive(m.x)
		m.done("rollback to " + stage)
	}
}

// done logs how long a step took.
func (m *migrationCase) done(step string) {
	now := time.Now()
	if !m.lastStep.IsZero() {
		m.Logf("%s: %.0f s", step, now.Sub(m.lastStep).Seconds())
	}
	m.lastStep = now
}

// advance goes to a stage, with a share of the users first.
func (m *migrationCase) advance(to string) {
	m.Helper()
	if *migrationReturn {
		m.call(step{"action": "advance", "to": to, "percent": 40})
	}
	m.call(step{"action": "advance", "to": to})
}

// verify expects that nothing differs. It runs the deployed state machine, whose tasks call the function.
func (m *migrationCase) verify() {
	m.Helper()
	got, err := m.machine.Execute(step{"action": "verify", "totalSegments": *migrationSegments})
	if err != nil || got.Status != "SUCCEEDED" || strings.Contains(got.Output, "sessionId") {
		m.Fatalf("the state machine ends with %+v, %v", got, err)
	}
	if got := m.call(step{"action": "status"}); got.Progress.Problems > 0 {
		m.Fatalf("verify found %d differences", got.Progress.Problems)
	}
	m.checkHealth("verify")
}

// call calls the function until the action is done.
func (m *migrationCase) call(in step) moved {
	m.Helper()
	return check.Got(m.run(m.Context(), in))(m)
}

// refused expects that an action is a conflict.
func (m *migrationCase) refused(in step) {
	m.Helper()
	var failed *functionError
	if got, err := m.run(m.Context(), in); !errors.As(err, &failed) || failed.Type != "conflict" {
		m.Fatalf("%v returned %+v and %v, want a conflict", in, got, err)
	}
}

// segments runs an action over the whole table, all segments at once.
func (m *migrationCase) segments(action string, more step) {
	m.Helper()
	group, ctx := errgroup.WithContext(m.Context())
	for n := range *migrationSegments {
		group.Go(func() error {
			in := step{"action": action, "segment": n, "totalSegments": *migrationSegments}
			maps.Copy(in, more)
			got, err := m.run(ctx, in)
			if err == nil && len(got.Mismatches) > 0 {
				err = fmt.Errorf("%s of segment %d names %+v", action, n, got.Mismatches)
			}
			return err
		})
	}
	check.OK(m, group.Wait())
}

// unavailable is the code of a store that is too busy. The call can be made again, as the state machine does.
const unavailable = "unavailable"

// functionError is what a Lambda function fails with.
type functionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

func (e *functionError) Error() string { return e.Type + ": " + e.Message }

func (m *migrationCase) run(ctx context.Context, in step) (out moved, err error) {
	request := maps.Clone(in)
	for {
		var failed *functionError
		out, err = m.invoke(ctx, request)
		if errors.As(err, &failed) && failed.Type == unavailable {
			m.unanswered.Add(1)
			continue
		}
		if err != nil {
			return out, fmt.Errorf("%v: %w", in, err)
		}
		if out.Done {
			return out, nil
		}
		request["checkpoint"] = out.Checkpoint
	}
}

func (m *migrationCase) invoke(ctx context.Context, in step) (out moved, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return out, err
	}
	url := m.lambda + "/2015-03-31/functions/" + m.function + "/invocations"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return out, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return out, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return out, err
	}
	if response.Header.Get("X-Amz-Function-Error") != "" {
		failed := &functionError{}
		return out, errors.Join(json.Unmarshal(text, failed), failed)
	}
	return out, json.Unmarshal(text, &out)
}

// backfill copies all segments, each with a process of its own. So many of the processes are killed at random moments
// and started again.
func (m *migrationCase) backfill(kills int) {
	m.Helper()
	if kills == 0 {
		m.segments("backfill", nil)
		return
	}
	m.buildWorker()
	var left atomic.Int64
	left.Store(int64(kills))
	group, ctx := errgroup.WithContext(m.Context())
	for n := range *migrationSegments {
		group.Go(func() error {
			for {
				ended, err := m.process(ctx, n, &left)
				if ended || err != nil {
					return err
				}
			}
		})
	}
	check.OK(m, group.Wait())
}

// process runs one process for a segment, and reports whether it came to its end. While kills are left it kills the
// process after a random time.
func (m *migrationCase) process(ctx context.Context, segment int, left *atomic.Int64) (ended bool, err error) {
	command := exec.CommandContext(ctx, m.worker)
	input, err := json.Marshal(step{"action": "backfill", "segment": segment, "totalSegments": *migrationSegments})
	if err != nil {
		return false, err
	}
	var stderr bytes.Buffer
	command.Stdin, command.Stderr = bytes.NewReader(input), &stderr
	command.Env = append(os.Environ(), "TABLE_NAME="+m.name, "AWS_ENDPOINT_URL_DYNAMODB="+m.dynamodb,
		"AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "INITIAL_STAGE=embedded",
		"PINECONE_INDEX_HOST=unused", "CURSOR_KEY=")
	if err := command.Start(); err != nil {
		return false, err
	}
	var killed atomic.Bool
	var kill sync.WaitGroup
	done := make(chan struct{})
	if left.Add(-1) >= 0 {
		kill.Go(func() {
			after := time.NewTimer(time.Duration(50+rand.IntN(700)) * time.Millisecond)
			defer after.Stop()
			select {
			case <-after.C:
				killed.Store(command.Process.Kill() == nil)
			case <-done:
			}
		})
	}
	err = command.Wait()
	close(done)
	kill.Wait()
	if err != nil && killed.Load() {
		m.killed.Add(1)
		return false, nil
	}
	if err != nil && strings.Contains(stderr.String(), unavailable) {
		m.unanswered.Add(1)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("backfill segment %d: %w: %s", segment, err, stderr.String())
	}
	return true, nil
}

// buildWorker compiles the program of the processes, once.
func (m *migrationCase) buildWorker() {
	m.Helper()
	if m.worker != "" {
		return
	}
	m.worker = filepath.Join(m.TempDir(), "worker")
	build := exec.CommandContext(m.Context(), "go", "build", "-o", m.worker, "./testdata/migrateworker")
	build.Env = launch.BuildEnv()
	if out, err := build.CombinedOutput(); err != nil {
		m.Fatalf("build worker: %v\n%s", err, out)
	}
}
