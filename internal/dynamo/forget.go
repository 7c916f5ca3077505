package dynamo

import (
	"context"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
)

// addDelete adds the deletion of a record that was read, and what it leaves. It returns the trace, if it leaves one.
func (s *CollectionStore[T]) addDelete(t *table.Transaction, user conversation.UserID, from stored[T], generation int64,
) (trace table.Item) {
	now := s.db.Now()
	t.Delete(from.key, isVersion(from.version))
	if s.kind.Indexed {
		id := *s.kind.ID(&from.value)
		t.Replace(encodeTombstone(erasure.Tombstone{
			User: user, ID: table.VectorTombstoneSK([]string{id}), Generation: generation, Emptied: true, Vectors: []string{id},
			DeletedAt: now, Version: from.version + 1,
		}, now.Add(erasure.FirstSweepAfter)))
	}
	if s.kind.Content != nil {
		k := s.forgottenKey(user, from.value)
		trace = k.Attributes().With(table.Item{
			table.AttrGeneration: table.IntAttr(generation),
			table.AttrDeletedAt:  table.TimeAttr(now),
			table.AttrAskedAt:    table.TimeAttr(now),
		})
		if s.kind.trace != nil {
			trace = trace.With(s.kind.trace(from.value, now))
		}
		if len(trace.Strings(table.AttrMessageIDs)) > 0 {
			trace = trace.With(s.db.dueNow(k))
		}
		t.Replace(trace)
	}
	return trace
}

// dueNow makes the trace of what is forgotten due, by which the sweep takes its messages out of what was made of them.
func (db *DB) dueNow(k table.Key) table.Item {
	return table.Item{
		table.AttrDueAt: table.TimeAttr(db.Now()), table.AttrDueShard: table.IntAttr(table.DueShard(k)),
	}
}

// traceOf is what a memory leaves, beside the hash of its content, that is deleted at a time. It does not have the
// content. Where a message has asked for it, the message's time counts.
func traceOf(m longterm.Memory, at time.Time) table.Item {
	if m.EndedReason == longterm.EndedForgotten {
		at = m.ValidUntil
	}
	f := longterm.NewForgotten(m, at)
	it := table.Item{table.AttrMemoryID: table.StringAttr(m.ID), table.AttrAskedAt: table.TimeAttr(at)}
	it.SetBytes(table.AttrLikeness, f.Content.Bytes())
	it.SetBytes(table.AttrAboutWords, f.About.Bytes())
	it.SetBytes(table.AttrNames, f.Names.Bytes())
	if f.Rejected {
		it.Set(table.AttrRejected, true)
	}
	it.SetStrings(table.AttrMessageIDs, m.MessageIDs)
	return it
}

// forgottenOf is the inverse of traceOf. Traces of earlier versions have only the time of the deletion.
func forgottenOf(it table.Item) longterm.Forgotten {
	f := longterm.Forgotten{
		MemoryID: it.String(table.AttrMemoryID), Content: longterm.LikenessOf(it.Bytes(table.AttrLikeness)),
		About: longterm.LikenessOf(it.Bytes(table.AttrAboutWords)),
		Names: longterm.LikenessOf(it.Bytes(table.AttrNames)),
		At:    it.Time(table.AttrAskedAt), Rejected: it.Bool(table.AttrRejected),
	}
	if f.At.IsZero() {
		f.At = it.Time(table.AttrDeletedAt)
	}
	return f
}

// ForgottenDue reads the trace of a forgotten memory, or of forgotten messages.
func (s *DeletionStore) ForgottenDue(ctx context.Context, d sweep.Due) (erasure.Forgetting, bool, error) {
	if !strings.HasPrefix(d.ID, table.ForgottenPrefix) {
		return erasure.Forgetting{}, false, nil
	}
	records, err := s.db.ReadCurrent(ctx, "read what is forgotten", d.User, dueKey(d))
	if err != nil {
		return erasure.Forgetting{}, false, err
	}
	it, _ := records.Current(d.User, dueKey(d))
	return erasure.Forgetting{
		MessageIDs: it.Strings(table.AttrMessageIDs), What: forgottenOf(it), AskedAt: it.Time(table.AttrAskedAt),
		DeletedAt: it.Time(table.AttrDeletedAt),
	}, true, nil
}

// ForgetMessage marks a message and removes what was made of it, on condition that its session is as it was read. It
// tries again when another writer came first.
func (s *DeletionStore) ForgetMessage(ctx context.Context, user conversation.UserID, messageID string,
) (t erasure.Tombstone, err error) {
	const op = "forget message"
	sk, ok := table.ParseMessageID(user, messageID)
	if !ok {
		return t, fault.Missing("message")
	}
	k := table.UserKey(user, sk)
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		it, err := s.db.readOne(ctx, "message", user, k)
		if err != nil {
			return false, err
		}
		m, ok := table.DecodeMessage(it)
		if !ok {
			return false, fault.Missing("message")
		}
		d, err := s.newForgetting(ctx, k, m)
		if err != nil {
			return false, err
		}
		t = d.tombstone
		failures, err := s.db.Commit(ctx, op, d.tx, b)
		return failures == nil, err
	})
	return t, err
}

// newForgetting returns the transaction that marks a message, in its record and in that of its session. A summary that
// covers the message is deleted, and the session is due for another one. A worker that read the session before cannot
// store its summary any more, and one that reads it now sees the mark even where an index lags. So a repeat leaves the
// summary as it is.
func (s *DeletionStore) newForgetting(ctx context.Context, k table.Key, m conversation.Message,
) (messageDeletion, error) {
	user, _ := table.ParsePartition(k.PK)
	sk, _ := table.SessionSK(m.Context, m.SessionID)
	sessionKey := table.UserKey(user, sk)
	before, _, err := s.sessions.record(ctx, user, sessionKey)
	if err != nil {
		return messageDeletion{}, err
	}
	d := messageDeletion{tx: s.db.Transaction(), after: before.Forgetting(m.Seq), tombstone: erasure.Tombstone{
		User: user, Generation: m.Generation, Message: &m, DeletedAt: s.db.Now(),
	}}
	d.tx.Update(k, table.Set(table.AttrForgotten, true), table.IsOf(before))
	isAsRead := table.IsUnchanged(before).And(hasSameSummary(before), isForgottenSeqs(before))
	if before.Version == 0 || before.Forgotten.Contains(m.Seq) {
		d.tx.Check(sessionKey, isAsRead)
		return d, nil
	}
	path := table.LayoutOf(before).Path
	u := table.Set(path(table.AttrForgottenSeqs), d.after.Forgotten.String())
	if d.after.Summary == nil && before.Summary != nil {
		u = renewSummary(s.db, &d, before, u)
	}
	d.tx.Update(sessionKey, u, isAsRead)
	return d, nil
}

// renewSummary deletes the summary of a session, which is due for another one. u is the update of the session.
func renewSummary(db *DB, d *messageDeletion, before conversation.Session, u table.Update) table.Update {
	path := table.LayoutOf(before).Path
	u = dueAfter(db, u, d.tombstone.User, before, d.after, true).
		SetWatermark(path(table.AttrSummarizedSeq), path(table.AttrSummarizedAt), d.after.Summarized)
	return dropSummary(d.tx, &d.tombstone, before, u, db.Now())
}

// isForgottenSeqs is the condition that no message of the session was forgotten since it was read.
func isForgottenSeqs(session conversation.Session) table.Condition {
	return isSeqSet(table.LayoutOf(session).Path(table.AttrForgottenSeqs), session.Forgotten)
}
