package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
)

// OpenTurn returns a turn that another call began, from its idempotency record. With the error for a message that is
// gone, it returns what ReleaseTurn needs.
func (s *TurnStore) OpenTurn(ctx context.Context, user conversation.UserID, idem conversation.Idempotency,
) (conversation.Turn, error) {
	k := table.UserKey(user, table.IdempotencySK(idem))
	record, err := s.db.readOne(ctx, "turn", user, k)
	if err != nil {
		return conversation.Turn{}, err
	}
	turn := conversation.Turn{
		Idempotency: idem, Lease: record.String(table.AttrLease), Permit: record.String(table.AttrPermit),
		AnswerID: idOfMessage(user, record.String(table.AttrAnswerSK)), Until: record.Time(table.AttrLeaseUntil),
		Session: conversation.Session{Generation: record.Int64(table.AttrGeneration)},
	}
	if turn.Lease == releasedLease {
		turn.Lease, turn.Permit, turn.Until = "", "", time.Time{}
	}
	turn, err = s.replay(ctx, user, turn, record)
	turn.Replaced = record.String(table.AttrState) == stateReplaced
	return turn, err
}

// keptKey is the key of the prompt that is kept of a turn. It begins with the session, which takes the prompt along
// when it is deleted.
func keptKey(user conversation.UserID, turn conversation.Turn) table.Key {
	sk, _ := table.SessionSK(turn.Session.Context, turn.Session.ID)
	return table.UserKey(user, table.KeptPrefix+sk+"#"+table.ShortHash(turn.Idempotency.Scope+" "+turn.Idempotency.Key))
}

// KeepPrompt stores a prompt while its session is there and no other is kept.
func (s *TurnStore) KeepPrompt(ctx context.Context, user conversation.UserID, turn conversation.Turn,
	p conversation.KeptPrompt,
) (conversation.KeptPrompt, error) {
	k := keptKey(user, turn)
	it := k.Attributes()
	it.Set(table.AttrPromptID, p.PromptID)
	it.Set(table.AttrTokens, p.Tokens)
	it[table.AttrPromptData] = &types.AttributeValueMemberB{Value: p.Data}
	it.Set(table.AttrGeneration, turn.Session.Generation)
	it.Set(table.TTLAttribute, p.Until.Unix())
	t := s.db.Transaction()
	sessionPlace := t.Check(table.KeyOfSession(user, turn.Session), table.IsIncarnation(turn.Session))
	t.Put(it, isFreeKey(turn.Session.Generation, s.db.Now()))
	failures, err := s.db.Commit(ctx, "keep prompt", t, s.db.Backoff())
	if err != nil || failures == nil {
		return p, err
	}
	if _, gone := failures[sessionPlace]; gone {
		return conversation.KeptPrompt{}, fault.Missing("session")
	}
	return s.KeptPrompt(ctx, user, turn)
}

// KeptPrompt reads the prompt that is kept of a turn.
func (s *TurnStore) KeptPrompt(ctx context.Context, user conversation.UserID, turn conversation.Turn,
) (conversation.KeptPrompt, error) {
	k := keptKey(user, turn)
	it, err := s.db.readOne(ctx, "prompt", user, k)
	if err != nil {
		return conversation.KeptPrompt{}, err
	}
	data, isData := it[table.AttrPromptData].(*types.AttributeValueMemberB)
	if !isData {
		return conversation.KeptPrompt{}, fault.Missing("prompt")
	}
	return conversation.KeptPrompt{
		PromptID: it.String(table.AttrPromptID), Tokens: int(it.Int64(table.AttrTokens)), Data: data.Value,
	}, nil
}
