package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
)

// DueStore lists the sessions that the sweep has to look at. It is safe for concurrent use.
type DueStore struct{ db *DB }

// NewDueStore returns the due sessions of a DB.
func NewDueStore(db *DB) *DueStore { return &DueStore{db} }

// DueBefore lists sessions whose dueAt has passed, earliest first.
func (s *DueStore) DueBefore(ctx context.Context, at time.Time, limit int) ([]summary.Due, error) {
	records, err := s.readDue(ctx, at, limit, func(k key) bool {
		_, _, ok := parseSessionSK(k.sk)
		return ok
	})
	due := make([]summary.Due, len(records))
	for i, it := range records {
		user, _ := parsePartition(it.string(attrPK))
		context, id, _ := parseSessionSK(it.string(attrSK))
		due[i] = summary.Due{User: user, Context: context, SessionID: id, DueAt: it.time(attrDueAt)}
	}
	return due, err
}

// readDue reads all shards of the due index side by side and returns the earliest records that are wanted.
func (s *DueStore) readDue(ctx context.Context, at time.Time, limit int, wanted func(key) bool) ([]item, error) {
	shards := make([][]item, dueShards)
	g, ctx := errgroup.WithContext(ctx)
	for n := range shards {
		g.Go(func() (err error) {
			shards[n], err = s.readDueShard(ctx, n, at, limit, wanted)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(shards...)
	slices.SortStableFunc(all, func(a, b item) int { return a.time(attrDueAt).Compare(b.time(attrDueAt)) })
	return all[:min(limit, len(all))], nil
}

func (s *DueStore) readDueShard(ctx context.Context, shard int, at time.Time, limit int, wanted func(key) bool,
) ([]item, error) {
	where := expression.Key(attrDueShard).Equal(value(intAttr(shard))).
		And(expression.Key(attrDueAt).LessThanEqual(value(timeAttr(at))))
	var due []item
	for it, err := range s.db.query(ctx, "list what is due", query{index: DueIndex, where: where, page: limit}) {
		if err != nil {
			return nil, err
		}
		if wanted(keyOf(it)) {
			due = append(due, it)
		}
		if len(due) == limit {
			break
		}
	}
	return due, nil
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
	return u.Remove(field(attrDueAt)).Remove(field(attrDueShard))
}

// Rearm sets when the sweep looks at the session next.
func (s *DueStore) Rearm(ctx context.Context, user conversation.UserID, session conversation.Session, at time.Time,
) error {
	sk, _ := sessionSK(session.Context, session.ID)
	u := setDue(expression.UpdateBuilder{}, key{partition(user), sk}, at)
	return s.db.updateSession(ctx, "rearm session", user, session, u)
}

// Settle removes the session from the due index on condition that every message is summarised and indexed and that the
// session is unchanged. After an append or an edit in between it does nothing.
func (s *DueStore) Settle(ctx context.Context, user conversation.UserID, session conversation.Session) error {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return fault.Missing("session")
	}
	isCovered := isUnchanged(session).
		And(field(attrSummarizedSeq).GreaterThanEqual(field(attrLastSeq)),
			field(attrIndexedSeq).GreaterThanEqual(field(attrLastSeq)))
	_, err := s.db.updateItem(ctx, key{partition(user), sk}, removeDue(expression.UpdateBuilder{}), isCovered)
	return failed("settle session", ignoreConditionFailed(err))
}
