package dynamo

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// recordChange is one write of a record: a new one, or one that was read and changed.
type recordChange[T any] struct {
	from       *stored[T]
	to         T
	generation int64
	// idem and at, the moment of creation, belong to a new record.
	idem conversation.Idempotency
	at   time.Time
}

// errLostRace says that a record is no longer as it was read.
var errLostRace = errors.New("dynamo: another writer came first")

func lostRace(err error) bool { return errors.Is(err, errLostRace) }

// maxMoves bounds how many records one write makes past besides its own; the next write goes on.
const maxMoves = 20

// write stores a record among what is live or past, and makes past what has no place among the live any more, in one
// transaction on condition that the user's generation is the one that is meant. met is the idempotency record of an
// earlier call.
func (c collection[T]) write(ctx context.Context, user conversation.UserID, change recordChange[T]) (met item, err error) {
	op := "write " + c.kind.name
	for p := c.patience(); ; {
		w, err := c.plan(ctx, user, change)
		if err != nil {
			return nil, err
		}
		refused, err := c.commit(ctx, op, w.tx, p)
		if err != nil || refused == nil {
			return nil, err
		}
		if met, failed := refused.met(w.ledger); failed {
			return met, nil
		}
		if met, failed := refused.met(w.own); failed {
			if change.from != nil {
				return nil, errLostRace
			}
			if refused.unsure && met != nil {
				return nil, nil // the id is this call's own: an earlier try, whose answer was lost
			}
		}
		if met, failed := refused.met(w.generation); failed {
			if change.from != nil {
				return nil, fault.Missing(c.kind.name)
			}
			change.generation = met.whole(attrGeneration)
			c.known.keepGeneration(user, change.generation)
			continue
		}
		if err := p.wait(ctx); err != nil {
			return nil, failed(op, err)
		}
	}
}

// recordWrite is the transaction of a write, with its places.
type recordWrite struct {
	tx                      *transaction
	own, generation, ledger int
}

func (c collection[T]) plan(ctx context.Context, user conversation.UserID, change recordChange[T]) (recordWrite, error) {
	live, err := c.liveAfter(ctx, user, change)
	if err != nil {
		return recordWrite{}, err
	}
	stays, past, err := c.kind.place(live, change.to, c.now())
	if err != nil {
		return recordWrite{}, err
	}
	w := recordWrite{tx: c.transaction(), ledger: -1}
	w.own = c.addOwn(w.tx, user, change, stays)
	for _, r := range past[:min(len(past), maxMoves)] {
		w.tx.delete(r.key, unchanged(r.version))
		w.tx.set(c.record(user, r.value, false, r.version+1, change.generation))
	}
	w.generation = w.tx.check(generationKey(user), isGeneration(change.generation))
	if change.idem.Set() {
		l := c.ledger(user, change.idem, change.generation)
		l[attrCreatedAt] = moment(change.at)
		l[attrRecordID] = text(*c.kind.id(&change.to))
		w.ledger = w.tx.put(l, c.ledgerFree(change.generation))
	}
	return w, nil
}

// addOwn adds the write of the record itself, in its new place, and returns the place of its condition.
func (c collection[T]) addOwn(t *transaction, user conversation.UserID, change recordChange[T], live bool) int {
	if change.from == nil {
		return t.put(c.record(user, change.to, live, 1, change.generation), expression.AttributeNotExists(field(attrPK)))
	}
	next := c.record(user, change.to, live, change.from.version+1, change.generation)
	if change.from.live == live {
		return t.put(next, unchanged(change.from.version))
	}
	t.set(next)
	return t.delete(change.from.key, unchanged(change.from.version))
}

func (c collection[T]) record(user conversation.UserID, v T, live bool, version, generation int64) item {
	prefix := pastPrefix
	if live {
		prefix = livePrefix
	}
	it := c.kind.encode(v).with(key{partition(user), recordSK(prefix, c.kind.name, *c.kind.id(&v))}.attributes())
	it[attrVersion] = whole(version)
	it[attrGeneration] = whole(generation)
	return it
}

// liveAfter reads what is live beside the record that is written. A record that was live and stays so takes nobody's
// place: then there is nothing to read.
func (c collection[T]) liveAfter(ctx context.Context, user conversation.UserID, change recordChange[T]) ([]stored[T], error) {
	if change.from != nil && (change.from.live || !c.kind.live(change.to, c.now())) {
		return nil, nil
	}
	var live []stored[T]
	q := query{where: beginning(user, recordSK(livePrefix, c.kind.name, ""))}
	for it, err := range c.query(ctx, "list "+c.kind.name, q) {
		if err != nil {
			return nil, err
		}
		if it.whole(attrGeneration) == change.generation {
			live = append(live, c.stored(it))
		}
	}
	return live, nil
}

// errAllKept says that there is no room for another record that may never give way.
func (k kind[T]) errAllKept() error {
	return fault.Newf(fault.Conflict, "at most %d of the %s records can be pinned", k.limit, k.name)
}

// place says whether a record that is written is live, and which live ones are past from now on: those whose time is
// over, and those that make room.
func (k kind[T]) place(live []stored[T], written T, now time.Time) (stays bool, past []stored[T], err error) {
	var room []stored[T]
	for _, r := range live {
		if k.live(r.value, now) {
			room = append(room, r)
		} else {
			past = append(past, r)
		}
	}
	if !k.live(written, now) {
		return false, past, nil
	}
	room = append(room, stored[T]{value: written})
	slices.SortStableFunc(room, func(a, b stored[T]) int { return k.before(a.value, b.value) })
	stays, over := true, len(room)-k.limit
	for _, r := range room {
		switch {
		case over <= 0:
			return stays, past, nil
		case k.keep(r.value):
		case r.key == key{}:
			stays = false
			over--
		default:
			past = append(past, r)
			over--
		}
	}
	if over > 0 && stays {
		return false, nil, k.errAllKept()
	}
	return stays, past, nil
}

func compareIDs(a, b item) int { return cmp.Compare(idIn(a), idIn(b)) }

func lastPart(sk string) int { return strings.LastIndexByte(sk, '#') + 1 }

// each walks records that are there already.
func each(records []item) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for _, it := range records {
			if !yield(it, nil) {
				return
			}
		}
	}
}
