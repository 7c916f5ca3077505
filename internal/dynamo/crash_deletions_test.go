package dynamo_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// deleteMessage deletes a message and what derives from it. The client repeats the call until it is answered.
func (sim *simulation) deleteMessage() {
	m, ok := sim.drawMessage()
	if !ok {
		return
	}
	remote := []remoteCall{
		{dynamotest.BatchGet, 3},
		{dynamotest.QueryCall, 4},
		{dynamotest.Transact, 1},
		{dynamotest.IndexCall, 0},
	}
	again, err := sim.call(clientCall{remote, true, func(ctx context.Context, p *process) error {
		return p.deletions.DeleteMessage(ctx, sim.user, m.session, sim.ids["message/"+m.content])
	}})
	if again && fault.Is(err, fault.NotFound) {
		sim.sweep() // an attempt that crashed has deleted the message, and perhaps not what was drawn from it
	}
	sim.expect("delete message", doneBefore(again, err), func(s *state) {
		s.changeSession(m.session, func(s *sessionState) {
			s.Messages = slices.DeleteFunc(s.Messages, func(line string) bool { return line == m.line })
			s.Count--
			if m.seq() <= s.Covered {
				s.Summary, s.Covered = "", 0
			}
		})
		sim.deleteMemories(s, m.session+"/"+m.content)
	})
}

// deleteSession deletes a session. Where the client gives up, the sweep ends what has begun.
func (sim *simulation) deleteSession() {
	id, exists := sim.drawSession()
	remote := []remoteCall{
		{dynamotest.BatchGet, 3},
		{dynamotest.QueryCall, 9},
		{dynamotest.Transact, 2},
		{dynamotest.BatchWrite, 0},
		{dynamotest.DeleteItem, 0},
		{dynamotest.UpdateItem, 0},
		{dynamotest.IndexCall, 0},
	}
	again, err := sim.call(clientCall{remote, sim.drawRetries(), func(ctx context.Context, p *process) error {
		return p.deletions.DeleteSession(ctx, sim.user, id)
	}})
	if sim.checkMissing("delete", exists, err) {
		return
	}
	if errors.Is(err, errGivenUp) {
		sim.sweep()
	}
	sim.expect("delete session", doneBefore(again, err), func(s *state) {
		delete(s.Sessions, id)
		sim.deleteMemories(s, id)
	})
}

// sweep ends every deletion and every erasure that has begun.
func (sim *simulation) sweep() {
	sim.clock.Advance(time.Hour)
	p, ctx := sim.process(nil)
	if _, err := p.Sweep(ctx, sweep.Deletions, p.deletions, sim.clock.Time); err != nil {
		sim.rt.Fatalf("sweep: %v", err)
	}
	sim.erasing = false
}

// endErasure ends an erasure whose call was given up: the caller comes back, or the sweep goes on.
func (sim *simulation) endErasure() {
	if rapid.Bool().Draw(sim.rt, "the caller comes back") {
		sim.erase(true)
	} else {
		sim.sweep()
	}
	if p, err := sim.reader.Erasures.Erasure(sim.t.Context(), sim.user); err != nil || !p.Done {
		sim.rt.Fatalf("the erasure is %+v, %v", p, err)
	}
	sim.check("after the end of the erasure")
}

// deleteMemories deletes from the state the memories that were extracted from a message, or from any of a session.
func (sim *simulation) deleteMemories(s *state, source string) {
	for name := range s.Records {
		from, extracted := sim.ids["source/"+name]
		if extracted && (from == source || strings.HasPrefix(from, source+"/")) {
			delete(s.Records, name)
		}
	}
}

// erasureCalls returns the remote calls of an erasure.
func erasureCalls() []remoteCall {
	return []remoteCall{
		{dynamotest.Transact, 0},
		{dynamotest.QueryCall, 19},
		{dynamotest.DeleteItem, 5},
		{dynamotest.BatchWrite, 0},
		{dynamotest.UpdateItem, 1},
		{dynamotest.IndexCall, 0},
	}
}

// erase erases the user, or goes on with an erasure. What was stored since it began stays.
func (sim *simulation) erase(retries bool) {
	_, err := sim.call(clientCall{erasureCalls(), retries, func(ctx context.Context, p *process) error {
		out, err := p.deletions.Erase(ctx, sim.user, sim.clock.Time().Add(time.Minute))
		if err == nil && !out.Done {
			return dynamotest.ErrNoAnswer // the call before holds the lease, until it expires
		}
		return err
	}})
	access, accessErr := sim.reader.Recall.Access(sim.t.Context(), sim.user)
	if accessErr != nil {
		sim.rt.Fatal(accessErr)
	}
	begun := access.Generation > sim.generation
	sim.generation = access.Generation
	if begun {
		sim.want, sim.repeats = newState(), nil
	}
	switch {
	case errors.Is(err, errGivenUp):
		sim.erasing, sim.running = sim.erasing || begun, nil
		sim.expectOneOf("erase", sim.want)
	case err != nil:
		sim.rt.Fatalf("erase: %v", err)
	default:
		sim.erasing = false
	}
}
