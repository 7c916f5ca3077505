package extraction_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

const (
	coach       = "c1"
	appContext  = "coach_conversation"
	emptyAnswer = `{"facts":[],"ended":[],"openLoops":[],"closedLoops":[]}`
)

var noKey conversation.Idempotency

// completer is a model.
type completer interface {
	Complete(ctx context.Context, r llm.Request) (llm.Completion, error)
}

// fixture is a user of a store, with a model.
type fixture struct {
	stores dynamotest.Stores
	user   conversation.UserID
	model  completer

	mu     sync.Mutex
	now    time.Time
	calls  int
	counts extraction.Counts
	quota  fakeQuota
}

// fakeQuota says when the user has tokens again.
type fakeQuota struct {
	reset time.Time
	spent int
}

func (q *fakeQuota) Reset(context.Context, conversation.UserID) (time.Time, error) {
	return q.reset, nil
}

func (q *fakeQuota) Spend(_ context.Context, _ conversation.UserID, _ int64, tokens int) error {
	q.spent += tokens
	return nil
}

type wordCounter struct{}

func (wordCounter) Count(text string) int { return len(strings.Fields(text)) }

func newFixture(t testing.TB, user conversation.UserID) *fixture {
	t.Helper()
	f := &fixture{user: user, now: dynamotest.Now.Add(24 * time.Hour)}
	f.stores = dynamotest.New(t, dynamo.WithClock(f.clock))
	return f
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

// deps are the dependencies of a service on a store.
func (f *fixture) deps(store extraction.Store) extraction.Deps {
	return extraction.Deps{
		Store: store, Model: f.model, Quota: &f.quota, Tokens: wordCounter{}, Now: f.clock,
		Random: rand.Reader, NewOwner: rand.Text, Report: func(context.Context, string, error) {},
		Count: func(_ context.Context, c extraction.Counts) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.counts.Calls += c.Calls
			f.counts.NewMemories += c.NewMemories
			f.counts.Superseded += c.Superseded
			f.counts.Ended += c.Ended
			f.counts.Forgotten += c.Forgotten
			f.counts.BadItems += c.BadItems
			f.counts.BadAnswers += c.BadAnswers
			f.counts.Skipped += c.Skipped
			f.counts.OpenedLoops += c.OpenedLoops
			f.counts.ClosedLoops += c.ClosedLoops
		},
		EveryMessages: 50, Background: true,
	}
}

// extract reads a session to its end, as the sweep does.
func (f *fixture) extract(t *testing.T, id string) {
	t.Helper()
	service := extraction.New(f.deps(f.stores.Extraction))
	for range 100 {
		session := f.session(t, id)
		if !session.NeedsExtraction() {
			return
		}
		if _, err := service.Extract(t.Context(), f.user, appContext, id); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the session is never read to its end")
}

func (f *fixture) session(t *testing.T, id string) conversation.Session {
	t.Helper()
	session, err := f.stores.Sessions.Session(t.Context(), f.user, id)
	check.OK(t, err)
	return session
}

func (f *fixture) create(t *testing.T, id string) {
	t.Helper()
	in := conversation.NewSession{ID: id, Context: appContext, CoachID: coach}
	if _, err := f.stores.Sessions.CreateSession(t.Context(), f.user, in, noKey); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) append(t *testing.T, id string, messages ...conversation.NewMessage) []conversation.Message {
	t.Helper()
	stored, err := f.stores.Messages.Append(t.Context(), f.user, conversation.Append{SessionID: id, Messages: messages})
	check.OK(t, err)
	return stored.Messages
}

// readOnce stores a session of one message, said some time ago, and reads it with a model that answers so.
func (f *fixture) readOnce(t *testing.T, id, text, answer string, ago time.Duration) {
	t.Helper()
	f.model = script(answer)
	f.create(t, id)
	f.append(t, id, conversation.NewMessage{
		Role: conversation.RoleUser, Content: text, Timestamp: f.clock().Add(-ago),
	})
	f.extract(t, id)
}

// oneFact is the answer of a model that notes one fact with these fields, beside those that all facts have.
func oneFact(fields string) string {
	return `{"facts":[{"type":"PROFILE","confidence":0.9,"messageIds":["m1"],` + fields + `}],"ended":[],` +
		`"openLoops":[],"closedLoops":[]}`
}

const day = 24 * time.Hour

func (f *fixture) memories(t *testing.T) []longterm.Memory {
	t.Helper()
	list, _, err := f.stores.Memories.List(t.Context(), f.user, conversation.Page{Limit: 200})
	check.OK(t, err)
	return list
}

func (f *fixture) todos(t *testing.T) []longterm.Todo {
	t.Helper()
	list, _, err := f.stores.Todos.List(t.Context(), f.user, conversation.Page{Limit: 200})
	check.OK(t, err)
	return list
}
