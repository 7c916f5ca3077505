package recall

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/vector"
)

// indexQuery is a query of the index that is under way.
type indexQuery struct {
	// visible is what the query is limited to.
	visible visibility
	cancel  context.CancelFunc
	// done is closed when the fields below are set.
	done    chan struct{}
	matches []vector.Match
	err     error
	took    time.Duration
}

// ask begins to query the index for what is visible. The caller stops the query when it no longer needs the answer.
func (s *Service) ask(ctx context.Context, user conversation.UserID, visible visibility, dense []float32) *indexQuery {
	ctx, cancel := context.WithTimeout(ctx, s.IndexTimeout)
	q := &indexQuery{visible: visible, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(q.done)
		started := time.Now()
		var err error
		query := visible.query(dense)
		if s.Version != "" {
			query.Fields = append(slices.Clip(query.Fields), vector.FieldEmbedding)
		}
		q.matches, err = nearest(ctx, s.index, user, visible, query)
		q.err, q.took = late(ctx, err), time.Since(started)
	}()
	return q
}

// nearest returns what an index has for a query. A long history has more that is like a question than the ranking looks
// at, so that what is of the days that the question names is asked for by itself, at the same time. Without an answer
// to that the other one is enough.
func nearest(
	ctx context.Context, index vector.Querier, user conversation.UserID, v visibility, q vector.Query,
) ([]vector.Match, error) {
	var group sync.WaitGroup
	var ofDays []vector.Match
	if days := daysOf(v); len(days) > 0 {
		dated := q
		dated.Filter, dated.TopK = vector.AllOf(q.Filter, vector.AnyOf(days...)), datedPool
		group.Go(func() { ofDays, _ = index.Query(ctx, user, v.generation, dated) })
	}
	found, err := index.Query(ctx, user, v.generation, q)
	group.Wait()
	return vector.Union(found, ofDays), err
}

// daysOf are filters of the days that a ranked search names.
func daysOf(v visibility) (filters []vector.Filter) {
	if !v.Ranked {
		return nil
	}
	for _, s := range v.asked.Spans() {
		filters = append(filters, vector.AllOf(vector.Where(vector.FieldTime, vector.AtLeast, vector.Epoch(s.From)),
			vector.Where(vector.FieldTime, vector.Below, vector.Epoch(s.To))))
	}
	return filters
}

// stop ends the query and waits for its end.
func (q *indexQuery) stop() {
	q.cancel()
	<-q.done
}

// isOf reports whether the query of what is visible would be the same: in the same namespace, with the same
// filter. The rest of a query does not depend on the user's access.
func (q *indexQuery) isOf(visible visibility) bool {
	return q.visible.generation == visible.generation &&
		reflect.DeepEqual(q.visible.filter(), visible.filter())
}

// errOtherModel says that the index has vectors that are not to be compared with those of the model.
var errOtherModel = errors.New("vectors of another embedding model are left out: the index has to be filled again")

// answer waits for a query's matches; ok is false when the index did not answer. Those of another model are left out.
func (s *Service) answer(ctx context.Context, q *indexQuery, found *Found) (matches []vector.Match, ok bool) {
	<-q.done
	found.Timings[s.index.Source()] = q.took
	if q.err != nil {
		s.degrade(ctx, found, s.index.Source(), q.err)
		return nil, false
	}
	all := len(q.matches)
	matches = slices.DeleteFunc(q.matches, func(m vector.Match) bool {
		of := stringField(m, vector.FieldEmbedding)
		return of != "" && s.Version != "" && of != s.Version
	})
	if len(matches) < all {
		s.degrade(ctx, found, s.index.Source(), errOtherModel)
	}
	return matches, true
}
