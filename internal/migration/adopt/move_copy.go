package adopt

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
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
	wanted := make(map[table.Key]table.Item, len(messages))
	for _, message := range messages {
		it := m.encodeCopy(s, message)
		wanted[table.KeyOf(it)] = it
	}
	var gone []table.Key
	copied := arrayOf(s).EmbeddedSeq
	for it, err := range m.db.Query(ctx, opMove, m.stored(s)) {
		switch same, ok := wanted[table.KeyOf(it)]; {
		case err != nil:
			return nil, err
		case !table.IsMessageOf(it, s) || !ok && copied > 0 && it.Int64(table.AttrSeq) > int64(copied):
		case !ok && it.String(table.AttrOrigin) == originBackfill:
			gone = append(gone, table.KeyOf(it))
		case !ok:
			if message, ok := table.DecodeMessage(it); ok {
				lacking = append(lacking, message)
			}
		case isSameMessage(it, same):
			delete(wanted, table.KeyOf(it))
		}
	}
	if err := m.deleteCopies(ctx, s, gone); err != nil {
		return nil, err
	}
	return lacking, m.writeCopies(ctx, s, wanted)
}

// stored is the query of a session's messages in the shared store.
func (m *mover) stored(s conversation.Session) table.Query {
	sk, _ := table.SessionSK(s.Context, s.ID)
	source := table.Value(table.SourceID(m.user, sk))
	return table.Query{Index: table.BySource, Where: expression.Key(table.AttrSourceID).Equal(source)}
}

func (m *mover) encodeCopy(s conversation.Session, message conversation.Message) table.Item {
	if message.Tokens == 0 && m.adopter.countTokens != nil {
		message.Tokens = m.adopter.countTokens(message.Content)
	}
	it := table.EncodeMessage(m.user, s, message)
	it.Set(table.AttrOrigin, originBackfill)
	return it
}

// isSameMessage reports whether a stored message is the one that a copy would write.
func isSameMessage(stored, copied table.Item) bool {
	return stored.Int64(table.AttrSeq) == copied.Int64(table.AttrSeq) &&
		stored.String(table.AttrRole) == copied.String(table.AttrRole) &&
		stored.String(table.AttrContent) == copied.String(table.AttrContent) &&
		stored.String(table.AttrParts) == copied.String(table.AttrParts)
}

// deleteCopies deletes messages on condition that the session is as it was read: another mover could have made them the
// session's own.
func (m *mover) deleteCopies(ctx context.Context, s conversation.Session, gone []table.Key) error {
	for chunk := range slices.Chunk(gone, maxCopies) {
		t := m.db.Transaction()
		t.Check(table.KeyOfSession(m.user, s), table.IsUnchanged(s))
		for _, k := range chunk {
			t.Remove(k)
		}
		if failures, err := m.commit(ctx, t); err != nil || failures != nil {
			return err // the step's own condition fails too
		}
	}
	return nil
}

// checkDeleted adds the condition that the session has no tombstone, and returns its place.
func checkDeleted(t *table.Transaction, user conversation.UserID, s conversation.Session) int {
	sk, _ := table.SessionSK(s.Context, s.ID)
	return t.Check(table.UserKey(user, table.SessionTombstoneSK(sk, s)), table.NotExists())
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
func hasStored(ctx context.Context, db *dynamo.DB, user conversation.UserID, s conversation.Session) (bool, error) {
	q := (&mover{user: user}).stored(s)
	q.Page = 1
	for it, err := range db.Query(ctx, opMove, q) {
		if err != nil || table.IsMessageOf(it, s) {
			return err == nil, err
		}
	}
	return false, nil
}

// Spanning returns an embedded session with times that also span its messages in the shared store. The array may lack
// some of these, where the app has written an old record.
func (a *Adopter) Spanning(ctx context.Context, user conversation.UserID, s conversation.Session,
) (conversation.Session, error) {
	if !isEmbedded(s) {
		return s, nil
	}
	for it, err := range a.db.Query(ctx, "read messages", (&mover{user: user}).stored(s)) {
		if err != nil {
			return s, err
		}
		if !table.IsMessageOf(it, s) {
			continue
		}
		at := it.Time(table.AttrTimestamp)
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
func (m *mover) writeCopies(ctx context.Context, s conversation.Session, wanted map[table.Key]table.Item) error {
	bytes := 0
	for _, it := range wanted {
		size := it.Size()
		if len(m.last) == maxCopies || bytes+size > maxCopyBytes {
			if err := m.writeLast(ctx, s); err != nil {
				return err
			}
			bytes = 0
		}
		m.last = append(m.last, it)
		bytes += size
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
	if len(m.last) == 0 {
		return nil
	}
	largest := slices.MaxFunc(m.last, func(a, b table.Item) int { return cmp.Compare(a.Size(), b.Size()) })
	t := m.db.Transaction()
	copies := m.addLast(t, s)
	generationPlace := t.Check(table.GenerationKey(m.user), table.IsGeneration(s.Generation))
	tombstonePlace := checkDeleted(t, m.user, s)
	failures, err := m.commit(ctx, t)
	if table.IsTooLarge(err) {
		return migration.Unmovable(fmt.Sprintf("the message of seq %d does not fit into a record of 400 KB, with what is "+
			"kept of its entry: shorten it, or make two of it", largest.Int64(table.AttrSeq)))
	}
	if err != nil {
		return err
	}
	if failures != nil {
		if _, erased := failures[generationPlace]; erased {
			return fault.Missing("session")
		}
		if _, deleted := failures[tombstonePlace]; deleted {
			return notYet(ctx, m)
		}
		return migration.Unmovable("another session has a message of the same id")
	}
	m.work.Messages += copies
	return nil
}

// addLast adds the messages in m.last to a transaction, on condition that no other session has a message of the same
// id, and returns how many they are.
func (m *mover) addLast(t *table.Transaction, s conversation.Session) int {
	sk, _ := table.SessionSK(s.Context, s.ID)
	free := table.NotExists().Or(table.Is(table.AttrSourceID, table.SourceID(m.user, sk)))
	n := len(m.last)
	for _, it := range m.last {
		t.Put(it, free)
	}
	m.last = nil
	return n
}
