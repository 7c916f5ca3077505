package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
)

var _ erasure.ForgettingStore = (*DeletionStore)(nil)

// addDelete adds the deletion of a record that was read, and what it leaves, with more attributes of that. It returns
// the place of its condition.
func (s *CollectionStore[T]) addDelete(t *transaction, user conversation.UserID, from stored[T], generation int64,
	more item,
) int {
	now := s.db.now()
	place := t.delete(from.key, isVersion(from.version))
	if s.kind.Indexed {
		id := *s.kind.ID(&from.value)
		t.replace(encodeTombstone(erasure.Tombstone{
			User: user, ID: vectorTombstoneSK([]string{id}), Generation: generation, Emptied: true, Vectors: []string{id},
			DeletedAt: now,
		}, now.Add(vectorSweepAfter)))
	}
	if s.kind.Content != nil {
		trace := s.forgottenKey(user, from.value).attributes()
		if s.kind.trace != nil {
			trace = trace.with(s.kind.trace(from.value))
		}
		t.replace(trace.with(item{attrGeneration: intAttr(generation), attrDeletedAt: timeAttr(now)}).with(more))
	}
	return place
}

// traceOf is what a deleted memory leaves beside the hash of its content. It does not have the content.
func traceOf(m longterm.Memory) item {
	it := item{attrMemoryID: stringAttr(m.ID)}
	it.setBytes(attrLikeness, longterm.NewLikeness(m.Content).Bytes())
	it.setStrings(attrMessageIDs, m.MessageIDs)
	return it
}

// ForgottenDue reads the trace of a forgotten memory.
func (s *DeletionStore) ForgottenDue(ctx context.Context, d sweep.Due) ([]string, bool, error) {
	if !strings.HasPrefix(d.ID, forgottenPrefix) {
		return nil, false, nil
	}
	records, err := s.db.readCurrent(ctx, "read what is forgotten", d.User, dueKey(d))
	if err != nil {
		return nil, false, err
	}
	it, _ := records.current(d.User, dueKey(d))
	return it.strings(attrMessageIDs), true, nil
}

// ForgetMessage marks a message and removes what was made of it, on condition that its session is as it was read. It
// tries again when another writer came first.
func (s *DeletionStore) ForgetMessage(ctx context.Context, user conversation.UserID, messageID string,
) (t erasure.Tombstone, done bool, err error) {
	const op = "forget message"
	sk, ok := parseMessageID(user, messageID)
	if !ok {
		return t, false, fault.Missing("message")
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	k := key{partition(user), sk}
	for b := s.db.backoff(); ; {
		records, err := s.db.readCurrent(ctx, op, user, k)
		if err != nil {
			return t, false, err
		}
		it, _ := records.current(user, k)
		m, ok := decodeMessage(it)
		if !ok {
			return t, false, fault.Missing("message")
		}
		d, err := s.newForgetting(ctx, k, m)
		if err != nil {
			return t, false, err
		}
		failures, err := s.db.commit(ctx, op, d.tx, b)
		if err != nil {
			return t, false, err
		}
		if failures == nil {
			return d.tombstone, m.Forgotten, nil
		}
		if err := b.afterConflict(ctx); err != nil {
			return t, false, failed(op, err)
		}
	}
}

// newForgetting returns the transaction that marks a message. A summary that covers the message is deleted, and the
// session is due for another one.
func (s *DeletionStore) newForgetting(ctx context.Context, k key, m conversation.Message) (messageDeletion, error) {
	user, _ := parsePartition(k.pk)
	sk, _ := sessionSK(m.Context, m.SessionID)
	sessionKey := key{partition(user), sk}
	before, _, err := s.sessions.record(ctx, user, sessionKey)
	if err != nil {
		return messageDeletion{}, err
	}
	d := messageDeletion{tx: s.db.transaction(), after: before.Forgetting(m.Seq), tombstone: erasure.Tombstone{
		User: user, Generation: m.Generation, Message: &m, DeletedAt: s.db.now(),
	}}
	d.tx.update(k, expression.Set(field(attrForgotten), value(boolAttr(true))), isOf(before))
	isAsRead := isUnchanged(before).And(hasSameSummary(before))
	if d.after.Summary != nil || before.Summary == nil || isAppsOwn(before) {
		d.tx.check(sessionKey, isAsRead)
		return d, nil
	}
	path := pathIn(before)
	u := setWatermark(expression.UpdateBuilder{}, path(attrSummarizedSeq), path(attrSummarizedAt), d.after.Summarized)
	u = removeSessionSummary(setDue(u, sessionKey, s.db.now()), path)
	d.addSummaryDeletion(user, before)
	clearSpine(d.tx, user, before, s.db.now())
	d.tx.update(sessionKey, u, isAsRead)
	return d, nil
}
