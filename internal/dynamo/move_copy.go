package dynamo

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

const (
	// DynamoDB's limits of a transaction are 100 records and 4 MB. Four places are for the session, its parked array and
	// the conditions on the user's generation and the session's tombstone.
	maxCopies    = 96
	maxCopyBytes = 3 << 20
)

// copy writes messages of an array to the shared store, unless they are there, and deletes the copies of entries that
// are gone. A dual session's own messages have higher seqs than these. A message that is no copy is never deleted: an
// append of Throughline's was acknowledged, and the app may have written an old record over the session's. copy returns
// those that the array lacks, in the order of their times.
func (m *mover) copy(ctx context.Context, s conversation.Session, messages []conversation.Message,
) (lacking []conversation.Message, err error) {
	wanted := make(map[key]item, len(messages))
	for _, message := range messages {
		it, err := m.encodeCopy(s, message)
		if err != nil {
			return nil, err
		}
		wanted[keyOf(it)] = it
	}
	var gone []key
	for it, err := range m.db.query(ctx, opMove, m.stored(s)) {
		switch copied, ok := wanted[keyOf(it)]; {
		case err != nil:
			return nil, err
		case !isMessageOf(it, s) || !ok && s.EmbeddedSeq > 0 && it.int64(attrSeq) > int64(s.EmbeddedSeq):
		case !ok && it.string(attrOrigin) == originBackfill:
			gone = append(gone, keyOf(it))
		case !ok:
			if message, ok := decodeMessage(it); ok {
				lacking = append(lacking, message)
			}
		case isSameMessage(it, copied):
			delete(wanted, keyOf(it))
		}
	}
	if err := m.deleteCopies(ctx, s, gone); err != nil {
		return nil, err
	}
	return lacking, m.writeCopies(ctx, s, wanted)
}

// stored is the query of a session's messages in the shared store.
func (m *mover) stored(s conversation.Session) query {
	sk, _ := sessionSK(s.Context, s.ID)
	source := value(stringAttr(sourceID(m.user, sk)))
	return query{index: BySource, where: expression.Key(attrSourceID).Equal(source)}
}

func (m *mover) encodeCopy(s conversation.Session, message conversation.Message) (item, error) {
	if message.Tokens == 0 && m.db.countTokens != nil {
		message.Tokens = m.db.countTokens(message.Content)
	}
	it, err := encodeMessage(m.user, s, message)
	if err == nil {
		it[attrOrigin] = stringAttr(originBackfill)
	}
	return it, err
}

// isSameMessage reports whether a stored message is the one that a copy would write.
func isSameMessage(stored, copied item) bool {
	return stored.int64(attrSeq) == copied.int64(attrSeq) && stored.string(attrRole) == copied.string(attrRole) &&
		stored.string(attrContent) == copied.string(attrContent) && stored.string(attrParts) == copied.string(attrParts)
}

// deleteCopies deletes messages on condition that the session is as it was read: another mover could have made them the
// session's own.
func (m *mover) deleteCopies(ctx context.Context, s conversation.Session, gone []key) error {
	sk, _ := sessionSK(s.Context, s.ID)
	for chunk := range slices.Chunk(gone, maxCopies) {
		t := m.db.transaction()
		t.check(key{partition(m.user), sk}, isUnchanged(s))
		for _, k := range chunk {
			t.remove(k)
		}
		if failures, err := m.commit(ctx, t); err != nil || failures != nil {
			return err // the step's own condition fails too
		}
	}
	return nil
}

// checkDeleted adds the condition that the session has no tombstone, and returns its place.
func checkDeleted(t *transaction, user conversation.UserID, s conversation.Session) int {
	sk, _ := sessionSK(s.Context, s.ID)
	return t.check(key{partition(user), sessionTombstoneSK(sk, s)}, notExists())
}

// notYet returns a NotFound error for a session that has been deleted. The app may have written its record again. Then
// the deletion has to be over first, because it deletes all messages of the session's id and creation.
func notYet(ctx context.Context, m *mover) error {
	if _, _, err := m.read(ctx); err != nil {
		return err
	}
	return migration.Unmovable("a session of this id was deleted, and what it left is deleted once more later")
}

// hasStored reports whether the shared store has messages of a session.
func hasStored(ctx context.Context, db *DB, user conversation.UserID, s conversation.Session) (bool, error) {
	q := (&mover{user: user}).stored(s)
	q.page = 1
	for it, err := range db.query(ctx, opMove, q) {
		if err != nil || isMessageOf(it, s) {
			return err == nil, err
		}
	}
	return false, nil
}

// withStored returns an embedded session with times that also span its messages in the shared store. The array may lack
// some of these, where the app has written an old record.
func withStored(ctx context.Context, db *DB, user conversation.UserID, s conversation.Session,
) (conversation.Session, error) {
	if s.Placement != conversation.Embedded {
		return s, nil
	}
	for it, err := range db.query(ctx, "read messages", (&mover{user: user}).stored(s)) {
		if err != nil {
			return s, err
		}
		if !isMessageOf(it, s) {
			continue
		}
		at := it.time(attrTimestamp)
		if s.StartedAt.IsZero() || at.Before(s.StartedAt) {
			s.StartedAt = at
		}
		if at.After(s.LastMessageAt) {
			s.LastMessageAt = at
		}
		s.MessageCount = max(1, s.MessageCount)
	}
	return s, nil
}

// writeCopies writes messages. The last ones, as many as one transaction takes, are left in m.last, so that a session
// of few messages moves in one transaction.
func (m *mover) writeCopies(ctx context.Context, s conversation.Session, wanted map[key]item) error {
	bytes := 0
	for _, it := range wanted {
		size := it.size()
		if len(m.last) == maxCopies || bytes+size > maxCopyBytes {
			if err := m.writeLast(ctx, s); err != nil {
				return err
			}
			bytes = 0
		}
		m.last = append(m.last, it)
		bytes += size
		m.work.Bytes += size
	}
	if m.separate {
		return m.writeLast(ctx, s)
	}
	return nil
}

// writeLast writes the messages in m.last in a transaction of their own, on condition that neither the user nor the
// session has been deleted. The session's record may be large, and a check of it would cost as much as writing it. Its
// deletion stores a tombstone in the same transaction, so the check is that there is none.
func (m *mover) writeLast(ctx context.Context, s conversation.Session) error {
	t := m.db.transaction()
	copies := m.addLast(t, s)
	if copies == 0 {
		return nil
	}
	generationPlace := t.check(generationKey(m.user), isGeneration(s.Generation))
	tombstonePlace := checkDeleted(t, m.user, s)
	failures, err := m.commit(ctx, t)
	if isTooLarge(err) {
		return migration.Unmovable("a message fits no record of 400 KB")
	}
	if err != nil {
		return err
	}
	if failures != nil {
		if _, erased := failures.existing(generationPlace); erased {
			return fault.Missing("session")
		}
		if _, deleted := failures.existing(tombstonePlace); deleted {
			return notYet(ctx, m)
		}
		return migration.Unmovable("another session has a message of the same id")
	}
	m.work.Messages += copies
	return nil
}

// addLast adds the messages in m.last to a transaction, on condition that no other session has a message of the same
// id, and returns how many they are.
func (m *mover) addLast(t *transaction, s conversation.Session) int {
	sk, _ := sessionSK(s.Context, s.ID)
	free := notExists().Or(field(attrSourceID).Equal(value(stringAttr(sourceID(m.user, sk)))))
	n := len(m.last)
	for _, it := range m.last {
		t.put(it, free)
	}
	m.last = nil
	return n
}
