package adopt_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestPlacements draws what clients do through several processes, while sessions move and the stage changes forward and
// back. One process learns of stages late, another one loses remote calls. Whatever happens, every session has the
// messages that it should have, with the ids and seqs that they have always had.
func TestPlacements(t *testing.T) {
	t.Parallel()
	app, runs := newAppTable(t), 0
	var mu sync.Mutex
	rapid.Check(t, func(rt *rapid.T) {
		mu.Lock()
		runs++
		m := newMigrating(t, rt, app, runs)
		mu.Unlock()
		for range rapid.IntRange(5, 25).Draw(rt, "actions") {
			m.clock.Advance(2 * time.Second)
			actions := []func(){m.create, m.adopt, m.append, m.append, m.append, m.delete, m.edit, m.move, m.setStage, m.read}
			rapid.SampledFrom(actions).Draw(rt, "action")()
		}
		m.readAll()
	})
}

// migrating is a user whose sessions move, and what each of them should have.
type migrating struct {
	t     *testing.T
	rt    *rapid.T
	app   *appTable
	user  conversation.UserID
	clock *dynamotest.Clock
	// db is the process of the job, and of reads whose calls never fail.
	db     *dynamo.DB
	stores dynamotest.Stores
	// late is a process whose clock stands still, so that it keeps the stage that it knows.
	late      dynamotest.Stores
	lateClock *dynamotest.Clock
	// losing is a process whose calls are lost.
	losing  dynamotest.Stores
	network *lossyNetwork

	stage migration.Stage
	ids   []string
	want  map[string][]conversation.Message
	made  int
}

// asAppended leaves out what only a message has that was read from the shared store.
var asAppended = cmpopts.IgnoreFields(conversation.Message{}, "CleanBy")

// lossyNetwork loses the answers or the requests of the next calls that write.
type lossyNetwork struct {
	mu   sync.Mutex
	next []dynamotest.Failure
}

func (n *lossyNetwork) call(op string, run func() error) error {
	n.mu.Lock()
	var f dynamotest.Failure
	if op == "TransactWriteItems" && len(n.next) > 0 {
		f, n.next = n.next[0], n.next[1:]
	}
	n.mu.Unlock()
	return f.Apply(op, run)
}

func (n *lossyNetwork) lose(failures ...dynamotest.Failure) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next = failures
}

func newMigrating(t *testing.T, rt *rapid.T, app *appTable, run int) *migrating {
	m := &migrating{
		t: t, rt: rt, app: app, user: conversation.UserID(fmt.Sprint("user", run)), clock: dynamotest.NewClock(),
		lateClock: dynamotest.NewClock(), network: &lossyNetwork{}, want: map[string][]conversation.Message{},
	}
	initial := adopt.WithInitialStage(migration.Embedded)
	m.db = open(dynamodbtest.Client(t), app.table, m.clock.Option(), initial)
	m.stores = dynamotest.StoresOf(m.db)
	m.late = dynamotest.Open(t, app.table, m.lateClock.Option(), initial)
	m.losing = dynamotest.OpenIntercepted(t, app.table, dynamotest.Interceptor{Call: m.network.call}, m.clock.Option(),
		initial)
	m.setStage()
	return m
}

// setStage changes the stage, whatever a migration would allow.
func (m *migrating) setStage() {
	stages := []migration.Stage{migration.Embedded, migration.Dual, migration.SharedRead, migration.Shared}
	m.stage = rapid.SampledFrom(stages).Draw(m.rt, "stage")
	store := adopt.NewStageStore(m.db)
	before, err := store.State(m.t.Context())
	check.OK(m.rt, err)
	after := before
	after.Stage, after.Percent, after.Version = m.stage, 100, before.Version+1
	check.OK(m.rt, store.Save(m.t.Context(), before, after))
	m.clock.Advance(migration.SettleTime)
}

// process draws the process that carries out an action.
func (m *migrating) process() dynamotest.Stores {
	switch rapid.IntRange(0, 3).Draw(m.rt, "process") {
	case 0:
		return m.late
	case 1:
		m.lateClock.Advance(m.clock.Time().Sub(m.lateClock.Time()))
		return m.late
	case 2:
		var failures []dynamotest.Failure
		for range rapid.IntRange(1, 2).Draw(m.rt, "failures") {
			failures = append(failures,
				rapid.SampledFrom([]dynamotest.Failure{0, dynamotest.RequestLost, dynamotest.AnswerLost}).Draw(m.rt, "failure"))
		}
		m.network.lose(failures...)
		return m.losing
	}
	return m.stores
}

func (m *migrating) create() {
	m.made++
	in := conversation.NewSession{ID: fmt.Sprint("s", m.made), Context: "coach_conversation", CoachID: "c1"}
	if _, err := m.process().Sessions.CreateSession(m.t.Context(), m.user, in, noKey); err != nil {
		m.rt.Fatalf("create %s: %v", in.ID, err)
	}
	m.ids = append(m.ids, in.ID)
}

// adopt puts a record of the app's, whose messages count as they are served then.
func (m *migrating) adopt() {
	m.made++
	table := legacy.Table{Seed: 7, Users: 1, Sessions: 40, Messages: 400}
	s := table.Session(rapid.IntRange(0, table.Sessions-1).Draw(m.rt, "shape"))
	if len(s.Messages) > 100 {
		return // the shapes of large arrays have tests of their own
	}
	r := s.Item
	id := fmt.Sprint("s", m.made)
	prefix := s.Key()[:len(s.Key())-len(s.ID)]
	r["pk"], r["sk"] = str("user#"+string(m.user)),
		str(prefix+id)
	m.app.put(m.t, r)
	m.ids = append(m.ids, id)
	m.want[id] = m.messages(id, 50, false)
	if len(m.want[id]) != len(s.Messages) {
		m.rt.Fatalf("%s: %d messages are served, want %d", s.Shape, len(m.want[id]), len(s.Messages))
	}
	for i, want := range s.Messages {
		if got := m.want[id][i]; string(got.Role) != want.Role || got.Content != want.Content || got.Seq != i+1 {
			m.rt.Fatalf("%s: message %d is %+v, want %+v", s.Shape, i+1, got, want)
		}
	}
}

func (m *migrating) session() (string, bool) {
	if len(m.ids) == 0 {
		return "", false
	}
	return rapid.SampledFrom(m.ids).Draw(m.rt, "session"), true
}

// append appends with a key until there is an answer, and then once more.
func (m *migrating) append() {
	id, ok := m.session()
	if !ok {
		return
	}
	m.made++
	in := conversation.Append{SessionID: id, Idempotency: conversation.Idempotency{
		Scope: "append " + id, Key: fmt.Sprint(m.made), BodyHash: "h",
	}}
	for i := range rapid.IntRange(1, 3).Draw(m.rt, "messages") {
		in.Messages = append(in.Messages, conversation.NewMessage{
			Role: conversation.RoleAssistant, Content: fmt.Sprintf("%d.%d", m.made, i), Tokens: 2,
			Metadata: map[string]any{"n": float64(i)},
		})
	}
	var out conversation.Appended
	for {
		var err error
		if out, err = m.process().Messages.Append(m.t.Context(), m.user, in); err == nil {
			break
		}
		if !dynamotest.IsUnanswered(err) {
			m.rt.Fatalf("append to %s: %v", id, err)
		}
	}
	again, err := m.process().Messages.Append(m.t.Context(), m.user, in)
	if err != nil || !again.Replayed {
		m.rt.Fatalf("append to %s again: replayed %v, %v", id, again.Replayed, err)
	}
	if diff := cmp.Diff(out.Messages, again.Messages, asAppended); diff != "" {
		m.rt.Fatalf("append to %s again (-first +again):\n%s", id, diff)
	}
	m.want[id] = append(m.want[id], out.Messages...)
}

func (m *migrating) delete() {
	id, ok := m.session()
	if !ok || len(m.want[id]) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.want[id])-1).Draw(m.rt, "message")
	messageID := m.want[id][i].ID
	for {
		p := m.process()
		err := deleteMessage(m.t.Context(), p, m.user, id, messageID, m.clock.Time())
		if err == nil || fault.Is(err, fault.NotFound) {
			break
		}
		if !dynamotest.IsUnanswered(err) {
			m.rt.Fatalf("delete %s of %s: %v", messageID, id, err)
		}
	}
	m.want[id] = slices.Delete(slices.Clone(m.want[id]), i, i+1)
}

func deleteMessage(
	ctx context.Context, s dynamotest.Stores, user conversation.UserID, session, id string, due time.Time,
) error {
	message, err := s.Deletion.Message(ctx, user, session, id)
	if err != nil {
		return err
	}
	_, err = s.Deletion.DeleteMessage(ctx, user, message, nil, due)
	return err
}

func (m *migrating) edit() {
	id, ok := m.session()
	if !ok {
		return
	}
	m.made++
	title := fmt.Sprint("title ", m.made)
	change := conversation.SessionChange{Title: &title, Attributes: map[string]any{"a.b[0]": title, "gone": nil}}
	if _, err := m.process().Sessions.UpdateSession(m.t.Context(), m.user, id, change); err != nil {
		m.rt.Fatalf("edit %s: %v", id, err)
	}
	got, err := m.stores.Sessions.Session(m.t.Context(), m.user, id)
	if err != nil || got.Title != title || got.Attributes["a.b[0]"] != title {
		m.rt.Fatalf("%s was edited to %q and has %q, %v, %v", id, title, got.Title, got.Attributes, err)
	}
}

// move moves a session as the job does.
func (m *migrating) move() {
	id, ok := m.session()
	if !ok {
		return
	}
	to := rapid.SampledFrom([]migration.Placement{
		migration.InArray, migration.InBoth, migration.InStore,
	}).Draw(m.rt, "to")
	if _, err := adopt.Move(m.t.Context(), m.db, m.user, id, to); err != nil {
		m.rt.Fatalf("move %s to %s: %v", id, to, err)
	}
}

// read reads pages of a session, with a move or a new stage between two of them.
func (m *migrating) read() {
	id, ok := m.session()
	if !ok {
		return
	}
	limit := rapid.IntRange(1, 20).Draw(m.rt, "limit")
	descending := rapid.Bool().Draw(m.rt, "descending")
	got := m.messages(id, limit, descending, func() {
		if rapid.Bool().Draw(m.rt, "moves between pages") {
			m.move()
		}
	})
	m.check(id, got, descending)
}

func (m *migrating) readAll() {
	for _, id := range m.ids {
		m.check(id, m.messages(id, 50, false), false)
		session, err := m.stores.Sessions.Session(m.t.Context(), m.user, id)
		if err != nil || session.MessageCount != len(m.want[id]) {
			m.rt.Fatalf("%s counts %d messages, %v; want %d", id, session.MessageCount, err, len(m.want[id]))
		}
		if _, err := adopt.Move(m.t.Context(), m.db, m.user, id, migration.InBoth); err != nil {
			m.rt.Fatal(err)
		}
		m.check(id, m.messages(id, 7, false), false)
	}
	var listed []string
	sessions, _, err := m.stores.Sessions.Sessions(m.t.Context(), m.user, conversation.SessionFilter{},
		conversation.Page{Limit: 200})
	for _, s := range sessions {
		listed = append(listed, s.ID)
	}
	slices.Sort(listed)
	want := slices.Sorted(slices.Values(m.ids))
	if diff := cmp.Diff(want, listed, asAppended); diff != "" || err != nil {
		m.rt.Fatalf("listed (-want +got), %v:\n%s", err, diff)
	}
}

// messages reads a session page by page. between runs after each page.
func (m *migrating) messages(id string, limit int, descending bool, between ...func()) (all []conversation.Message) {
	page := conversation.Page{Limit: limit, Descending: descending}
	for {
		messages, next, err := m.stores.Messages.Messages(m.t.Context(), m.user, id, page)
		if err != nil {
			m.rt.Fatalf("read %s: %v", id, err)
		}
		all = append(all, messages...)
		if next == "" {
			return all
		}
		page.After = next
		for _, f := range between {
			f()
		}
	}
}

// check compares what was read with what the session should have. The token counts of an app's messages come with
// their copies.
func (m *migrating) check(id string, got []conversation.Message, descending bool) {
	if descending {
		slices.Reverse(got)
	}
	want := slices.Clone(m.want[id])
	for i := range min(len(want), len(got)) {
		got[i].Tokens, want[i].Tokens = 0, 0
		got[i].CoachID, want[i].CoachID = "", ""
	}
	if diff := cmp.Diff(want, got, asAppended); diff != "" && len(want)+len(got) > 0 {
		session, err := m.stores.Sessions.Session(m.t.Context(), m.user, id)
		m.rt.Fatalf("%s in stage %s, %+v, %v (-want +got):\n%s", id, m.stage, session, err, diff)
	}
}
