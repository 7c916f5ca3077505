package dynamo

import (
	"context"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// idempotencyLife is how long a repeat with the same key is recognised.
const idempotencyLife = 24 * time.Hour

// The states of an idempotency record. Only those of chat turns are ever running.
const (
	stateDone    = "done"
	stateRunning = "running"
)

// newIdempotencyRecord returns the record of a call with an idempotency key. It says what the call wrote, by keys and
// counters, and holds no content.
func newIdempotencyRecord(user conversation.UserID, idem conversation.Idempotency, generation int64, now time.Time,
) item {
	it := key{partition(user), idempotencySK(idem)}.attributes()
	it[attrBodyHash] = stringAttr(idem.BodyHash)
	it[attrState] = stringAttr(stateDone)
	it[attrGeneration] = intAttr(generation)
	it[attrCreatedAt] = timeAttr(now)
	it[TTLAttribute] = intAttr(now.Add(idempotencyLife).Unix())
	return it
}

// isFreeKey is the condition that no call has used the key: the record is absent, has expired, or is from
// before the user was erased.
func isFreeKey(generation int64, now time.Time) expression.ConditionBuilder {
	return notExists().
		Or(field(TTLAttribute).LessThanEqual(value(intAttr(now.Unix()))),
			field(attrGeneration).LessThan(value(intAttr(generation))))
}

// readIdempotencyRecord reads the record of an append to a session that is gone, because a repeat is answered even
// then. It returns a NotFound error where there is none.
func (s *MessageStore) readIdempotencyRecord(ctx context.Context, user conversation.UserID,
	idem conversation.Idempotency,
) (item, error) {
	k := key{partition(user), idempotencySK(idem)}
	records, err := s.db.readCurrent(ctx, "read idempotency record", user, k)
	if err != nil {
		return nil, err
	}
	it, ok := records.current(user, k)
	if !ok {
		return nil, fault.Missing("session")
	}
	return it, nil
}

// checkSameBody returns an IdempotencyMismatch error unless the record is of the same request.
func checkSameBody(record item, idem conversation.Idempotency) error {
	if record.string(attrBodyHash) != idem.BodyHash {
		return fault.New(fault.IdempotencyMismatch, "this idempotency key was used with another request body")
	}
	return nil
}

// duplicateMark follows the seq of a message that was stored before, in the record of an append that has such messages.
const duplicateMark = "="

// recordAppend adds to an idempotency record what an append wrote, and the session's counters after it.
func recordAppend(it item, sessionKey key, a conversation.Appended) {
	keys, seqs, duplicates := make([]string, len(a.Messages)), make([]string, len(a.Messages)), 0
	for i, m := range a.Messages {
		keys[i], seqs[i] = messageSK(m.Timestamp, m.ID[len(m.ID)-shortMillis-shortRandom:]), strconv.Itoa(m.Seq)
		if m.Duplicate {
			seqs[i] += duplicateMark
			duplicates++
		}
	}
	if duplicates > 0 {
		it.setStrings(attrMessageSeqs, seqs)
	}
	it[attrSessionSK] = stringAttr(sessionKey.sk)
	it[attrSessionCreatedAt] = intAttr(a.Session.CreatedAt.UnixMilli())
	it[attrCoachID] = stringAttr(a.Session.CoachID)
	it.setStrings(attrMessageSKs, keys)
	it[attrMode], it[attrStatus] = stringAttr(a.Session.Mode), stringAttr(string(a.Session.Status))
	it[attrMessageCount] = intAttr(a.Session.MessageCount)
	it[attrLastSeq] = intAttr(a.Session.LastSeq)
	it[attrVersion] = intAttr(a.Session.Version)
	it.setTime(attrStartedAt, a.Session.StartedAt)
	it.setTime(attrLastMessageAt, a.Session.LastMessageAt)
}

// replayAppend answers a repeated append as the first call was answered, from the content of the repeat and the keys in
// the idempotency record. Messages that were deleted since are in the answer, and stay deleted.
func (s *MessageStore) replayAppend(ctx context.Context, user conversation.UserID, in conversation.Append, record item,
) (conversation.Appended, error) {
	session, err := s.sessionOfRecord(ctx, user, record)
	if err != nil {
		return conversation.Appended{}, err
	}
	out := conversation.Appended{Session: session, Replayed: true}
	keys, seqs := record.strings(attrMessageSKs), record.strings(attrMessageSeqs)
	for i, m := range in.Messages[:min(len(in.Messages), len(keys))] {
		at, short, _ := parseMessageSK(keys[i])
		again := session.Message(m, session.LastSeq-len(keys)+i+1, at)
		if again.ID = messageID(user, at, short); i < len(seqs) {
			seq, isDuplicate := strings.CutSuffix(seqs[i], duplicateMark)
			again.Seq, _ = strconv.Atoi(seq)
			again.Duplicate = isDuplicate
		}
		out.Messages = append(out.Messages, again)
	}
	return out, nil
}

// sessionOfRecord returns the session as it was after the append of an idempotency record. Title and attributes are
// empty when the session is gone. It returns a Conflict error when the session is a later one of the same id: it has
// nothing of what the first call stored, and the repeat must not bring that back.
func (s *MessageStore) sessionOfRecord(ctx context.Context, user conversation.UserID, record item,
) (conversation.Session, error) {
	session, err := s.sessions.sessionAt(ctx, user, key{partition(user), record.string(attrSessionSK)})
	switch {
	case err == nil && session.CreatedAt.UnixMilli() != record.int64(attrSessionCreatedAt):
		return conversation.Session{}, fault.New(fault.Conflict, "the session that this idempotency key was used for was "+
			"deleted, with the messages; this session was created later under its id and has none of them: to store them "+
			"here, send another key")
	case err == nil:
		session, err = s.withDescriptionAt(ctx, user, session, record.int64(attrVersion))
		return withCountersOf(session, record), err
	case !fault.Is(err, fault.NotFound):
		return conversation.Session{}, err
	}
	gone := conversation.Session{CoachID: record.string(attrCoachID), CreatedAt: sessionCreatedAt(record)}
	gone.Context, gone.ID, _ = parseSessionSK(record.string(attrSessionSK))
	return withCountersOf(gone, record), nil
}

// withCountersOf replaces what an idempotency record holds of a session.
func withCountersOf(s conversation.Session, record item) conversation.Session {
	s.Mode, s.Status = record.string(attrMode), conversation.Status(record.string(attrStatus))
	s.MessageCount, s.LastSeq = int(record.int64(attrMessageCount)), int(record.int64(attrLastSeq))
	s.StartedAt, s.LastMessageAt = record.time(attrStartedAt), record.time(attrLastMessageAt)
	s.Version = record.int64(attrVersion)
	s.Summary = nil
	return s
}

// addDescription saves the title and attributes that a change of a session replaces. A repeat of an earlier append
// answers with them, and idempotency records hold no content.
func addDescription(t *transaction, k key, before, after conversation.Session, now time.Time) {
	same := before.Title == after.Title && reflect.DeepEqual(before.Attributes, after.Attributes)
	if same || before.LastSeq == 0 {
		return
	}
	it := key{k.pk, descriptionSK(k.sk, before, before.Version)}.attributes()
	it.setString(attrTitle, before.Title)
	if err := it.setDocument(attrAttributes, before.Attributes); err != nil {
		t.err = err
	}
	it[attrGeneration] = intAttr(before.Generation)
	it[TTLAttribute] = intAttr(now.Add(idempotencyLife).Unix())
	t.replace(it)
}

// withDescriptionAt returns the session with the title and attributes that it had at a version.
func (s *MessageStore) withDescriptionAt(ctx context.Context, user conversation.UserID, session conversation.Session,
	version int64,
) (conversation.Session, error) {
	sk, _ := sessionSK(session.Context, session.ID)
	low, high := descriptionSK(sk, session, version), afterPrefix(descriptionsOf(sk, session))
	for it, err := range s.db.query(ctx, "read description", query{where: between(user, low, high), page: 1}) {
		if err != nil {
			return conversation.Session{}, err
		}
		session.Title, session.Attributes = it.string(attrTitle), it.document(attrAttributes)
		break
	}
	return session, nil
}
