package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// Truncate deletes the last messages of a session and appends others in their place, in one transaction, on condition
// that the session is as it was read. It tries again when another writer came first. The tombstone names the first
// deleted message and the vectors of all of them; it is empty where nothing was deleted.
func (s *DeletionStore) Truncate(ctx context.Context, user conversation.UserID, in conversation.Truncation,
	vectors func(conversation.Message) []string, due time.Time,
) (out conversation.Truncated, tombstone erasure.Tombstone, err error) {
	const op = "truncate session"
	if in, err = in.Prepare(s.db.Now()); err != nil {
		return out, tombstone, err
	}
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		c, err := s.newCut(ctx, user, in, vectors, due)
		if err != nil {
			out, err = s.replayRefused(ctx, user, in, err)
			return true, err
		}
		failures, err := s.db.Commit(ctx, op, c.tx, b)
		if err == nil && failures == nil {
			s.db.cache.removeSession(user, in.SessionID)
			out, tombstone = c.result, c.tombstone
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if existing, repeated := failures[c.recordPlace]; repeated {
			out, err = s.replayTruncation(ctx, user, in, existing)
			return true, err
		}
		for i, place := range c.clientPlaces {
			if _, exists := failures[place]; exists {
				return false, conversation.ReplacementExists(i)
			}
		}
		return false, nil
	})
	return out, tombstone, err
}

// replayRefused answers a truncation that is refused, because it has changed the session already, as its first call.
func (s *DeletionStore) replayRefused(ctx context.Context, user conversation.UserID, in conversation.Truncation,
	refusal error,
) (conversation.Truncated, error) {
	if !in.Idempotency.Set() {
		return conversation.Truncated{}, refusal
	}
	existing, err := s.messages.readIdempotencyRecord(ctx, user, in.Idempotency)
	if fault.Is(err, fault.NotFound) {
		return conversation.Truncated{}, refusal
	}
	if err != nil { // the refusal may be wrong
		return conversation.Truncated{}, err
	}
	return s.replayTruncation(ctx, user, in, existing)
}

// cut is the transaction of a truncation, or of a turn that replaces another one, with the places of its conditions and
// what it comes to.
type cut struct {
	tx     *table.Transaction
	user   conversation.UserID
	before conversation.Session
	seqs   []int
	// kept is the user's message that a turn answers again.
	kept *conversation.Message
	// addRecord adds the idempotency record and returns its place. It is nil without a key.
	addRecord    func(*table.Transaction, table.Key, conversation.Appended) int
	result       conversation.Truncated
	tombstone    erasure.Tombstone
	recordPlace  int
	clientPlaces []int
	guardPlaces  []int // of a turn's guards
}

func (s *DeletionStore) newCut(ctx context.Context, user conversation.UserID, in conversation.Truncation,
	vectors func(conversation.Message) []string, due time.Time,
) (*cut, error) {
	before, err := s.sessions.sharedSession(ctx, user, in.SessionID)
	if err != nil {
		return nil, err
	}
	messages, err := s.suffix(ctx, user, before, in)
	if err != nil {
		return nil, err
	}
	if err := in.CheckCut(messages); err != nil {
		return nil, err
	}
	c := &cut{user: user, before: before}
	if in.Idempotency.Set() {
		c.addRecord = func(tx *table.Transaction, k table.Key, done conversation.Appended) int {
			record := newIdempotencyRecord(user, in.Idempotency, done.Session.Generation, s.db.Now())
			recordAppend(record, k, done)
			record.SetStrings(table.AttrDeletedIDs, c.result.Deleted)
			return tx.Put(record, isFreeKey(done.Session.Generation, s.db.Now()))
		}
	}
	return c, c.add(ctx, s, in.Replacement, messages, vectors, due)
}

// add adds the writes of the cut to its transaction.
func (c *cut) add(ctx context.Context, s *DeletionStore, replacement []conversation.NewMessage,
	messages []conversation.Message, vectors func(conversation.Message) []string, due time.Time,
) (err error) {
	after := c.before
	if len(messages) > 0 {
		if after, err = s.without(ctx, c.user, c.before, messages); err != nil {
			return err
		}
	}
	c.tx, c.recordPlace = s.db.Transaction(), -1
	c.deleteMessages(messages, vectors)
	s.finishCut(c, replacement, after, due)
	return nil
}

// suffix returns the messages that a truncation deletes, in their order, and one more than may be deleted at most.
func (s *DeletionStore) suffix(ctx context.Context, user conversation.UserID, session conversation.Session,
	in conversation.Truncation,
) ([]conversation.Message, error) {
	n := conversation.MaxTruncated + 1
	if in.LastN != nil {
		n = *in.LastN
	}
	messages, _, _, err := s.messages.readRange(ctx, user, messageRange{session: session, limit: n, descending: true})
	if err != nil {
		return nil, err
	}
	slices.Reverse(messages)
	if in.AfterSeq != nil {
		messages = slices.DeleteFunc(messages, func(m conversation.Message) bool { return m.Seq <= *in.AfterSeq })
	}
	return messages, nil
}

// without returns the session after the deletion of its last messages, which is one write.
func (s *DeletionStore) without(ctx context.Context, user conversation.UserID, before conversation.Session,
	messages []conversation.Message,
) (conversation.Session, error) {
	left := before
	for _, m := range messages[1:] {
		left.Deleted = left.Deleted.Add(m.Seq)
	}
	first, last, err := s.endsWithout(ctx, user, left, messages[0])
	if err != nil {
		return before, err
	}
	after := before
	for _, m := range messages {
		after = after.Without(m, first, last)
	}
	after.Version = before.Version + 1
	return after, nil
}

// deleteMessages adds the deletions of the messages and their tombstone.
func (c *cut) deleteMessages(messages []conversation.Message, vectors func(conversation.Message) []string) {
	for _, m := range messages {
		sk, _ := table.ParseMessageID(c.user, m.ID)
		c.tx.Delete(table.UserKey(c.user, sk), table.IsOf(c.before))
		c.seqs = append(c.seqs, m.Seq)
		c.result.Deleted = append(c.result.Deleted, m.ID)
		c.tombstone.Vectors = append(c.tombstone.Vectors, vectors(m)...)
	}
	if len(messages) > 0 {
		sk, _ := table.ParseMessageID(c.user, messages[0].ID)
		c.tombstone.User, c.tombstone.ID = c.user, table.MessageTombstoneSK(sk)
		c.tombstone.Generation, c.tombstone.Message = messages[0].Generation, &messages[0]
		c.tombstone.Others = c.result.Deleted[1:]
	}
}

// finishCut adds the writes of the session, of what takes the messages' place, and of the idempotency record.
func (s *DeletionStore) finishCut(c *cut, replacement []conversation.NewMessage, after conversation.Session,
	due time.Time,
) {
	now := s.db.Now()
	k := table.KeyOfSession(c.user, after)
	dropsSummary := c.before.Summary != nil && after.Summary == nil
	after = s.replace(c, k, replacement, after, now)
	u := table.SetCounters(c.user, after)
	if len(replacement) > 0 || c.kept != nil {
		u = comesBack(u, c.before, after)
	}
	if len(replacement) > 0 && !dropsSummary {
		u = s.db.askForSummary(u, c.before, after)
	}
	u = dueAfter(s.db, u, c.user, c.before, after, dropsSummary).
		SetWatermark(table.AttrSummarizedSeq, table.AttrSummarizedAt, after.Summarized).
		Apply(table.Encode(after), table.AttrDeletedSeqs)
	if dropsSummary {
		u = dropSummary(c.tx, &c.tombstone, c.before, u, now)
	}
	c.tx.Update(k, u, table.IsUnchanged(c.before).And(hasSameSummary(c.before)))
	shows := []table.Key{k}
	if len(c.result.Messages) > 0 {
		first, _ := table.ParseMessageID(c.user, c.result.Messages[0].ID)
		shows = append(shows, table.UserKey(c.user, first))
	}
	c.tx.DoneIf(func(r table.RecordSet) bool { return c.isDone(s.db, r) }, shows...)
	if c.tombstone.DeletedAt = now; c.tombstone.ID != "" {
		stored := c.tombstone
		stored.Vectors = erasure.LastVectors(stored.Vectors)
		c.tx.Replace(encodeTombstone(stored, due))
	}
}

// replace adds the messages that take the place of the deleted ones, and the idempotency record.
func (s *DeletionStore) replace(c *cut, k table.Key, replacement []conversation.NewMessage, after conversation.Session,
	now time.Time,
) conversation.Session {
	var added []conversation.Message
	version := max(after.Version, c.before.Version+1)
	if len(replacement) > 0 {
		added, after = after.Extend(replacement, now)
		after = PlainWrite(c.before).After(after, replacement)
	} else if c.kept != nil {
		after = PlainWrite(c.before).After(after, []conversation.NewMessage{*c.kept})
	}
	after.Version = version
	for i := range added {
		added[i].ID = newMessageID(s.db, c.user, added[i].Timestamp)
		c.tx.Put(table.EncodeMessage(c.user, after, added[i]), table.NotExists())
	}
	c.result.Messages, c.result.Session = added, after
	c.result.Session.Summary = nil
	done := conversation.Appended{Messages: added, Session: after}
	a := appender{user: c.user, messages: replacement}
	c.clientPlaces = a.addClientIDs(c.tx, k, done)
	if c.kept != nil {
		done.Messages = []conversation.Message{*c.kept}
	}
	if c.addRecord != nil {
		c.recordPlace = c.addRecord(c.tx, k, done)
	}
	return after
}

// isDone reports whether an attempt that had no answer was carried out: the messages are deleted, and the first of
// those in their place is stored.
func (c *cut) isDone(db *DB, records table.RecordSet) bool {
	session, ok := db.DecodeSession(records[table.KeyOfSession(c.user, c.before)])
	if !ok || !session.IsSame(c.before) || session.Version == c.before.Version {
		return false
	}
	for _, seq := range c.seqs {
		if !session.Deleted.Contains(seq) {
			return false
		}
	}
	return len(c.result.Messages) == 0 || len(records) > 1
}

// replayTruncation answers a repeated truncation as the first call was answered.
func (s *DeletionStore) replayTruncation(ctx context.Context, user conversation.UserID, in conversation.Truncation,
	record table.Item,
) (conversation.Truncated, error) {
	if err := in.Idempotency.CheckBody(record.String(table.AttrBodyHash)); err != nil {
		return conversation.Truncated{}, err
	}
	again := conversation.Append{SessionID: in.SessionID, Messages: in.Replacement, Idempotency: in.Idempotency}
	out, err := s.messages.replayAppend(ctx, user, again, record)
	return conversation.Truncated{
		Deleted: record.Strings(table.AttrDeletedIDs), Messages: out.Messages, Session: out.Session, Replayed: true,
	}, err
}
