package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// furnish gives the user something to begin with, while nothing fails.
func (w *world) furnish() {
	ctx, none := w.t.Context(), noKey
	check := func(err error) {
		if err != nil {
			w.rt.Fatalf("furnish: %v", err)
		}
	}
	for id, context := range map[string]string{"a": "coach_conversation", "b": "workout_log"} {
		_, err := w.plain.Sessions.CreateSession(ctx, w.user, conversation.NewSession{ID: id, Context: context, CoachID: "c", Title: id}, none)
		check(err)
		w.want.Sessions[id] = sessionView{Context: context, Title: id, Status: conversation.Active}
		in := conversation.Append{SessionID: id}
		for i := range 3 {
			in.Messages = append(in.Messages, conversation.NewMessage{Role: conversation.User, Content: fmt.Sprint(id, i)})
		}
		a, err := w.plain.Messages.Append(ctx, w.user, in)
		check(err)
		w.want.with(id, func(s *sessionView) {
			for _, m := range a.Messages {
				s.say(m.Role, m.Content)
				w.ids["message/"+m.Content] = m.ID
			}
		})
	}
	for _, s := range shelves() {
		e := entry{name: "first", live: true, at: w.clock.time(), source: w.ids["message/a0"]}
		full := s.kind + "/" + e.name
		id, err := s.create(ctx, w.plain, w.user, e, none)
		check(err)
		w.ids[full], w.want.Records[full] = id, e.value()
	}
	w.ids["source/memory/first"] = "a/a0"
}

// step does one thing that a client may do.
func (w *world) step() {
	steps := []func(*world){
		(*world).createSession, (*world).createSession, (*world).patch, (*world).append, (*world).append, (*world).turn,
		(*world).createRecord, (*world).createRecord, (*world).changeRecord, (*world).removeRecord, (*world).put,
		(*world).removeCoach, (*world).summarize, (*world).deleteMessage, (*world).deleteMessage, (*world).deleteSession,
		(*world).deleteSession, (*world).changeRecord, (*world).repeat, (*world).repeat,
		func(w *world) { w.erase(w.patient()) },
	}
	steps[rapid.IntRange(0, len(steps)-1).Draw(w.rt, "step")](w)
}

// name is a name that no other step gives.
func (w *world) name() string { return fmt.Sprint("n", w.steps) }

func (w *world) patient() bool { return rapid.Bool().Draw(w.rt, "patient") }

// key draws whether a call has an idempotency key. Without one it is not repeated: it would be another call.
func (w *world) key() conversation.Idempotency {
	if !rapid.Bool().Draw(w.rt, "keyed") {
		return noKey
	}
	return conversation.Idempotency{Scope: "s", Key: w.name(), BodyHash: "h"}
}

// session draws a session, which may be missing.
func (w *world) session() (id string, there bool) {
	id = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(w.rt, "session")
	_, there = w.want.Sessions[id]
	return id, there
}

// missing checks the answer to a call on what is not there, and reports whether that was the answer.
func (w *world) missing(what string, there bool, err error) bool {
	if there {
		return false
	}
	if !fault.Is(err, fault.NotFound) && !errors.Is(err, errGivenUp) {
		w.rt.Fatalf("%s of what is not there: %v", what, err)
	}
	return true
}

// keep notes a keyed call that was acknowledged: a repeat of it changes nothing.
func (w *world) keep(idem conversation.Idempotency, err error, do func(context.Context, *process) error) {
	if idem.Set() && err == nil {
		w.repeats = append(w.repeats, do)
	}
}

func (w *world) createSession() {
	id, there := w.session()
	idem := w.key()
	in := conversation.NewSession{ID: id, CoachID: "c", Title: w.name(), Context: rapid.SampledFrom([]string{"coach_conversation", "workout_log"}).Draw(w.rt, "context")}
	do := func(ctx context.Context, p *process) error {
		return second(p.Sessions.CreateSession(ctx, w.user, in, idem))
	}
	_, err := w.make(call{2, idem.Set(), do})
	if there {
		if !fault.Is(err, fault.Conflict) && !errors.Is(err, errGivenUp) {
			w.rt.Fatalf("create a session that is there: %v", err)
		}
		return
	}
	w.keep(idem, err, do)
	w.acknowledged("create session", err, func(v *view) {
		v.Sessions[id] = sessionView{Context: in.Context, Title: in.Title, Status: conversation.Active}
	})
}

func (w *world) patch() {
	id, there := w.session()
	title, status := w.name(), rapid.SampledFrom([]conversation.Status{conversation.Active, conversation.Completed}).Draw(w.rt, "status")
	_, err := w.make(call{3, w.patient(), func(ctx context.Context, p *process) error {
		return second(p.Sessions.UpdateSession(ctx, w.user, id, conversation.SessionChange{
			Title: &title, Status: &status, Attributes: map[string]any{"k": title},
		}))
	}})
	if w.missing("change", there, err) {
		return
	}
	w.acknowledged("change session", err, func(v *view) {
		v.with(id, func(s *sessionView) { s.Title, s.Status, s.Attribute = title, status, title })
	})
}

func (w *world) append() {
	id, there := w.session()
	idem := w.key()
	in := conversation.Append{SessionID: id, Idempotency: idem}
	for i := range rapid.IntRange(1, 3).Draw(w.rt, "messages") {
		in.Messages = append(in.Messages, conversation.NewMessage{Role: conversation.User, Content: fmt.Sprint(w.name(), ".", i)})
	}
	do := func(ctx context.Context, p *process) error {
		a, err := p.Messages.Append(ctx, w.user, in)
		for _, m := range a.Messages {
			w.ids["message/"+m.Content] = m.ID
		}
		return err
	}
	_, err := w.make(call{4, idem.Set(), do})
	if w.missing("append to", there, err) {
		return
	}
	w.keep(idem, err, do)
	w.acknowledged("append", err, func(v *view) {
		v.with(id, func(s *sessionView) {
			for _, m := range in.Messages {
				s.say(m.Role, m.Content)
			}
		})
	})
}

// turn begins a turn, may renew its lease, and finishes it; a repeat begins again with the same key.
func (w *world) turn() {
	id, there := w.session()
	in := conversation.Append{
		SessionID:   id,
		Messages:    []conversation.NewMessage{{Role: conversation.User, Content: w.name()}},
		Idempotency: conversation.Idempotency{Scope: "chat", Key: w.name(), BodyHash: "h"},
	}
	renew, tried, answer := rapid.Bool().Draw(w.rt, "renew"), 0, ""
	_, err := w.make(call{6, w.patient(), func(ctx context.Context, p *process) error {
		tried++
		turn, err := p.Turns.BeginTurn(ctx, w.user, in, time.Minute)
		if err != nil {
			return err
		}
		w.ids["message/"+turn.Message.Content] = turn.Message.ID
		if turn.Answer == nil {
			if renew {
				if err := p.Turns.RenewTurn(ctx, w.user, turn, time.Minute); err != nil {
					return err
				}
			}
			m := conversation.NewMessage{Role: conversation.Assistant, Content: fmt.Sprint(w.name(), ", answer ", tried)}
			said, err := p.Turns.FinishTurn(ctx, w.user, turn, m)
			if err != nil {
				return err
			}
			turn.Answer = &said
		}
		answer = turn.Answer.Content
		w.ids["message/"+answer] = turn.Answer.ID
		return nil
	}})
	if w.missing("turn in", there, err) {
		return
	}
	asked, answered := w.want.clone(), w.want.clone()
	asked.with(id, func(s *sessionView) { s.say(conversation.User, w.name()) })
	answered.with(id, func(s *sessionView) {
		s.say(conversation.User, w.name())
		if answer == "" {
			answer = fmt.Sprint(w.name(), ", answer 1")
		}
		s.say(conversation.Assistant, answer)
	})
	switch {
	case errors.Is(err, errGivenUp):
		w.settle("turn", w.want, asked, answered)
	case err != nil:
		w.rt.Fatalf("turn: %v", err)
	default:
		w.want = answered
	}
}

// summarize saves what a model made of a session as it stands.
func (w *world) summarize() {
	id, there := w.session()
	if !there {
		return
	}
	session, err := w.plain.Sessions.Session(w.t.Context(), w.user, id)
	if err != nil {
		w.rt.Fatal(err)
	}
	sum := summaryOf(session, session.LastSeq)
	sum.Text = w.name()
	if session.MessageCount == 0 || !sum.Replaces(session) {
		return
	}
	again, err := w.make(call{2, w.patient(), func(ctx context.Context, p *process) error {
		return p.Summaries.SaveSummary(ctx, w.user, session, sum)
	}})
	if again && fault.Is(err, fault.Conflict) {
		err = nil
	}
	w.acknowledged("save summary", err, func(v *view) { v.with(id, func(s *sessionView) { s.Summary, s.Covered = sum.Text, s.LastSeq }) })
}

// told is a message that is there.
type told struct{ session, line, text string }

func (m told) seq() (n int) {
	_, _ = fmt.Sscan(m.line, &n)
	return n
}

// message draws a message; ok is false where there is none.
func (w *world) message() (told, bool) {
	var all []told
	for _, id := range slices.Sorted(maps.Keys(w.want.Sessions)) {
		for _, line := range w.want.Sessions[id].Messages {
			all = append(all, told{id, line, strings.SplitN(line, " ", 3)[2]})
		}
	}
	if len(all) == 0 {
		return told{}, false
	}
	return rapid.SampledFrom(all).Draw(w.rt, "message"), true
}
