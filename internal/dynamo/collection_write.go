package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
)

// recordChange is one write of a record, either a new one or one that was read and changed.
type recordChange[T any] struct {
	from       *stored[T] // nil for a new record
	to         T
	generation int64
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
	tx                                   *transaction
	ownPlace, generationPlace, idemPlace int
}

// writeNew stores a new record. existing is the idempotency record of an earlier call with the same key.
func (s *CollectionStore[T]) writeNew(ctx context.Context, user conversation.UserID, change recordChange[T],
) (existing item, err error) {
	op := "write " + s.kind.Name
	for b := s.db.backoff(); ; {
		var w recordWrite
		failures, err := s.db.commitAtGeneration(ctx, op, user, b, func(generation int64) (*transaction, int) {
			change.generation = generation
			w = s.newWrite(ctx, user, change)
			return w.tx, w.generationPlace
		})
		if err != nil && b.ambiguous && s.isCreated(ctx, user, change.to) {
			return nil, nil
		}
		if err != nil || failures == nil {
			return nil, err
		}
		if own, failed := failures.existing(w.ownPlace); failed && own != nil {
			return nil, nil // only this call knows the id: an earlier attempt stored it, and its answer was lost
		}
		if existing, failed := failures.existing(w.idemPlace); failed {
			return existing, nil
		}
		if err := b.afterConflict(ctx); err != nil {
			return nil, failed(op, err)
		}
	}
}

// isCreated reports whether a new record is stored. Only the call that creates it knows its id.
func (s *CollectionStore[T]) isCreated(ctx context.Context, user conversation.UserID, record T) bool {
	records, err := s.db.settle(ctx, "read "+s.kind.Name, s.kind.keys(user, *s.kind.ID(&record))...)
	return err == nil && len(records) > 0
}

// writeChanged stores a record that was read and changed. done is false when another writer came first.
func (s *CollectionStore[T]) writeChanged(ctx context.Context, user conversation.UserID, change recordChange[T],
	b *backoff,
) (done bool, err error) {
	w := s.newWrite(ctx, user, change)
	failures, err := s.db.commit(ctx, "write "+s.kind.Name, w.tx, b)
	if err != nil || failures == nil {
		return err == nil, err
	}
	_, changed := failures.existing(w.ownPlace)
	if _, erased := failures.existing(w.generationPlace); erased && !changed {
		return false, fault.Missing(s.kind.Name)
	}
	return false, nil
}

// newWrite returns the transaction that stores the record and makes others past that are no longer live, on condition
// of the user's generation.
func (s *CollectionStore[T]) newWrite(ctx context.Context, user conversation.UserID, change recordChange[T],
) recordWrite {
	w := recordWrite{tx: s.db.transaction(), idemPlace: -1}
	live, err := s.readLive(ctx, user, change)
	if err != nil {
		w.tx.err = err
		return w
	}
	written := longterm.Sized[T]{Value: change.to, Bytes: s.encode(user, change.to, true, 1, change.generation).size()}
	stays, past, err := s.kind.Place(sized(live), written, s.db.now())
	if err != nil {
		w.tx.err = err
		return w
	}
	w.ownPlace = s.addOwn(w.tx, user, change, stays)
	moved := 0
	for i, place := range past[:min(len(past), maxMoves)] {
		r := live[place]
		if moved += r.bytes; moved > maxMoveBytes && i > 0 {
			break
		}
		w.tx.delete(r.key, isVersion(r.version))
		w.tx.replace(s.encode(user, r.value, false, r.version+1, change.generation))
	}
	w.generationPlace = w.tx.check(generationKey(user), isGeneration(change.generation))
	if change.idem.Set() {
		record := newIdempotencyRecord(user, change.idem, change.generation, s.db.now())
		record[attrCreatedAt] = timeAttr(change.at)
		record[attrRecordID] = stringAttr(*s.kind.ID(&change.to))
		w.idemPlace = w.tx.put(record, isFreeKey(change.generation, s.db.now()))
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
func (s *CollectionStore[T]) addOwn(t *transaction, user conversation.UserID, change recordChange[T], live bool) int {
	if change.from == nil {
		return t.put(s.encode(user, change.to, live, 1, change.generation), notExists())
	}
	next := s.encode(user, change.to, live, change.from.version+1, change.generation)
	if change.from.live == live {
		return t.put(next, isVersion(change.from.version))
	}
	t.replace(next)
	return t.delete(change.from.key, isVersion(change.from.version))
}

func (s *CollectionStore[T]) encode(user conversation.UserID, v T, live bool, version, generation int64) item {
	prefix := pastPrefix
	if live {
		prefix = livePrefix
	}
	k := key{partition(user), recordSK(prefix, s.kind.Name, *s.kind.ID(&v))}
	it := s.kind.encode(v).with(k.attributes())
	it[attrVersion] = intAttr(version)
	it[attrGeneration] = intAttr(generation)
	if s.kind.Indexed {
		it[attrDueAt], it[attrDueShard] = timeAttr(s.db.dueAfterIdle()), intAttr(dueShard(k))
	}
	return it
}

// readLive reads the other live records when the written one becomes live, or is live and grows: it may take the place
// of one of them.
func (s *CollectionStore[T]) readLive(ctx context.Context, user conversation.UserID, change recordChange[T],
) ([]stored[T], error) {
	if from := change.from; from != nil {
		grows := s.kind.encode(change.to).size() > s.kind.encode(from.value).size()
		if !s.kind.Needed(change.to, s.db.now()) || from.live && !grows {
			return nil, nil
		}
	}
	var live []stored[T]
	q := query{where: withPrefix(user, recordSK(livePrefix, s.kind.Name, ""))}
	for it, err := range s.db.query(ctx, "list "+s.kind.Name, q) {
		if err != nil {
			return nil, err
		}
		isOwn := change.from != nil && keyOf(it) == change.from.key
		if it.int64(attrGeneration) == change.generation && !isOwn {
			live = append(live, s.decodeStored(it))
		}
	}
	return live, nil
}
