package summary_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/dynamotest"
	"github.com/throughline/throughline/internal/testing/vectortest"
)

// editor edits the session s of a fake, and keeps the changes of its record that the stream's filter lets pass.
type editor struct {
	*fake
	last   conversation.Session
	passed []conversation.Change
}

func newEditor(t *testing.T) *editor {
	e := &editor{fake: newFake(t)}
	table := dynamotest.Table(t)
	plain := dynamotest.Open(t, table)
	e.stores = dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: func(op string, run func() error) error {
		err := run()
		if op == dynamotest.Transact || op == dynamotest.UpdateItem {
			if now, failed := plain.Sessions.Session(ctx, "ann", "s"); failed == nil {
				e.note(now)
			}
		}
		return err
	}})
	return e
}

// note is what the filter of the template passes: a completion, a leave where no time of one was there, and what falls
// due.
func (e *editor) note(now conversation.Session) {
	before := e.last
	e.last = now
	completes := now.Status == conversation.Completed && before.Status != conversation.Completed
	leaves := before.LeftAt.IsZero() && !now.LeftAt.IsZero()
	fallsDue := before.DueAt.IsZero() && !now.DueAt.IsZero()
	if completes || leaves || fallsDue {
		e.passed = append(e.passed, conversation.Change{User: "ann", Before: &before, After: &now})
	}
}

// consume hands on what has passed.
func (e *editor) consume(t *testing.T) {
	t.Helper()
	passed := e.passed
	e.passed = nil
	consume(t, e.service(), passed...)
}

// work is what is done once the session is triggered: its messages are indexed, too.
func (e *editor) work(t *testing.T) {
	t.Helper()
	e.consume(t)
	_ = e.Repair(ctx, "ann", e.session("s"))
}

// check checks that the session's summary is of what it holds, and that the user's messages are read.
func (e *editor) check(t *testing.T, after string) {
	t.Helper()
	got := e.session("s")
	if got.Summarized.Seq != got.LastSeq || got.NeedsExtraction() || (got.Summary == nil) != (got.MessageCount == 0) {
		t.Errorf("%s: summarised through %d, read through %d of %d, summary %v of %d messages", after, got.Summarized.Seq,
			got.Extracted.Seq, got.LastSeq, got.Summary != nil, got.MessageCount)
	}
}

func (e *editor) append(t *testing.T, role conversation.Role) {
	t.Helper()
	done(e.stores.Messages.Append(t.Context(), "ann", conversation.Append{
		SessionID: "s", Messages: []conversation.NewMessage{{Role: role, Content: "said"}},
	}))
}

// truncate deletes the last n messages and says others in their place.
func (e *editor) truncate(t *testing.T, n int, roles ...conversation.Role) {
	t.Helper()
	in := conversation.Truncation{SessionID: "s", LastN: &n}
	for _, role := range roles {
		in.Replacement = append(in.Replacement, conversation.NewMessage{Role: role, Content: "replaced"})
	}
	if _, err := e.stores.Erasure(vectortest.NewIndexes(), time.Now).Truncate(ctx, "ann", in); err != nil {
		t.Error(err)
	}
}

func (e *editor) delete(t *testing.T, n int) {
	t.Helper()
	if m := e.messages("s"); n < len(m) {
		if err := e.stores.Erasure(vectortest.NewIndexes(), time.Now).DeleteMessage(ctx, "ann", "s", m[n].ID); err != nil {
			t.Error(err)
		}
	}
}

func (e *editor) clear(t *testing.T) {
	t.Helper()
	done(e.stores.Erasure(vectortest.NewIndexes(), time.Now).ClearSession(ctx, "ann", "s"))
}

// edits are the ways in which the messages of a session change.
func edits() map[string]func(*testing.T, *editor) {
	user, assistant := conversation.RoleUser, conversation.RoleAssistant
	return map[string]func(*testing.T, *editor){
		"append":             func(t *testing.T, e *editor) { e.append(t, user) },
		"an answer":          func(t *testing.T, e *editor) { e.append(t, assistant) },
		"replace all":        func(t *testing.T, e *editor) { e.truncate(t, 80, user, assistant) },
		"replace the last":   func(t *testing.T, e *editor) { e.truncate(t, 1, user) },
		"another answer":     func(t *testing.T, e *editor) { e.truncate(t, 1, assistant) },
		"cut":                func(t *testing.T, e *editor) { e.truncate(t, 1) },
		"delete the first":   func(t *testing.T, e *editor) { e.delete(t, 0) },
		"delete the second":  func(t *testing.T, e *editor) { e.delete(t, 1) },
		"clear":              func(t *testing.T, e *editor) { e.clear(t) },
		"clear and go on":    func(t *testing.T, e *editor) { e.clear(t); e.append(t, user) },
		"leave":              func(_ *testing.T, e *editor) { e.leave("s") },
		"leave and the work": func(t *testing.T, e *editor) { e.leave("s"); e.work(t) },
	}
}

// TestAnEditLeavesASessionDue edits a session that was left and summarised, once in each way and in random sequences.
// What has no summary is due, and leaving brings the summary and the memories at once.
func TestAnEditLeavesASessionDue(t *testing.T) {
	t.Parallel()
	all := edits()
	names := make([]string, 0, len(all))
	sequences := [][]string{}
	for name := range all {
		names = append(names, name)
		sequences = append(sequences, []string{name})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		sequence := make([]string, 2+random.IntN(4))
		for i := range sequence {
			sequence[i] = names[random.IntN(len(names))]
		}
		sequences = append(sequences, sequence)
	}
	e := newEditor(t)
	e.create("s", "program_designer", nil)
	for _, sequence := range sequences {
		e.clear(t)
		e.append(t, conversation.RoleUser)
		e.append(t, conversation.RoleAssistant)
		e.append(t, conversation.RoleUser)
		e.append(t, conversation.RoleAssistant)
		e.leave("s")
		e.work(t)
		for _, name := range sequence {
			all[name](t, e)
			if got := e.session("s"); got.DueAt.IsZero() && got.Uncovered() && got.MessageCount > 0 {
				t.Errorf("%q: after %q something is left and the session is not due", sequence, name)
			}
		}
		e.leave("s")
		e.work(t)
		e.check(t, fmt.Sprintf("%q", sequence))
	}
}
