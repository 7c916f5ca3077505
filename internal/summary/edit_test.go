package summary_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// editor edits the session s of a fake, and keeps the changes of its record that the stream's filter lets pass.
type editor struct {
	*fake
	last   conversation.Session
	passed []conversation.Change
	texts  int
	turns  int
}

func newEditor(t *testing.T) *editor {
	e := &editor{fake: newFake(t)}
	table := dynamotest.Table(t)
	plain := dynamotest.Open(t, table)
	e.stores = dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: func(op string, run func() error) error {
		err := run()
		if op == dynamotest.Transact || op == dynamotest.UpdateItem {
			now, failed := plain.Sessions.Session(ctx, "ann", "s")
			if failed == nil || fault.Is(failed, fault.NotFound) {
				e.note(now)
			}
		}
		return err
	}})
	e.stores.Due = dueStore{e.stores.Due, e.fake}
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

// sweepLater sweeps when the session has been idle. The stream has lost all that passed.
func (e *editor) sweepLater(t *testing.T) {
	t.Helper()
	e.passed = nil
	later := func() time.Time { return time.Now().Add(time.Hour) }
	service := e.service()
	service.Now = later
	if _, err := e.stores.Sweep(ctx, sweep.Sessions, service, later); err != nil {
		t.Error(err)
	}
}

var unique = regexp.MustCompile(`text[0-9]+x`)

// check checks that the session's summary is of what it holds, and that the user's messages are read.
func (e *editor) check(t *testing.T, after string) {
	t.Helper()
	got := e.session("s")
	var want, told []string
	for _, m := range e.messages("s") {
		if !m.Forgotten {
			want = append(want, unique.FindAllString(m.Content, -1)...)
		}
	}
	if got.Summary != nil {
		told = unique.FindAllString(got.Summary.Text, -1)
		slices.SortFunc(told, func(a, b string) int { return slices.Index(want, a) - slices.Index(want, b) })
		told = slices.Compact(told)
	}
	if got.Summarized.Seq != got.LastSeq || got.NeedsExtraction() || !slices.Equal(want, told) {
		t.Errorf("%s: summarised through %d, read through %d of %d, the summary has %v of %v", after, got.Summarized.Seq,
			got.Extracted.Seq, got.LastSeq, told, want)
	}
}

// said is a message that no other one is like.
func (e *editor) said(role conversation.Role) conversation.NewMessage {
	e.texts++
	return conversation.NewMessage{Role: role, Content: fmt.Sprintf("text%dx", e.texts)}
}

func (e *editor) append(roles ...conversation.Role) {
	for _, role := range roles {
		done(e.stores.Messages.Append(ctx, "ann", conversation.Append{
			SessionID: "s", Messages: []conversation.NewMessage{e.said(role)},
		}))
	}
}

// importOld appends messages of another app with their times, of one day before those that are there: of two days a
// trigger summarises the first only.
func (e *editor) importOld(roles ...conversation.Role) {
	in := conversation.Append{SessionID: "s"}
	const day = 24 * time.Hour
	noon := time.Now().Truncate(day).Add(-9*day + day/2)
	for i, role := range roles {
		m := e.said(role)
		m.Timestamp = noon.Add(time.Duration(i) * time.Minute)
		in.Messages = append(in.Messages, m)
	}
	done(e.stores.Messages.Append(ctx, "ann", in))
}

// turn has a turn of the chat, which may replace another one. Without a message the last one is answered again, if
// there is one.
func (e *editor) turn(t *testing.T, replaces *conversation.Replaces, messages ...conversation.NewMessage) {
	t.Helper()
	e.turns++
	key := fmt.Sprint("k", e.turns)
	begun, err := e.stores.Turns.BeginTurn(ctx, "ann", conversation.Append{
		SessionID: "s", Messages: messages, Replaces: replaces,
		Idempotency: conversation.Idempotency{Scope: "chat", Key: key, BodyHash: key},
	}, time.Minute)
	if replaces != nil && fault.Is(err, fault.Conflict) {
		return // there is nothing to replace
	}
	if err == nil {
		_, err = e.stores.Turns.FinishTurn(ctx, "ann", begun, e.said(conversation.RoleAssistant))
	}
	if err != nil {
		t.Error(err)
	}
}

// regenerate has the last message of the session answered again.
func (e *editor) regenerate(t *testing.T) {
	if m := e.messages("s"); len(m) > 0 {
		e.turn(t, &conversation.Replaces{MessageID: m[len(m)-1].ID})
	}
}

// truncate deletes the last n messages and says others in their place.
func (e *editor) truncate(t *testing.T, n int, roles ...conversation.Role) {
	t.Helper()
	in := conversation.Truncation{SessionID: "s", LastN: &n}
	for _, role := range roles {
		in.Replacement = append(in.Replacement, e.said(role))
	}
	if _, err := e.erasure().Truncate(ctx, "ann", in); err != nil {
		t.Error(err)
	}
}

func (e *editor) erasure() *erasure.Service {
	return e.stores.Erasure(dynamotest.NoIndex{}, time.Now)
}

// pick calls with the message of a place, if there is one.
func (e *editor) pick(t *testing.T, n int, with func(id string) error) {
	t.Helper()
	if m := e.messages("s"); n < len(m) {
		if err := with(m[n].ID); err != nil {
			t.Error(err)
		}
	}
}

func (e *editor) delete(t *testing.T, n int) {
	e.pick(t, n, func(id string) error { return e.erasure().DeleteMessage(ctx, "ann", "s", id) })
}

func (e *editor) forget(t *testing.T, n int) {
	e.pick(t, n, func(id string) error {
		_, err := e.erasure().ForgetMessages(ctx, "ann", erasure.Forgetting{MessageIDs: []string{id}})
		return err
	})
}

func (e *editor) clear() { done(e.erasure().ClearSession(ctx, "ann", "s")) }

// anew deletes the session and makes another one of its id.
func (e *editor) anew(t *testing.T) {
	t.Helper()
	if err := e.erasure().DeleteSession(ctx, "ann", "s"); err != nil {
		t.Error(err)
	}
	e.create("s", "program_designer", nil)
}

// edits are the ways in which the messages of a session change.
func edits() map[string]func(*testing.T, *editor) {
	user, assistant := conversation.RoleUser, conversation.RoleAssistant
	first := 0
	return map[string]func(*testing.T, *editor){
		"append":       func(_ *testing.T, e *editor) { e.append(user) },
		"an answer":    func(_ *testing.T, e *editor) { e.append(assistant) },
		"an import":    func(_ *testing.T, e *editor) { e.importOld(user, assistant) },
		"a turn":       func(t *testing.T, e *editor) { e.turn(t, nil, e.said(user)) },
		"answer again": func(t *testing.T, e *editor) { e.regenerate(t) },
		"edit a turn": func(t *testing.T, e *editor) {
			e.turn(t, &conversation.Replaces{AfterSeq: &first}, e.said(user))
		},
		"replace all":        func(t *testing.T, e *editor) { e.truncate(t, 80, user, assistant) },
		"replace the last":   func(t *testing.T, e *editor) { e.truncate(t, 1, user) },
		"another answer":     func(t *testing.T, e *editor) { e.truncate(t, 1, assistant) },
		"cut":                func(t *testing.T, e *editor) { e.truncate(t, 1) },
		"delete the first":   func(t *testing.T, e *editor) { e.delete(t, 0) },
		"delete the second":  func(t *testing.T, e *editor) { e.delete(t, 1) },
		"forget the first":   func(t *testing.T, e *editor) { e.forget(t, 0) },
		"clear":              func(_ *testing.T, e *editor) { e.clear() },
		"clear and go on":    func(_ *testing.T, e *editor) { e.clear(); e.append(user) },
		"delete it":          func(t *testing.T, e *editor) { e.anew(t) },
		"delete and go on":   func(t *testing.T, e *editor) { e.anew(t); e.append(user, assistant) },
		"complete":           func(_ *testing.T, e *editor) { e.complete("s") },
		"complete, the work": func(t *testing.T, e *editor) { e.complete("s"); e.work(t) },
		"leave":              func(_ *testing.T, e *editor) { e.leave("s") },
		"leave and the work": func(t *testing.T, e *editor) { e.leave("s"); e.work(t) },
		"the sweep":          func(t *testing.T, e *editor) { e.sweepLater(t) },
	}
}

// TestAnEditLeavesASessionDue edits a session that was left and summarised, once in each way and in random sequences.
// What has no summary is due, and leaving, or the sweep when the stream loses everything, brings the summary and the
// memories, of exactly what is there then.
func TestAnEditLeavesASessionDue(t *testing.T) {
	t.Parallel()
	all := edits()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	sequences := [][]string{}
	for _, name := range names {
		sequences = append(sequences, []string{name})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		sequence := make([]string, 2+random.IntN(4))
		for i := range sequence {
			sequence[i] = names[random.IntN(len(names))]
		}
		sequences = append(sequences, sequence)
	}
	e := newEditor(t)
	e.create("s", "program_designer", nil)
	for i, sequence := range sequences {
		e.anew(t)
		e.append(conversation.RoleUser, conversation.RoleAssistant, conversation.RoleUser, conversation.RoleAssistant)
		e.leave("s")
		e.work(t)
		for _, name := range sequence {
			before := e.session("s")
			all[name](t, e)
			got := e.session("s")
			if got.DueAt.IsZero() && got.Uncovered() && got.MessageCount > 0 {
				t.Errorf("%q: after %q something is left and the session is not due", sequence, name)
			}
			lost := got.IsSame(before) && before.Summary != nil && got.Summary == nil && got.Summarized.Seq < got.LastSeq
			if lost && got.DueAt.After(time.Now()) {
				t.Errorf("%q: %q takes the summary away, and the session is due in %v", sequence, name, time.Until(got.DueAt))
			}
			isOver := !got.LeftAt.IsZero() || got.Status != conversation.Active && got.UserSeq > before.UserSeq
			if said := got.LastSeq > before.LastSeq && got.IsSame(before); said && isOver && name != "an import" {
				t.Errorf("%q: after %q the session is %s, and was left at %v", sequence, name, got.Status, got.LeftAt)
			}
		}
		if len(sequence) == 1 || i%2 == 0 {
			e.leave("s")
			e.work(t)
			e.check(t, fmt.Sprintf("%q, left", sequence))
		} else {
			e.sweepLater(t)
			e.check(t, fmt.Sprintf("%q, swept", sequence))
		}
	}
}
