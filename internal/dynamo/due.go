package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
)

// DueStore keeps the index of what the sweep has to work on. It is safe for concurrent use.
type DueStore struct{ db *DB }

var _ sweep.Store = (*DueStore)(nil)

// NewDueStore returns the due records of a DB.
func NewDueStore(db *DB) *DueStore { return &DueStore{db} }

// Due reads one page of a shard. The index has the keys of records only.
func (s *DueStore) Due(ctx context.Context, shard sweep.Shard, at time.Time, after *sweep.Due, limit int,
) ([]sweep.Due, error) {
	where := expression.Key(table.AttrDueShard).Equal(table.Value(shard)).
		And(expression.Key(table.AttrDueAt).LessThanEqual(table.Value(at)))
	q := table.Query{Index: table.DueIndex, Where: where, Page: limit}
	if after != nil {
		q.After = table.NewKey(after.Partition, after.ID).Attributes()
		q.After[table.AttrDueShard], q.After[table.AttrDueAt] = table.IntAttr(shard), table.TimeAttr(after.DueAt)
	}
	due := make([]sweep.Due, 0, min(limit, table.MaxBatchGet))
	for it, err := range s.db.Query(ctx, "list what is due", q) {
		if err != nil {
			return nil, err
		}
		k := table.KeyOf(it)
		user, _ := table.ParsePartition(k.PK)
		due = append(due, sweep.Due{Partition: k.PK, ID: k.SK, User: user, Shard: shard, DueAt: it.Time(table.AttrDueAt)})
		if len(due) == limit {
			break
		}
	}
	return due, nil
}

// DueAfterIdle returns when a session falls due whose first message without a summary is stored now.
func (db *DB) DueAfterIdle() time.Time { return conversation.Milliseconds(db.Now().Add(db.idle)) }

// dueAfter makes a session due that a write leaves with something to do: at once where the write takes messages or the
// summary away, else when the session has been idle. Of a session that is not migrated the migration's action index
// does it.
func dueAfter(db *DB, u table.Update, user conversation.UserID, before, after conversation.Session, dropsSummary bool,
) table.Update {
	completes := after.Status == conversation.Completed && before.Status != conversation.Completed && after.LastSeq > 0
	k := table.KeyOfSession(user, after)
	switch {
	case !after.IsMigrated():
		return u
	case after.Uncovered() && (dropsSummary || after.MessageCount < before.MessageCount):
		return u.SetDue(k, db.Now())
	case completes || after.Uncovered() || summary.IsOutdated(after):
		return u.SetDueIfNone(k, db.DueAfterIdle())
	}
	return u
}

// newClaim returns the update that claims a record, which is due at a time, until another. It counts a failure, which
// the end of a claim that succeeded takes back: so the failures of a worker that dies are counted, too. The version of
// the record shows later whether the worker has seen a change.
func newClaim(due, until time.Time) table.Update {
	return table.Set(table.AttrDueAt, until).
		SetTo(table.AttrClaimedVersion, table.Field(table.AttrVersion).IfNotExists(table.Value(0))).
		SetIfNone(table.AttrDueSince, due).
		Add(table.AttrFailures, 1)
}

// isDueAt is the condition that a record is due at a time.
func isDueAt(at time.Time) table.Condition {
	return table.Is(table.AttrDueAt, at)
}

// isClaimed is the condition that nobody has written the record since it was claimed.
func isClaimed(c sweep.Claim) table.Condition {
	return isDueAt(c.Until).And(table.Has(table.AttrClaimedVersion))
}

func dueKey(d sweep.Due) table.Key { return table.NewKey(d.Partition, d.ID) }

// Claim claims a record that is still due when it was.
func (s *DueStore) Claim(ctx context.Context, d sweep.Due, until time.Time) (c sweep.Claim, ok bool, err error) {
	until = conversation.Milliseconds(until)
	return s.claim(ctx, d, until, newClaim(d.DueAt, until), isDueAt(d.DueAt))
}

// claim carries out the update u of a claim. A random token distinguishes this claim from one that another worker made
// for the same time while this one's answer was lost.
func (s *DueStore) claim(ctx context.Context, d sweep.Due, until time.Time, u table.Update, isAsRead table.Condition,
) (c sweep.Claim, ok bool, err error) {
	token := table.NewRandomDigits(s.db.Random)
	it, err := s.db.UpdateOnce(ctx, dueKey(d),
		u.Set(table.AttrClaimedBy, token).Set(table.AttrClaimedAt, s.db.Now()), isAsRead,
		func(existing table.Item) bool { return existing.String(table.AttrClaimedBy) == token })
	if _, moved := table.ConditionFailed(err); moved {
		return sweep.Claim{}, false, nil
	}
	if err != nil {
		return sweep.Claim{}, false, table.Failed("claim", err)
	}
	return sweep.Claim{
		Due: d, Until: until, Failures: int(it.Int64(table.AttrFailures)), Since: it.Time(table.AttrDueSince),
	}, true, nil
}

// Extend changes the time until which a record is claimed.
func (s *DueStore) Extend(ctx context.Context, c sweep.Claim, until time.Time) (sweep.Claim, error) {
	until = conversation.Milliseconds(until)
	u := table.Set(table.AttrDueAt, until)
	if err := s.endOf(ctx, "extend claim", c, u); err != nil {
		return c, err
	}
	c.Until = until
	return c, nil
}

// Postpone ends a claim and makes its record due at a time.
func (s *DueStore) Postpone(ctx context.Context, c sweep.Claim, at time.Time, succeeded bool) error {
	return s.endOf(ctx, "postpone", c, postponed(at, succeeded))
}

func postponed(at time.Time, succeeded bool) table.Update {
	u := table.Set(table.AttrDueAt, conversation.Milliseconds(at)).EndClaim()
	if succeeded {
		u = u.EndFailures()
	}
	return u
}

// Remove takes a claimed record out of the index.
func (s *DueStore) Remove(ctx context.Context, c sweep.Claim) error {
	return s.endOf(ctx, "remove from what is due", c, table.Update{}.RemoveDue())
}

// endOf changes a claimed record, unless somebody has written it since.
func (s *DueStore) endOf(ctx context.Context, op string, c sweep.Claim, u table.Update) error {
	return s.db.UpdateWhere(ctx, op, dueKey(c.Due), u, isClaimed(c))
}

// leaseKey is the key of the lease of a shard, which belongs to no user.
func leaseKey(shard sweep.Shard) table.Key {
	return table.NewKey("sweep", fmt.Sprintf("shard#%02d", shard))
}

// Lease gives a shard to an owner until a time, unless another owner has it.
func (s *DueStore) Lease(ctx context.Context, shard sweep.Shard, owner string, until time.Time) (bool, error) {
	u := table.Set(table.AttrLease, owner).Set(table.AttrLeaseUntil, until)
	isFree := table.NotExists().Or(table.IsAtMost(table.AttrLeaseUntil, s.db.Now()))
	_, err := s.db.UpdateOnce(ctx, leaseKey(shard), u, isFree, func(existing table.Item) bool {
		return existing.String(table.AttrLease) == owner
	})
	if _, taken := table.ConditionFailed(err); taken {
		return false, nil
	}
	return err == nil, table.Failed("lease shard", err)
}

// Release gives a shard back.
func (s *DueStore) Release(ctx context.Context, shard sweep.Shard, owner string) error {
	return s.db.DeleteWhere(ctx, "release shard", leaseKey(shard), table.Is(table.AttrLease, owner))
}

// SessionDue reads the session of a due record.
func (s *DueStore) SessionDue(ctx context.Context, d sweep.Due) (conversation.Session, error) {
	context, id, ok := table.ParseSessionSK(d.ID)
	if !ok {
		return conversation.Session{}, fault.Missing("session")
	}
	return NewSessionReader(s.db).SessionIn(ctx, d.User, context, id)
}

// ClaimSession claims a session that is due when it was read, or that is not in the due index as it was read.
func (s *DueStore) ClaimSession(ctx context.Context, user conversation.UserID, session conversation.Session,
	until time.Time,
) (c sweep.Claim, ok bool, err error) {
	k := table.KeyOfSession(user, session)
	shard := table.DueShard(k)
	until = conversation.Milliseconds(until)
	isAsRead, due := table.Lacks(table.AttrDueAt), s.db.Now()
	if !session.DueAt.IsZero() {
		isAsRead, due = isDueAt(session.DueAt), session.DueAt
	}
	u := newClaim(due, until).Set(table.AttrDueShard, shard)
	d := sweep.Due{Partition: k.PK, ID: k.SK, User: user, Shard: shard, DueAt: session.DueAt}
	return s.claim(ctx, d, until, u, table.IsIncarnation(session).And(isAsRead))
}

// Settle removes the session from the due index on condition that every message is summarised and indexed, that those
// of the user are read for memories, and that neither the session nor its summary has changed. After an append, an edit
// or another summary in between it does nothing.
func (s *DueStore) Settle(ctx context.Context, user conversation.UserID, session conversation.Session) (bool, error) {
	isCovered := table.IsUnchanged(session).
		And(table.Field(table.AttrSummarizedSeq).GreaterThanEqual(table.Field(table.AttrLastSeq)),
			table.Field(table.AttrIndexedSeq).GreaterThanEqual(table.Field(table.AttrLastSeq)), hasSummaryOf(session),
			table.Lacks(table.AttrUserSeq).
				Or(table.Field(table.AttrExtractedSeq).GreaterThanEqual(table.Field(table.AttrUserSeq))))
	u := setSummaryIndexed(table.Update{}.RemoveDue(), session)
	_, err := s.db.UpdateOnce(ctx, table.KeyOfSession(user, session), u, isCovered, func(existing table.Item) bool {
		return existing != nil && !existing.Has(table.AttrDueAt)
	})
	if _, changed := table.ConditionFailed(err); changed {
		return false, nil
	}
	return err == nil, table.Failed("settle session", err)
}

// EndClaim ends the claim of a session that is not done, makes it due at a time, and stores whether its summary is
// indexed. Where it finds everything covered after all, it settles the session.
func (s *DueStore) EndClaim(ctx context.Context, c sweep.Claim, session conversation.Session, at time.Time,
	succeeded bool,
) error {
	const op = "end claim"
	u := setSummaryIndexed(postponed(at, succeeded), session)
	it, err := s.db.UpdateItem(ctx, dueKey(c.Due), u, isClaimed(c).And(hasSummaryOf(session)))
	if _, changed := table.ConditionFailed(err); changed { // another summary, or another worker's claim
		return s.endOf(ctx, op, c, postponed(at, succeeded))
	}
	if err != nil {
		return table.Failed(op, err)
	}
	return s.settleCovered(ctx, c.User, it)
}

// settleCovered settles a session whose record was just written, if everything in it is covered.
func (s *DueStore) settleCovered(ctx context.Context, user conversation.UserID, it table.Item) error {
	session, ok := s.db.DecodeSession(it)
	if !ok || session.DueAt.IsZero() || session.Indexed.Seq < session.LastSeq || !summary.IsDone(session) {
		return nil
	}
	_, err := s.Settle(ctx, user, session)
	return err
}

// hasSummaryOf is the condition that the session's record has the summary that the session has.
func hasSummaryOf(session conversation.Session) table.Condition {
	if session.Summary == nil {
		return table.Lacks(table.AttrSummaryUpdatedAt)
	}
	return table.Is(table.AttrSummaryUpdatedAt, session.Summary.UpdatedAt)
}

// setSummaryIndexed stores that the session's summary is indexed, if it is. A later summary has another time.
func setSummaryIndexed(u table.Update, session conversation.Session) table.Update {
	if session.Summary == nil || !session.Summary.Indexed {
		return u
	}
	return u.Set(table.AttrSummaryIndexedAt, session.Summary.UpdatedAt)
}
