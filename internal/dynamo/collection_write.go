package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// recordChange is one write of a record, either a new one or one that was read and changed.
type recordChange[T any] struct {
	from       *stored[T] // nil for a new record
	to         T
	generation int64
	// isMove says that the record only becomes past.
	isMove bool
	// idem and at, the time of creation, belong to a new record.
	idem conversation.Idempotency
	at   time.Time
}

// maxMoves and maxMoveBytes bound the other records that one write makes past. The next write goes on. A transaction
// holds at most 4 MB, and a record that moves is deleted and written in one.
const (
	maxMoves     = 20
	maxMoveBytes = 3 << 19
)

// recordWrite is the transaction of a write, with the places of its conditions. idemPlace is -1 without an idempotency
// key.
type recordWrite struct {
	tx                                   *table.Transaction
	ownPlace, generationPlace, idemPlace int
}

// writeNew stores a new record. existing is the idempotency record of an earlier call with the same key.
func (s *CollectionStore[T]) writeNew(ctx context.Context, user conversation.UserID, change recordChange[T],
) (existing table.Item, err error) {
	op := "write " + s.kind.Name
	err = s.db.Retry(ctx, op, func(ctx context.Context, b *table.Backoff) (bool, error) {
		var w recordWrite
		failures, err := s.db.commitAtGeneration(ctx, op, user, b, func(generation int64) (*table.Transaction, int) {
			change.generation = generation
			w = s.newWrite(ctx, user, change)
			return w.tx, w.generationPlace
		})
		if err != nil || failures == nil {
			return true, err
		}
		var isRepeat bool
		existing, isRepeat = failures[w.idemPlace]
		return isRepeat, nil
	})
	return existing, err
}

// writeChanged stores a record that was read and changed. done is false when another writer came first.
func (s *CollectionStore[T]) writeChanged(ctx context.Context, user conversation.UserID, change recordChange[T],
	b *table.Backoff,
) (done bool, err error) {
	w := s.newWrite(ctx, user, change)
	failures, err := s.db.Commit(ctx, "write "+s.kind.Name, w.tx, b)
	if err != nil || failures == nil {
		return err == nil, err
	}
	_, changed := failures[w.ownPlace]
	if _, erased := failures[w.generationPlace]; erased && !changed {
		return false, fault.Missing(s.kind.Name)
	}
	return false, nil
}

// newWrite returns the transaction that stores the record and makes others past that are no longer live, on condition
// of the user's generation.
func (s *CollectionStore[T]) newWrite(ctx context.Context, user conversation.UserID, change recordChange[T],
) recordWrite {
	w := recordWrite{tx: s.db.Transaction(), idemPlace: -1}
	if change.from == nil { // only this call knows its id
		w.tx.DoneIf(func(r table.RecordSet) bool { return len(r) > 0 }, s.kind.keys(user, *s.kind.ID(&change.to))...)
	}
	live, err := s.readLive(ctx, user, change)
	if err != nil {
		w.tx.Err = err
		return w
	}
	written := longterm.Sized[T]{Value: change.to, Bytes: s.encode(user, change.to, true, 1, change.generation).Size()}
	stays, past, err := s.kind.Place(sized(live), written, s.db.Now())
	if err != nil {
		w.tx.Err = err
		return w
	}
	w.ownPlace = s.addOwn(w.tx, user, change, stays)
	moved := 0
	for i, place := range past[:min(len(past), maxMoves)] {
		r := live[place]
		if moved += r.bytes; moved > maxMoveBytes && i > 0 {
			break
		}
		w.tx.Delete(r.key, isVersion(r.version))
		it := s.encode(user, r.value, false, r.version+1, change.generation)
		it.Set(table.AttrMoved, true)
		w.tx.Replace(it)
	}
	w.generationPlace = w.tx.Check(table.GenerationKey(user), table.IsGeneration(change.generation))
	if change.idem.Set() {
		record := newIdempotencyRecord(user, change.idem, change.generation, s.db.Now())
		record.Set(table.AttrCreatedAt, change.at)
		record.Set(table.AttrRecordID, *s.kind.ID(&change.to))
		w.idemPlace = w.tx.Put(record, isFreeKey(change.generation, s.db.Now()))
	}
	return w
}

// sized returns the records with their sizes.
func sized[T any](records []stored[T]) []longterm.Sized[T] {
	out := make([]longterm.Sized[T], len(records))
	for i, r := range records {
		out[i] = longterm.Sized[T]{Value: r.value, Bytes: r.bytes}
	}
	return out
}

// addOwn adds the write of the record itself and returns the place of its condition.
func (s *CollectionStore[T]) addOwn(t *table.Transaction, user conversation.UserID, change recordChange[T], live bool,
) int {
	if change.from == nil {
		return t.Put(s.encode(user, change.to, live, 1, change.generation), table.NotExists())
	}
	next := s.encode(user, change.to, live, change.from.version+1, change.generation)
	if change.isMove {
		next.Set(table.AttrMoved, true)
	}
	if change.from.live == live {
		return t.Put(next, isVersion(change.from.version))
	}
	t.Replace(next)
	return t.Delete(change.from.key, isVersion(change.from.version))
}

func (s *CollectionStore[T]) encode(user conversation.UserID, v T, live bool, version, generation int64) table.Item {
	prefix := table.PastPrefix
	if live {
		prefix = table.LivePrefix
	}
	k := table.UserKey(user, table.RecordSK(prefix, s.kind.Name, *s.kind.ID(&v)))
	it := s.kind.encode(v).With(k.Attributes())
	it.Set(table.AttrVersion, version)
	it.Set(table.AttrGeneration, generation)
	if s.kind.Indexed {
		it.SetDue(k, s.db.DueAfterIdle())
	}
	return it
}

// readLive reads the other live records when the written one becomes live, or is live and grows: it may take the place
// of one of them.
func (s *CollectionStore[T]) readLive(ctx context.Context, user conversation.UserID, change recordChange[T],
) ([]stored[T], error) {
	if from := change.from; from != nil {
		grows := s.kind.encode(change.to).Size() > s.kind.encode(from.value).Size()
		if !s.kind.Needed(change.to, s.db.Now()) || from.live && !grows {
			return nil, nil
		}
	}
	var live []stored[T]
	q := table.Query{Where: table.WithPrefix(user, table.RecordSK(table.LivePrefix, s.kind.Name, ""))}
	for it, err := range s.db.Query(ctx, "list "+s.kind.Name, q) {
		if err != nil {
			return nil, err
		}
		isOwn := change.from != nil && table.KeyOf(it) == change.from.key
		if it.Int64(table.AttrGeneration) == change.generation && !isOwn {
			live = append(live, s.decodeStored(it))
		}
	}
	return live, nil
}
