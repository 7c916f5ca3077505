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

// DueBefore lists sessions whose dueAt has come, from all shards at once, earliest first.
func (s *Store) DueBefore(ctx context.Context, at time.Time, limit int) ([]summary.Due, error) {
	keys, err := s.dueKeys(ctx, at, limit, func(k key) bool {
		_, _, ok := parseSessionSK(k.sk)
		return ok
	})
	due := make([]summary.Due, len(keys))
	for i, it := range keys {
		user, _ := userIn(it.text(attrPK))
		context, id, _ := parseSessionSK(it.text(attrSK))
		due[i] = summary.Due{User: user, Context: context, SessionID: id, DueAt: it.time(attrDueAt)}
	}
	return due, err
}

// dueKeys reads the shards of the due index and returns the earliest keys that are wanted.
func (s *Store) dueKeys(ctx context.Context, at time.Time, limit int, wanted func(key) bool) ([]item, error) {
	shards := make([][]item, dueShards)
	g, ctx := errgroup.WithContext(ctx)
	for n := range shards {
		g.Go(func() (err error) {
			shards[n], err = s.dueIn(ctx, n, at, limit, wanted)
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

func (s *Store) dueIn(ctx context.Context, shard int, at time.Time, limit int, wanted func(key) bool) ([]item, error) {
	where := expression.Key(attrDueShard).Equal(value(whole(shard))).
		And(expression.Key(attrDueAt).LessThanEqual(value(moment(at))))
	var due []item
	for it, err := range s.query(ctx, "list what is due", query{index: DueIndex, where: where, page: limit}) {
		if err != nil {
			return nil, err
		}
		if wanted(keyIn(it)) {
			due = append(due, it)
		}
		if len(due) == limit {
			break
		}
	}
	return due, nil
}

// Rearm sets when the sweep looks at the session next.
func (s *Store) Rearm(ctx context.Context, user conversation.UserID, session conversation.Session, at time.Time) error {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return fault.Missing("session")
	}
	u := expression.Set(field(attrDueAt), value(moment(at))).
		Set(field(attrDueShard), value(whole(dueShard(key{partition(user), sk}))))
	_, err := s.touch(ctx, "rearm session", user, session, u)
	return err
}

// Settle removes the session from the due index on condition that the table itself says that nothing is uncovered: an
// append in between wins.
func (s *Store) Settle(ctx context.Context, user conversation.UserID, session conversation.Session) error {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return fault.Missing("session")
	}
	covered := isIncarnation(session).
		And(field(attrSummarizedSeq).GreaterThanEqual(field(attrLastSeq)),
			field(attrIndexedSeq).GreaterThanEqual(field(attrLastSeq)))
	u := expression.Remove(field(attrDueAt)).Remove(field(attrDueShard))
	_, err := s.updateItem(ctx, key{partition(user), sk}, u, covered)
	if _, refused := conditionFailed(err); refused {
		return nil
	}
	return failed("settle session", err)
}
