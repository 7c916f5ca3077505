package dynamo

import (
	"context"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
)

// The states of an idempotency record. Only those of turns are ever running, or replaced by another turn.
const (
	stateDone     = "done"
	stateRunning  = "running"
	stateReplaced = "replaced"
)

// newIdempotencyRecord returns the record of a call with an idempotency key. It says what the call wrote, by keys and
// counters, and holds no content.
func newIdempotencyRecord(user conversation.UserID, idem conversation.Idempotency, generation int64, now time.Time,
) table.Item {
	it := table.UserKey(user, table.IdempotencySK(idem)).Attributes()
	it.Set(table.AttrBodyHash, idem.BodyHash)
	it.Set(table.AttrState, stateDone)
	it.Set(table.AttrGeneration, generation)
	it.Set(table.AttrCreatedAt, now)
	it.Set(table.TTLAttribute, now.Add(conversation.IdempotencyLife).Unix())
	return it
}

// isFreeKey is the condition that no call has used the key: the record is absent, has expired, or is from
// before the user was erased.
func isFreeKey(generation int64, now time.Time) table.Condition {
	return table.NotExists().
		Or(table.IsAtMost(table.TTLAttribute, now.Unix()),
			table.IsBelow(table.AttrGeneration, generation))
}

// readIdempotencyRecord reads the record of an append to a session that is gone, because a repeat is answered even
// then. It returns a NotFound error where there is none.
func (s *MessageStore) readIdempotencyRecord(ctx context.Context, user conversation.UserID,
	idem conversation.Idempotency,
) (table.Item, error) {
	return s.db.readOne(ctx, "session", user, table.UserKey(user, table.IdempotencySK(idem)))
}

// duplicateMark follows the seq of a message that was stored before, in the record of an append that has such messages.
const duplicateMark = "="

// recordAppend adds to an idempotency record what an append wrote, and the session's counters after it.
func recordAppend(it table.Item, sessionKey table.Key, a conversation.Appended) {
	keys, seqs, duplicates := make([]string, len(a.Messages)), make([]string, len(a.Messages)), 0
	for i, m := range a.Messages {
		keys[i], seqs[i] = table.MessageSK(m.Timestamp,
			m.ID[len(m.ID)-table.ShortMillis-table.ShortRandom:]), strconv.Itoa(m.Seq)
		if m.Duplicate {
			seqs[i] += duplicateMark
			duplicates++
		}
	}
	if duplicates > 0 {
		it.SetStrings(table.AttrMessageSeqs, seqs)
	}
	it.Set(table.AttrSessionSK, sessionKey.SK)
	it.SetStrings(table.AttrMessageSKs, keys)
	maps.Copy(it, table.Encode(a.Session).Only(
		table.AttrSessionCreatedAt, table.AttrCoachID, table.AttrMode, table.AttrStatus, table.AttrMessageCount,
		table.AttrLastSeq, table.AttrVersion, table.AttrStartedAt, table.AttrLastMessageAt))
}

// replayAppend answers a repeated append with the messages that the first call stored, from the content of the repeat
// and the keys in the idempotency record, and with the session as it is now. Messages that were deleted since are in
// the answer, and stay deleted.
func (s *MessageStore) replayAppend(ctx context.Context, user conversation.UserID, in conversation.Append,
	record table.Item,
) (conversation.Appended, error) {
	session, err := s.sessionOfRecord(ctx, user, record)
	if err != nil {
		return conversation.Appended{}, err
	}
	out, then := conversation.Appended{Session: session, Replayed: true}, withCountersOf(session, record)
	keys, seqs := record.Strings(table.AttrMessageSKs), record.Strings(table.AttrMessageSeqs)
	for i, m := range in.Messages[:min(len(in.Messages), len(keys))] {
		at, short, _ := table.ParseMessageSK(keys[i])
		again := then.Message(m, then.LastSeq-len(keys)+i+1, at)
		if again.ID = table.MessageID(user, at, short); i < len(seqs) {
			seq, isDuplicate := strings.CutSuffix(seqs[i], duplicateMark)
			again.Seq, _ = strconv.Atoi(seq)
			again.Duplicate = isDuplicate
		}
		out.Messages = append(out.Messages, again)
	}
	return out, nil
}

// sessionOfRecord returns the session of an append as it is now. When the session is gone, it returns what the
// idempotency record holds of it, without title and attributes. It returns a Conflict error when the session is a later
// one of the same id: it has nothing of what the first call stored, and the repeat must not bring that back.
func (s *MessageStore) sessionOfRecord(ctx context.Context, user conversation.UserID, record table.Item,
) (conversation.Session, error) {
	session, err := s.sessions.sessionAt(ctx, user, table.UserKey(user, record.String(table.AttrSessionSK)))
	switch {
	case err == nil && session.CreatedAt.UnixMilli() != record.Int64(table.AttrSessionCreatedAt):
		return conversation.Session{}, conversation.InLaterSession()
	case err == nil:
		session.Summary = nil
		return session, nil
	case !fault.Is(err, fault.NotFound):
		return conversation.Session{}, err
	}
	gone := table.Decode[conversation.Session](record)
	gone.Context, gone.ID, _ = table.ParseSessionSK(record.String(table.AttrSessionSK))
	return gone, nil
}

// withCountersOf replaces what an idempotency record holds of a session.
func withCountersOf(s conversation.Session, record table.Item) conversation.Session {
	then := table.Decode[conversation.Session](record)
	s.Mode, s.Status, s.MessageCount, s.LastSeq = then.Mode, then.Status, then.MessageCount, then.LastSeq
	s.StartedAt, s.LastMessageAt, s.Version, s.Summary = then.StartedAt, then.LastMessageAt, then.Version, nil
	return s
}
