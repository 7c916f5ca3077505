package reindex_test

import (
	"context"
	"errors"
	"sync"

	"github.com/throughline/throughline/infra/reindex"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/vector"
)

// remote is between a run and the services. Before each call of a user's reindex it calls before, with the number
// of the call in the reindex. The run is killed at a call, counted over all users, for which isKilled is true: the call
// is made, and its answer is lost.
type remote struct {
	mu       sync.Mutex
	calls    int
	byUser   map[conversation.UserID]int
	before   func(user conversation.UserID, call int)
	isKilled func(call int) bool
}

var errKilled = errors.New("killed")

// interrupted returns deps whose remote calls are counted, and at which a run is interrupted.
func interrupted(d reindex.Deps, before func(conversation.UserID, int), isKilled func(call int) bool) reindex.Deps {
	r := &remote{byUser: map[conversation.UserID]int{}, before: before, isKilled: isKilled}
	d.Store, d.Next.Index = remoteStore{d.Store, r}, remoteIndex{d.Next.Index, r}
	return d
}

// call makes a call, unless the run has been killed before.
func call[T any](r *remote, user conversation.UserID, do func() (T, error)) (T, error) {
	var none T
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls++; r.calls > 1 && r.isKilled(r.calls-1) {
		return none, errKilled
	}
	if user != "" {
		r.byUser[user]++
		r.before(user, r.byUser[user])
	}
	out, err := do()
	if r.isKilled(r.calls) {
		return none, errKilled
	}
	return out, err
}

type remoteIndex struct {
	vector.Index
	r *remote
}

func (x remoteIndex) Upsert(ctx context.Context, user conversation.UserID, generation int64, records []vector.Record,
) error {
	_, err := call(x.r, user, func() (int, error) { return 0, x.Index.Upsert(ctx, user, generation, records) })
	return err
}

func (x remoteIndex) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := call(x.r, user, func() (int, error) { return 0, x.Index.Delete(ctx, user, generation, ids) })
	return err
}

type remoteStore struct {
	reindex.Store
	r *remote
}

func (s remoteStore) Users(ctx context.Context, segment, segments int, after string) (
	users []conversation.UserID, next string, err error,
) {
	_, err = call(s.r, "", func() (int, error) {
		users, next, err = s.Store.Users(ctx, segment, segments, after)
		return 0, err
	})
	return users, next, err
}

func (s remoteStore) Records(ctx context.Context, user conversation.UserID, after string) (reindex.Page, error) {
	return call(s.r, user, func() (reindex.Page, error) { return s.Store.Records(ctx, user, after) })
}

func (s remoteStore) Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string,
) ([]recall.Hit, error) {
	return call(s.r, user, func() ([]recall.Hit, error) { return s.Store.Resolve(ctx, user, generation, ids) })
}

func (s remoteStore) WithoutRecord(ctx context.Context, user conversation.UserID, generation int64, ids []string,
) ([]string, error) {
	return call(s.r, user, func() ([]string, error) { return s.Store.WithoutRecord(ctx, user, generation, ids) })
}

func (s remoteStore) SaveCheckpoint(ctx context.Context, to string, c reindex.Checkpoint) error {
	_, err := call(s.r, "", func() (int, error) { return 0, s.Store.SaveCheckpoint(ctx, to, c) })
	return err
}
