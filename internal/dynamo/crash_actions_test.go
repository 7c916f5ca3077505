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
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// setUp stores two sessions with messages, and one record of each collection, while nothing fails.
func (sim *simulation) setUp() {
	ctx := sim.t.Context()
	check := func(err error) {
		if err != nil {
			sim.rt.Fatalf("set up: %v", err)
		}
	}
	for id, context := range map[string]string{"a": "coach_conversation", "b": "workout_log"} {
		_, err := sim.reader.Sessions.CreateSession(ctx, sim.user, conversation.NewSession{
			ID: id, Context: context, CoachID: "c", Title: id,
		}, noKey)
		check(err)
		sim.want.Sessions[id] = sessionState{Context: context, Title: id, Status: conversation.Active}
		in := conversation.Append{SessionID: id}
		for i := range 3 {
			in.Messages = append(in.Messages, conversation.NewMessage{
				Role: conversation.RoleUser, Content: fmt.Sprint(id, i),
			})
		}
		a, err := sim.reader.Messages.Append(ctx, sim.user, in)
		check(err)
		sim.want.changeSession(id, func(s *sessionState) {
			for _, m := range a.Messages {
				s.addMessage(m.Role, m.Content)
				sim.ids["message/"+m.Content] = m.ID
			}
		})
	}
	for _, c := range collections() {
		e := entry{name: "first", live: true, at: sim.clock.Time(), source: sim.ids["message/a0"]}
		name := c.kind + "/" + e.name
		id, err := c.create(ctx, sim.reader, sim.user, e, noKey)
		check(err)
		sim.ids[name], sim.want.Records[name] = id, e.value()
	}
	sim.ids["source/memory/first"] = "a/a0"
}

// act draws an action of the client and carries it out.
func (sim *simulation) act() {
	actions := []func(*simulation){
		(*simulation).createSession, (*simulation).createSession, (*simulation).updateSession,
		(*simulation).append, (*simulation).append, (*simulation).turn,
		(*simulation).createRecord, (*simulation).createRecord, (*simulation).updateRecord,
		(*simulation).updateRecord, (*simulation).deleteRecord, (*simulation).putSingleton, (*simulation).deleteCoach,
		(*simulation).putDocument, (*simulation).putDocument, (*simulation).deleteDocument,
		(*simulation).saveSummary, (*simulation).deleteMessage, (*simulation).deleteMessage,
		(*simulation).truncate, (*simulation).truncate, (*simulation).clear, (*simulation).appendAgain,
		(*simulation).deleteSession, (*simulation).deleteSession, (*simulation).repeat, (*simulation).repeat,
		func(sim *simulation) { sim.erase(sim.drawRetries()) },
	}
	actions[rapid.IntRange(0, len(actions)-1).Draw(sim.rt, "action")](sim)
}

// newName returns a name that no other action uses. All names of one action are the same.
func (sim *simulation) newName() string { return fmt.Sprint("n", sim.actions) }

func (sim *simulation) drawRetries() bool { return rapid.Bool().Draw(sim.rt, "retries") }

// drawKey draws the idempotency key of a call, or none. A call without a key can't be repeated: that is another call.
func (sim *simulation) drawKey() conversation.Idempotency {
	if !rapid.Bool().Draw(sim.rt, "has a key") {
		return noKey
	}
	return conversation.Idempotency{Scope: "s", Key: sim.newName(), BodyHash: "h"}
}

// drawSession draws the id of a session, which may not exist.
func (sim *simulation) drawSession() (id string, exists bool) {
	id = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(sim.rt, "session")
	_, exists = sim.want.Sessions[id]
	return id, exists
}

// storedMessage is a message that a session has. line is its line in the state.
type storedMessage struct{ session, line, content string }

func (m storedMessage) seq() (n int) {
	_, _ = fmt.Sscan(m.line, &n)
	return n
}

// drawMessage draws a message of any session. ok is false where there is none.
func (sim *simulation) drawMessage() (m storedMessage, ok bool) {
	var all []storedMessage
	for _, id := range slices.Sorted(maps.Keys(sim.want.Sessions)) {
		for _, line := range sim.want.Sessions[id].Messages {
			all = append(all, storedMessage{id, line, strings.SplitN(line, " ", 3)[2]})
		}
	}
	if len(all) == 0 {
		return storedMessage{}, false
	}
	return rapid.SampledFrom(all).Draw(sim.rt, "message"), true
}

// checkMissing reports whether a session does not exist, and checks that the call on it was rejected then.
func (sim *simulation) checkMissing(action string, exists bool, err error) bool {
	if exists {
		return false
	}
	if !fault.Is(err, fault.NotFound) && !errors.Is(err, errGivenUp) {
		sim.rt.Fatalf("%s of a session that does not exist: %v", action, err)
	}
	return true
}

// sessionCalls returns the remote calls of a write to a session.
func sessionCalls() []remoteCall {
	return []remoteCall{{dynamotest.Transact, 0}, {dynamotest.Transact, 1}, {dynamotest.BatchGet, 0}}
}

// saveRepeat saves a call with a key that was acknowledged. A repeat of it changes nothing.
func (sim *simulation) saveRepeat(key conversation.Idempotency, err error, do func(context.Context, *process) error) {
	if key.Set() && err == nil {
		sim.repeats = append(sim.repeats, do)
	}
}

func (sim *simulation) createSession() {
	id, exists := sim.drawSession()
	key := sim.drawKey()
	in := conversation.NewSession{ID: id, CoachID: "c", Title: sim.newName()}
	in.Context = rapid.SampledFrom([]string{"coach_conversation", "workout_log"}).Draw(sim.rt, "context")
	do := func(ctx context.Context, p *process) error {
		return errorOf(p.Sessions.CreateSession(ctx, sim.user, in, key))
	}
	_, err := sim.call(clientCall{sessionCalls(), key.Set(), do})
	if exists {
		if !fault.Is(err, fault.Conflict) && !errors.Is(err, errGivenUp) {
			sim.rt.Fatalf("create a session that exists: %v", err)
		}
		return
	}
	sim.saveRepeat(key, err, do)
	sim.expect("create session", err, func(s *state) {
		s.Sessions[id] = sessionState{Context: in.Context, Title: in.Title, Status: conversation.Active}
	})
}

func (sim *simulation) updateSession() {
	id, exists := sim.drawSession()
	statuses := []conversation.Status{conversation.Active, conversation.Completed}
	title, status := sim.newName(), rapid.SampledFrom(statuses).Draw(sim.rt, "status")
	_, err := sim.call(clientCall{sessionCalls(), sim.drawRetries(), func(ctx context.Context, p *process) error {
		return errorOf(p.Sessions.UpdateSession(ctx, sim.user, id, conversation.SessionChange{
			Title: &title, Status: &status, Attributes: map[string]any{"k": title},
		}))
	}})
	if sim.checkMissing("update", exists, err) {
		return
	}
	sim.expect("update session", err, func(s *state) {
		s.changeSession(id, func(s *sessionState) { s.Title, s.Status, s.Attribute = title, status, title })
	})
}

func (sim *simulation) append() {
	id, exists := sim.drawSession()
	key := sim.drawKey()
	in := conversation.Append{SessionID: id, Idempotency: key}
	for i := range rapid.IntRange(1, 3).Draw(sim.rt, "messages") {
		content := fmt.Sprint(sim.newName(), ".", i)
		in.Messages = append(in.Messages, conversation.NewMessage{Role: conversation.RoleUser, Content: content})
	}
	do := func(ctx context.Context, p *process) error {
		a, err := p.Messages.Append(ctx, sim.user, in)
		for _, m := range a.Messages {
			sim.ids["message/"+m.Content] = m.ID
		}
		return err
	}
	_, err := sim.call(clientCall{sessionCalls(), key.Set(), do})
	if sim.checkMissing("append", exists, err) {
		return
	}
	sim.saveRepeat(key, err, do)
	sim.expect("append", err, func(s *state) {
		s.changeSession(id, func(s *sessionState) {
			for _, m := range in.Messages {
				s.addMessage(m.Role, m.Content)
			}
		})
	})
}

// turn begins a turn, may renew its lease, and finishes it. A repeat begins again with the same key.
func (sim *simulation) turn() {
	id, exists := sim.drawSession()
	question := sim.newName()
	in := conversation.Append{
		SessionID:   id,
		Messages:    []conversation.NewMessage{{Role: conversation.RoleUser, Content: question}},
		Idempotency: conversation.Idempotency{Scope: "chat", Key: question, BodyHash: "h"},
	}
	renew, attempts, answer := rapid.Bool().Draw(sim.rt, "renew"), 0, ""
	remote := append(sessionCalls(), remoteCall{dynamotest.UpdateItem, 2})
	_, err := sim.call(clientCall{remote, sim.drawRetries(), func(ctx context.Context, p *process) error {
		attempts++
		turn, err := p.Turns.BeginTurn(ctx, sim.user, in, time.Minute)
		if err != nil {
			return err
		}
		sim.ids["message/"+turn.Message.Content] = turn.Message.ID
		if turn.Answer == nil {
			if renew {
				if err := p.Turns.RenewTurn(ctx, sim.user, turn, time.Minute); err != nil {
					return err
				}
			}
			said, err := p.Turns.FinishTurn(ctx, sim.user, turn, conversation.NewMessage{
				Role: conversation.RoleAssistant, Content: fmt.Sprint(question, ", answer ", attempts),
			})
			if err != nil {
				return err
			}
			turn.Answer = &said
		}
		answer = turn.Answer.Content
		sim.ids["message/"+answer] = turn.Answer.ID
		return nil
	}})
	if sim.checkMissing("turn", exists, err) {
		return
	}
	if answer == "" {
		answer = fmt.Sprint(question, ", answer 1")
	}
	asked, answered := sim.want.clone(), sim.want.clone()
	asked.changeSession(id, func(s *sessionState) { s.addMessage(conversation.RoleUser, question) })
	answered.changeSession(id, func(s *sessionState) {
		s.addMessage(conversation.RoleUser, question)
		s.addMessage(conversation.RoleAssistant, answer)
	})
	switch {
	case errors.Is(err, errGivenUp):
		sim.expectOneOf("turn", sim.want, asked, answered)
	case err != nil:
		sim.rt.Fatalf("turn: %v", err)
	default:
		sim.want = answered
	}
}

// saveSummary saves a summary of all messages that a session has.
func (sim *simulation) saveSummary() {
	id, exists := sim.drawSession()
	if !exists {
		return
	}
	session, err := sim.reader.Sessions.Session(sim.t.Context(), sim.user, id)
	check.OK(sim.rt, err)
	sum := summaryOf(session, session.LastSeq)
	sum.Text = sim.newName()
	if session.MessageCount == 0 || !sum.Replaces(session) {
		return
	}
	remote := []remoteCall{{dynamotest.Transact, 1}}
	again, err := sim.call(clientCall{remote, sim.drawRetries(), func(ctx context.Context, p *process) error {
		return p.Summaries.SaveSummary(ctx, sim.user, session, sum)
	}})
	if again && fault.Is(err, fault.Conflict) {
		err = nil
	}
	sim.expect("save summary", err, func(s *state) {
		s.changeSession(id, func(s *sessionState) { s.Summary, s.Covered = sum.Text, s.LastSeq })
	})
}

// repeat repeats an acknowledged call with its key. Nothing changes, not even where its result was deleted since.
func (sim *simulation) repeat() {
	if len(sim.repeats) == 0 {
		return
	}
	do := rapid.SampledFrom(sim.repeats).Draw(sim.rt, "repeat")
	_, err := sim.call(clientCall{recordCalls(), sim.drawRetries(), do})
	gone := fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) // a conflict where the session is a later one
	if err != nil && !errors.Is(err, errGivenUp) && !gone {
		sim.rt.Fatalf("repeat: %v", err)
	}
}
