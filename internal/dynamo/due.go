package dynamo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
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
	where := expression.Key(attrDueShard).Equal(value(intAttr(shard))).
		And(expression.Key(attrDueAt).LessThanEqual(value(timeAttr(at))))
	q := query{index: DueIndex, where: where, page: limit}
	if after != nil {
		q.after = key{after.Partition, after.ID}.attributes()
		q.after[attrDueShard], q.after[attrDueAt] = intAttr(shard), timeAttr(after.DueAt)
	}
	due := make([]sweep.Due, 0, min(limit, maxBatchGet))
	for it, err := range s.db.query(ctx, "list what is due", q) {
		if err != nil {
			return nil, err
		}
		k := keyOf(it)
		user, _ := parsePartition(k.pk)
		due = append(due, sweep.Due{Partition: k.pk, ID: k.sk, User: user, Shard: shard, DueAt: it.time(attrDueAt)})
		if len(due) == limit {
			break
		}
	}
	return due, nil
}

// queueOf returns the queue of the records with a sort key.
func queueOf(sk string) sweep.Queue {
	if _, _, isSession := parseSessionSK(sk); isSession {
		return sweep.Sessions
	}
	if isTombstone(key{sk: sk}) || strings.HasPrefix(sk, forgottenPrefix) {
		return sweep.Deletions
	}
	if strings.HasPrefix(sk, spineMarkPrefix) {
		return sweep.Spines
	}
	if strings.HasPrefix(sk, skippedPrefix) {
		return sweep.Skipped
	}
	return sweep.Records
}

// setDue makes a record fall due.
func setDue(u expression.UpdateBuilder, k key, at time.Time) expression.UpdateBuilder {
	return u.Set(field(attrDueAt), value(timeAttr(at))).Set(field(attrDueShard), value(intAttr(dueShard(k))))
}

// setDueIfNone makes a record that is not in the due index fall due.
func setDueIfNone(u expression.UpdateBuilder, k key, at time.Time) expression.UpdateBuilder {
	return u.
		Set(field(attrDueAt), field(attrDueAt).IfNotExists(value(timeAttr(at)))).
		Set(field(attrDueShard), field(attrDueShard).IfNotExists(value(intAttr(dueShard(k)))))
}

// dueAfterIdle returns when a session falls due whose first message without a summary is stored now.
func (db *DB) dueAfterIdle() time.Time { return conversation.Milliseconds(db.now().Add(db.idle)) }

// removeDue removes a record from the due index.
func removeDue(u expression.UpdateBuilder) expression.UpdateBuilder {
	return endFailures(endClaim(u.Remove(field(attrDueAt)).Remove(field(attrDueShard))))
}

// endClaim removes the marks of a claim.
func endClaim(u expression.UpdateBuilder) expression.UpdateBuilder {
	return u.Remove(field(attrClaimedVersion)).Remove(field(attrClaimedBy))
}

// endFailures removes what is known of the attempts since work on the record last succeeded.
func endFailures(u expression.UpdateBuilder) expression.UpdateBuilder {
	return u.Remove(field(attrFailures)).Remove(field(attrDueSince))
}

// newClaim returns the update that claims a record, which is due at a time, until another. It counts a failure, which
// the end of a claim that succeeded takes back: so the failures of a worker that dies are counted, too. The version of
// the record tells later whether the worker has seen a change.
func newClaim(due, until time.Time) expression.UpdateBuilder {
	return expression.Set(field(attrDueAt), value(timeAttr(until))).
		Set(field(attrClaimedVersion), field(attrVersion).IfNotExists(value(intAttr(0)))).
		Set(field(attrDueSince), field(attrDueSince).IfNotExists(value(timeAttr(due)))).
		Add(field(attrFailures), value(intAttr(1)))
}

// isDueAt is the condition that a record is due at a time.
func isDueAt(at time.Time) expression.ConditionBuilder {
	return field(attrDueAt).Equal(value(timeAttr(at)))
}

// isClaimed is the condition that nobody has written the record since it was claimed.
func isClaimed(c sweep.Claim) expression.ConditionBuilder {
	return isDueAt(c.Until).And(expression.AttributeExists(field(attrClaimedVersion)))
}

func dueKey(d sweep.Due) key { return key{d.Partition, d.ID} }

// Claim claims a record that is still due when it was.
func (s *DueStore) Claim(ctx context.Context, d sweep.Due, until time.Time) (c sweep.Claim, ok bool, err error) {
	until = conversation.Milliseconds(until)
	return s.claim(ctx, d, until, newClaim(d.DueAt, until), isDueAt(d.DueAt))
}

// claim carries out the update u of a claim. A random token tells this claim from one that another worker made for the
// same time while this one's answer was lost.
func (s *DueStore) claim(ctx context.Context, d sweep.Due, until time.Time, u expression.UpdateBuilder,
	isAsRead expression.ConditionBuilder,
) (c sweep.Claim, ok bool, err error) {
	token := newRandomDigits(s.db.random)
	it, err := s.db.updateItem(ctx, dueKey(d), u.Set(field(attrClaimedBy), value(stringAttr(token))), isAsRead)
	if existing, moved := conditionFailed(err); moved {
		if !isAmbiguous(err) || existing.string(attrClaimedBy) != token {
			return sweep.Claim{}, false, nil
		}
		it, err = existing, nil // an earlier attempt claimed it, and its answer was lost
	}
	if err != nil {
		return sweep.Claim{}, false, failed("claim", err)
	}
	return sweep.Claim{
		Due: d, Until: until, Failures: int(it.int64(attrFailures)), Since: it.time(attrDueSince),
	}, true, nil
}

// Extend changes the time until which a record is claimed.
func (s *DueStore) Extend(ctx context.Context, c sweep.Claim, until time.Time) (sweep.Claim, error) {
	until = conversation.Milliseconds(until)
	u := expression.Set(field(attrDueAt), value(timeAttr(until)))
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

func postponed(at time.Time, succeeded bool) expression.UpdateBuilder {
	u := endClaim(expression.Set(field(attrDueAt), value(timeAttr(conversation.Milliseconds(at)))))
	if succeeded {
		u = endFailures(u)
	}
	return u
}

// Remove takes a claimed record out of the index.
func (s *DueStore) Remove(ctx context.Context, c sweep.Claim) error {
	return s.endOf(ctx, "remove from what is due", c, removeDue(expression.UpdateBuilder{}))
}

// endOf changes a claimed record, unless somebody has written it since.
func (s *DueStore) endOf(ctx context.Context, op string, c sweep.Claim, u expression.UpdateBuilder) error {
	_, err := s.db.updateItem(ctx, dueKey(c.Due), u, isClaimed(c))
	return failed(op, ignoreConditionFailed(err))
}

// leaseKey is the key of the lease of a shard, which belongs to no user.
func leaseKey(shard sweep.Shard) key { return key{"sweep", fmt.Sprintf("shard#%02d", shard)} }

// Lease gives a shard to an owner until a time, unless another owner has it.
func (s *DueStore) Lease(ctx context.Context, shard sweep.Shard, owner string, until time.Time) (bool, error) {
	u := expression.Set(field(attrLease), value(stringAttr(owner))).
		Set(field(attrLeaseUntil), value(timeAttr(until)))
	isFree := notExists().Or(field(attrLeaseUntil).LessThanEqual(value(timeAttr(s.db.now()))))
	_, err := s.db.updateItem(ctx, leaseKey(shard), u, isFree)
	if existing, taken := conditionFailed(err); taken {
		return isAmbiguous(err) && existing.string(attrLease) == owner, nil
	}
	return err == nil, failed("lease shard", err)
}

// Release gives a shard back.
func (s *DueStore) Release(ctx context.Context, shard sweep.Shard, owner string) error {
	err := s.db.deleteItem(ctx, leaseKey(shard), field(attrLease).Equal(value(stringAttr(owner))))
	return failed("release shard", ignoreConditionFailed(err))
}

// SessionDue reads the session of a due record.
func (s *DueStore) SessionDue(ctx context.Context, d sweep.Due) (conversation.Session, error) {
	context, id, ok := parseSessionSK(d.ID)
	if !ok {
		return conversation.Session{}, fault.Missing("session")
	}
	return NewSessionReader(s.db).SessionIn(ctx, d.User, context, id)
}

// ClaimSession claims a session that is due when it was read, or that is not in the due index as it was read.
func (s *DueStore) ClaimSession(ctx context.Context, user conversation.UserID, session conversation.Session,
	until time.Time,
) (c sweep.Claim, ok bool, err error) {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return sweep.Claim{}, false, fault.Missing("session")
	}
	k := key{partition(user), sk}
	shard := dueShard(k)
	until = conversation.Milliseconds(until)
	isAsRead, due := expression.AttributeNotExists(field(attrDueAt)), s.db.now()
	if !session.DueAt.IsZero() {
		isAsRead, due = isDueAt(session.DueAt), session.DueAt
	}
	u := newClaim(due, until).Set(field(attrDueShard), value(intAttr(shard)))
	d := sweep.Due{Partition: k.pk, ID: k.sk, User: user, Shard: shard, DueAt: session.DueAt}
	return s.claim(ctx, d, until, u, isIncarnation(session).And(isAsRead))
}

// Settle removes the session from the due index on condition that every message is summarised and indexed, that those
// of the user are read for memories, and that neither the session nor its summary has changed. After an append, an edit
// or another summary in between it does nothing.
func (s *DueStore) Settle(ctx context.Context, user conversation.UserID, session conversation.Session) (bool, error) {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return false, fault.Missing("session")
	}
	isCovered := isUnchanged(session).
		And(field(attrSummarizedSeq).GreaterThanEqual(field(attrLastSeq)),
			field(attrIndexedSeq).GreaterThanEqual(field(attrLastSeq)), hasSummaryOf(session),
			expression.AttributeNotExists(field(attrUserSeq)).
				Or(field(attrExtractedSeq).GreaterThanEqual(field(attrUserSeq))))
	u := setSummaryIndexed(removeDue(expression.UpdateBuilder{}), session)
	_, err := s.db.updateItem(ctx, key{partition(user), sk}, u, isCovered)
	if existing, changed := conditionFailed(err); changed {
		return isAmbiguous(err) && existing != nil && !existing.has(attrDueAt), nil
	}
	return err == nil, failed("settle session", err)
}

// EndClaim ends the claim of a session that is not done, makes it due at a time, and stores whether its summary is
// indexed. Where it finds everything covered after all, it settles the session.
func (s *DueStore) EndClaim(ctx context.Context, c sweep.Claim, session conversation.Session, at time.Time,
	succeeded bool,
) error {
	const op = "end claim"
	u := postponed(at, succeeded)
	cond := isClaimed(c)
	it, err := s.db.updateItem(ctx, dueKey(c.Due), setSummaryIndexed(u, session), cond.And(hasSummaryOf(session)))
	if _, changed := conditionFailed(err); changed { // another summary, or another worker's claim
		return s.endOf(ctx, op, c, u)
	}
	if err != nil {
		return failed(op, err)
	}
	return s.settleCovered(ctx, c.User, it)
}

// settleCovered settles a session whose record was just written, if everything in it is covered.
func (s *DueStore) settleCovered(ctx context.Context, user conversation.UserID, it item) error {
	session, ok := decodeSession(it)
	if !ok || session.DueAt.IsZero() || session.Indexed.Seq < session.LastSeq || !summary.IsDone(session) {
		return nil
	}
	_, err := s.Settle(ctx, user, session)
	return err
}

// hasSummaryOf is the condition that the session's record has the summary that the session has.
func hasSummaryOf(session conversation.Session) expression.ConditionBuilder {
	if session.Summary == nil {
		return expression.AttributeNotExists(field(attrSummaryUpdatedAt))
	}
	return field(attrSummaryUpdatedAt).Equal(value(timeAttr(session.Summary.UpdatedAt)))
}

// setSummaryIndexed stores that the session's summary is indexed, if it is. A later summary has another time.
func setSummaryIndexed(u expression.UpdateBuilder, session conversation.Session) expression.UpdateBuilder {
	if session.Summary == nil || !session.Summary.Indexed {
		return u
	}
	return u.Set(field(attrSummaryIndexedAt), value(timeAttr(session.Summary.UpdatedAt)))
}
