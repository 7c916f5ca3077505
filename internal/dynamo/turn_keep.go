package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// OpenTurn returns a turn that another call began, from its idempotency record.
func (s *TurnStore) OpenTurn(ctx context.Context, user conversation.UserID, idem conversation.Idempotency,
) (conversation.Turn, error) {
	k := key{partition(user), idempotencySK(idem)}
	records, err := s.db.readCurrent(ctx, "open turn", user, k)
	if err != nil {
		return conversation.Turn{}, err
	}
	record, ok := records.current(user, k)
	if !ok {
		return conversation.Turn{}, fault.Missing("turn")
	}
	turn := conversation.Turn{
		Idempotency: idem, Lease: record.string(attrLease), Slot: record.string(attrSlot),
		AnswerID: idOfMessage(user, record.string(attrAnswerSK)), Until: record.time(attrLeaseUntil),
	}
	if turn.Lease == releasedLease {
		turn.Lease, turn.Slot, turn.Until = "", "", time.Time{}
	}
	return s.replay(ctx, user, turn, record)
}

// keptKey is the key of the prompt that is kept of a turn. It begins with the session, which takes the prompt along
// when it is deleted.
func keptKey(user conversation.UserID, turn conversation.Turn) key {
	sk, _ := sessionSK(turn.Session.Context, turn.Session.ID)
	return key{partition(user), keptPrefix + sk + "#" + shortHash(turn.Idempotency.Scope+" "+turn.Idempotency.Key)}
}

// KeepPrompt stores a prompt while its session is there and no other is kept.
func (s *TurnStore) KeepPrompt(ctx context.Context, user conversation.UserID, turn conversation.Turn,
	p conversation.KeptPrompt,
) (conversation.KeptPrompt, error) {
	k := keptKey(user, turn)
	it := k.attributes()
	it[attrPromptID] = stringAttr(p.PromptID)
	it[attrTokens] = intAttr(p.Tokens)
	it[attrPromptData] = &types.AttributeValueMemberB{Value: p.Data}
	it[attrGeneration] = intAttr(turn.Session.Generation)
	it[TTLAttribute] = intAttr(p.Until.Unix())
	sk, _ := sessionSK(turn.Session.Context, turn.Session.ID)
	t := s.db.transaction()
	sessionPlace := t.check(key{partition(user), sk}, isIncarnation(turn.Session))
	t.put(it, isFreeKey(turn.Session.Generation, s.db.now()))
	failures, err := s.db.commit(ctx, "keep prompt", t, s.db.backoff())
	if err != nil || failures == nil {
		return p, err
	}
	if _, gone := failures.existing(sessionPlace); gone {
		return conversation.KeptPrompt{}, fault.Missing("session")
	}
	return s.KeptPrompt(ctx, user, turn)
}

// KeptPrompt reads the prompt that is kept of a turn.
func (s *TurnStore) KeptPrompt(ctx context.Context, user conversation.UserID, turn conversation.Turn,
) (conversation.KeptPrompt, error) {
	k := keptKey(user, turn)
	records, err := s.db.readCurrent(ctx, "read kept prompt", user, k)
	if err != nil {
		return conversation.KeptPrompt{}, err
	}
	it, ok := records.current(user, k)
	data, isData := it[attrPromptData].(*types.AttributeValueMemberB)
	if !ok || !isData {
		return conversation.KeptPrompt{}, fault.Missing("prompt")
	}
	return conversation.KeptPrompt{
		PromptID: it.string(attrPromptID), Tokens: int(it.int64(attrTokens)), Data: data.Value,
	}, nil
}
