package dynamo_test

import (
	"context"
	"errors"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// truncate replaces the last messages of a session. With a key, the client repeats the call until it is answered. The
// sweep ends what an attempt that crashed has begun.
func (sim *simulation) truncate() {
	id, exists := sim.drawSession()
	if !exists || len(sim.want.Sessions[id].Messages) == 0 {
		return
	}
	lines := sim.want.Sessions[id].Messages
	n := rapid.IntRange(1, min(3, len(lines))).Draw(sim.rt, "truncated")
	cut, content, key := lines[len(lines)-n:], sim.newName(), sim.drawKey()
	in := conversation.Truncation{
		SessionID: id, LastN: &n, Idempotency: key,
		Replacement: []conversation.NewMessage{{Role: conversation.RoleUser, Content: content, ClientMessageID: content}},
	}
	for _, line := range cut {
		in.Expected = append(in.Expected, sim.ids["message/"+strings.SplitN(line, " ", 3)[2]])
	}
	remote := []remoteCall{
		{dynamotest.BatchGet, 3},
		{dynamotest.QueryCall, 6},
		{dynamotest.Transact, 1},
		{dynamotest.IndexCall, 0},
	}
	again, err := sim.call(clientCall{remote, key.Set(), func(ctx context.Context, p *process) error {
		out, err := p.deletions.Truncate(ctx, sim.user, in)
		for _, m := range out.Messages {
			sim.ids["message/"+m.Content] = m.ID
		}
		return err
	}})
	if again || errors.Is(err, errGivenUp) {
		sim.sweep()
	}
	sim.expect("truncate", err, func(s *state) {
		s.changeSession(id, func(s *sessionState) {
			s.Messages = slices.Clone(lines[:len(lines)-n])
			s.Count -= n
			for _, line := range cut {
				if (storedMessage{line: line}).seq() <= s.Covered {
					s.Summary, s.Covered = "", 0
				}
			}
			s.addMessage(conversation.RoleUser, content)
		})
		for _, line := range cut {
			sim.deleteMemories(s, id+"/"+strings.SplitN(line, " ", 3)[2])
		}
	})
}

// clear deletes all messages of a session, which stays. The client repeats the call until it is answered.
func (sim *simulation) clear() {
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
	_, err := sim.call(clientCall{remote, true, func(ctx context.Context, p *process) error {
		return errorOf(p.deletions.ClearSession(ctx, sim.user, id))
	}})
	if sim.checkMissing("clear", exists, err) {
		return
	}
	sim.expect("clear session", err, func(s *state) {
		s.changeSession(id, func(s *sessionState) {
			s.Messages, s.Summary, s.Count, s.LastSeq, s.Covered = nil, "", 0, 0, 0
		})
		sim.deleteMemories(s, id)
	})
}

// appendAgain appends a message with the client's own id, and repeats it without a key until it is answered.
func (sim *simulation) appendAgain() {
	id, exists := sim.drawSession()
	content := sim.newName()
	_, err := sim.call(clientCall{sessionCalls(), true, func(ctx context.Context, p *process) error {
		a, err := p.Messages.Append(ctx, sim.user, conversation.Append{SessionID: id, Messages: []conversation.NewMessage{
			{Role: conversation.RoleUser, Content: content, ClientMessageID: content},
		}})
		for _, m := range a.Messages {
			sim.ids["message/"+m.Content] = m.ID
		}
		return err
	}})
	if sim.checkMissing("append", exists, err) {
		return
	}
	if errors.Is(err, errGivenUp) || fault.Is(err, fault.Conflict) {
		sim.rt.Fatalf("append with the client's own id: %v", err)
	}
	sim.expect("append again", err, func(s *state) {
		s.changeSession(id, func(s *sessionState) { s.addMessage(conversation.RoleUser, content) })
	})
}
