package recall

import (
	"context"
	"errors"
	"reflect"
	"slices"
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
		q.matches, err = s.index.Query(ctx, user, visible.generation, query)
		q.err, q.took = late(ctx, err), time.Since(started)
	}()
	return q
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
