package dynamo

import (
	"context"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
)

// ReadCurrent reads a user's records together with the user's generation, and with the record that the adoption needs,
// so that neither takes a call of its own.
func (db *DB) ReadCurrent(ctx context.Context, op string, user conversation.UserID, keys ...table.Key,
) (table.RecordSet, error) {
	began := db.Now()
	all := append(slices.Clip(keys), table.GenerationKey(user))
	isNoted := false
	if db.adoption != nil && len(all) < table.MaxBatchGet {
		var k table.Key
		if k, isNoted = db.adoption.Beside(began); isNoted {
			all = append(all, k)
		}
	}
	r, err := db.Read(ctx, op, all...)
	if err != nil {
		return nil, err
	}
	db.cache.saveGeneration(user, r.Generation(user))
	if isNoted {
		db.adoption.Noted(r, began)
	}
	return r, nil
}

// readOne reads a record of the user's generation. It is NotFound where there is none.
func (db *DB) readOne(ctx context.Context, what string, user conversation.UserID, k table.Key) (table.Item, error) {
	records, err := db.ReadCurrent(ctx, "read "+what, user, k)
	if err != nil {
		return nil, err
	}
	it, ok := records.Current(user, k)
	if !ok {
		return nil, fault.Missing(what)
	}
	return it, nil
}

// commitAtGeneration carries out a transaction that needs the user's generation. It starts with the cached one. Where
// the condition at the place that build returns fails because of another generation, it builds the transaction again
// with that one. It returns the places of the last transaction with its failures.
func (db *DB) commitAtGeneration(ctx context.Context, op string, user conversation.UserID, b *table.Backoff,
	build func(generation int64) (t *table.Transaction, place int),
) (table.ConditionFailures, error) {
	generation := db.cache.generation(user)
	for {
		t, place := build(generation)
		failures, err := db.Commit(ctx, op, t, b)
		if err != nil || failures == nil {
			return nil, err
		}
		existing, mismatch := failures[place]
		if !mismatch || existing.Int64(table.AttrGeneration) == generation {
			return failures, nil
		}
		generation = existing.Int64(table.AttrGeneration)
		db.cache.saveGeneration(user, generation)
	}
}

// collectCurrent collects a page of records of the user's current generation. Records of an earlier one are what an
// unfinished erasure has still to delete. The generation is read while the list is.
func collectCurrent[T any](ctx context.Context, db *DB, user conversation.UserID, limit int,
	records iter.Seq2[table.Item, error], pick func(table.Item) (T, bool),
) ([]T, conversation.Position, error) {
	var current table.RecordSet
	var g errgroup.Group
	g.Go(func() (err error) {
		current, err = db.ReadCurrent(ctx, "read generation", user)
		return err
	})
	p := table.Pager[T]{Limit: limit}
	items, next, err := p.Collect(records, func(it table.Item) (T, bool) {
		v, ok := pick(it)
		return v, ok && g.Wait() == nil && it.Int64(table.AttrGeneration) >= current.Generation(user)
	})
	if waitErr := g.Wait(); err == nil && waitErr != nil {
		return nil, "", waitErr
	}
	return items, next, err
}
