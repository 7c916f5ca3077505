package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/local/collector"
	"github.com/throughline/throughline/internal/testing/check"
)

// program is the path of the local stack, which is built once. shared is a running stack that the tests share; each
// test has users of its own. spans has the spans of the shared stack; the other stacks make none.
var (
	program string
	shared  *launch.Stack
	spans   = collector.New()
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	folder, err := os.MkdirTemp("", "throughline-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ctx := context.Background()
	if program, err = launch.Build(ctx, folder); err != nil {
		return 1, err
	}
	collecting := httptest.NewServer(spans)
	defer collecting.Close()
	endpoint := "OTEL_EXPORTER_OTLP_ENDPOINT=" + collecting.URL
	if shared, err = launch.Start(ctx, program, os.Stderr, endpoint); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, shared.Stop()) }()
	return m.Run(), nil
}

var users atomic.Int64

// newUser returns a client of the shared stack for a new user.
func newUser(t *testing.T, scopes ...string) *client.Client {
	t.Helper()
	name := "user-" + strconv.FormatInt(users.Add(1), 10) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	return check.Got(client.New(shared.Base).As(t.Context(), name, scopes...))(t)
}

// do makes a request that has to succeed.
func do(t *testing.T, api *client.Client, method, path string, in, out any, headers ...client.Header) {
	t.Helper()
	if err := api.Do(t.Context(), method, path, in, out, headers...); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
}

// startStack starts a stack for one test.
func startStack(t *testing.T, environment ...string) *launch.Stack {
	t.Helper()
	stack := check.Got(launch.Start(t.Context(), program, os.Stderr, environment...))(t)
	t.Cleanup(func() {
		if err := stack.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return stack
}

// mintToken returns a token of a stack's own issuer.
func mintToken(t *testing.T, stack *launch.Stack, user string) string {
	t.Helper()
	var minted struct{ Token string }
	do(t, client.New(stack.Base), http.MethodPost, "/dev/tokens", map[string]any{"userId": user}, &minted)
	return minted.Token
}

// open creates a session.
func open(t *testing.T, api *client.Client, appContext, id string) {
	t.Helper()
	body := map[string]any{"context": appContext, "coachId": "coach", "sessionId": id}
	do(t, api, http.MethodPost, "/v1/sessions", body, nil)
}

type message struct {
	MessageID string
	Seq       int
	Role      string
	Content   string
	Metadata  map[string]any
}

// messages returns a session's messages, which have to fit one page.
func messages(t *testing.T, api *client.Client, session string) []message {
	t.Helper()
	var list struct{ Items []message }
	do(t, api, http.MethodGet, "/v1/sessions/"+session+"/messages", nil, &list)
	return list.Items
}

// eventually polls until a condition holds. What it waits for sends no signal.
func eventually(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, within)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// wantProblem fails unless the error is a problem of that status and code, and of that field unless it is empty.
func wantProblem(t *testing.T, err error, status int, code, field string) {
	t.Helper()
	var p *client.Problem
	if !errors.As(err, &p) {
		t.Fatalf("got %v, want a problem %d %s", err, status, code)
	}
	if p.Status != status || p.Code != code {
		t.Errorf("got %v, want %d %s", p, status, code)
	}
	if field == "" {
		return
	}
	for _, e := range p.Errors {
		if e.Field == field && e.Message != "" {
			return
		}
	}
	t.Errorf("got %v, want it to name the field %s", p, field)
}
