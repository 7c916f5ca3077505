package dynamo

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// eraseReserve is how long after its time an erasing call may still hold the user.
const eraseReserve = 5 * time.Second

// BeginErasure raises the user's generation, or goes on with an erasure that is not done. One caller at a time has
// the user, so that what is deleted is counted once. The generation is guessed and checked by the transaction.
func (s *Store) BeginErasure(ctx context.Context, user conversation.UserID, until time.Time) (erasure.Progress, bool, error) {
	now, lease := conversation.Milliseconds(s.now()), value(moment(until.Add(eraseReserve)))
	generation := s.known.generation(user)
	for p := s.patience(); ; {
		t, place := s.raising(user, generation, now, lease)
		refused, err := s.commit(ctx, "begin erasure", t, p)
		if err != nil {
			return erasure.Progress{}, false, err
		}
		if refused == nil {
			s.known.keepGeneration(user, generation+1)
			return erasure.Progress{Counts: map[string]int{}, ErasedAt: now, Generation: generation + 1}, true, nil
		}
		met, _ := refused.met(place)
		generation = met.whole(attrGeneration)
		s.known.keepGeneration(user, generation)
		if met.flag(attrErasing) {
			return s.resumeErasure(ctx, user, met, now, lease)
		}
	}
}

// raising is the transaction that raises a generation. A mark with it tells the readers of long-term memory from then
// on which generation counts: they read no generation besides. It goes when nothing of before is left.
func (s *Store) raising(user conversation.UserID, generation int64, now time.Time, lease expression.ValueBuilder) (t *transaction, place int) {
	next := whole(generation + 1)
	begin := expression.Set(field(attrGeneration), value(next)).
		Set(field(attrErasing), value(flag(true))).Set(field(attrErasedAt), value(moment(now))).
		Set(field(attrCounts), value(&types.AttributeValueMemberM{})).Set(field(attrVectorCount), value(whole(0))).
		Set(field(attrLeaseUntil), lease)
	idle := expression.AttributeNotExists(field(attrErasing)).Or(field(attrErasing).Equal(value(flag(false))))
	t = s.transaction()
	place = t.update(generationKey(user), begin, isGeneration(generation).And(idle))
	mark := key{partition(user), erasingSK}.attributes()
	mark[attrGeneration] = next
	t.set(mark)
	return t, place
}

// resumeErasure takes the user from a caller whose time is over; met is how far that one had come.
func (s *Store) resumeErasure(ctx context.Context, user conversation.UserID, met item, now time.Time, lease expression.ValueBuilder) (erasure.Progress, bool, error) {
	free := field(attrErasing).Equal(value(flag(true))).
		And(field(attrLeaseUntil).LessThanEqual(value(moment(now))))
	it, err := s.updateItem(ctx, generationKey(user), expression.Set(field(attrLeaseUntil), lease), free)
	if _, held := conditionFailed(err); held {
		return progress(met), false, nil
	}
	if err != nil {
		return erasure.Progress{}, false, failed("begin erasure", err)
	}
	return progress(it), true, nil
}

func progress(it item) erasure.Progress {
	p := erasure.Progress{
		Counts: map[string]int{}, Vectors: int(it.whole(attrVectorCount)), ErasedAt: it.time(attrErasedAt),
		Generation: it.whole(attrGeneration),
	}
	if counts, ok := it[attrCounts].(*types.AttributeValueMemberM); ok {
		for kind := range counts.Value {
			p.Counts[kind] = int(item(counts.Value).whole(kind))
		}
	}
	return p
}

// SaveErasure records how far an erasure has come and lets the user go.
func (s *Store) SaveErasure(ctx context.Context, user conversation.UserID, p erasure.Progress, due time.Time) error {
	k := generationKey(user)
	if p.Done {
		err := s.deleteItem(ctx, key{partition(user), erasingSK}, isGeneration(p.Generation))
		if _, none := conditionFailed(err); err != nil && !none {
			return failed("save erasure", err)
		}
	}
	counts := make(map[string]types.AttributeValue, len(p.Counts))
	for kind, n := range p.Counts {
		counts[kind] = &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
	}
	u := expression.Set(field(attrErasing), value(flag(!p.Done))).Set(field(attrLeaseUntil), value(moment(s.now()))).
		Set(field(attrCounts), value(&types.AttributeValueMemberM{Value: counts})).
		Set(field(attrVectorCount), value(whole(p.Vectors)))
	if p.Done {
		u = u.Set(field(attrRound), value(whole(0))).Set(field(attrDueAt), value(moment(due))).
			Set(field(attrDueShard), value(whole(dueShard(k))))
	}
	_, err := s.updateItem(ctx, k, u, isGeneration(p.Generation))
	if _, other := conditionFailed(err); other {
		return fault.New(fault.Conflict, "another erasure has begun")
	}
	return failed("save erasure", err)
}

// erased are the prefixes under which records are erased, in order: sessions first, because every append is
// conditioned on its session.
func erased() []string {
	var prefixes []string
	for _, surface := range conversation.Surfaces {
		prefixes = append(prefixes, surface.Prefix)
	}
	prefixes = append(prefixes, livePrefix, pastPrefix)
	return append(prefixes, slices.Sorted(maps.Keys(ownPrefixes))...)
}

// EraseRecords deletes every record of Throughline's that is of an earlier generation, and an app's own sessions,
// until a pass over all of them finds nothing or the time has come. Other records in the partition are not touched,
// nor is what the user has stored since.
func (s *Store) EraseRecords(ctx context.Context, user conversation.UserID, generation int64, until time.Time, deleted func(kind string, n int)) (bool, error) {
	for {
		found := 0
		for _, prefix := range erased() {
			n, inTime, err := s.erasePrefix(ctx, user, prefix, generation, until, deleted)
			if found += n; err != nil || !inTime {
				return false, err
			}
		}
		if found == 0 {
			return true, nil
		}
	}
}

// eraseChunk is how many records are deleted between two looks at the clock.
const eraseChunk = 1000

func (s *Store) erasePrefix(ctx context.Context, user conversation.UserID, prefix string, generation int64, until time.Time, deleted func(kind string, n int)) (n int, inTime bool, err error) {
	e := eraser{Store: s, generation: generation, deleted: deleted}
	q := query{where: beginning(user, prefix), only: []string{attrPK, attrSK, attrGeneration}}
	for it, err := range s.queryAll(ctx, "list records", q) {
		if err != nil {
			return n, false, err
		}
		if !e.concerns(it) {
			continue
		}
		n++
		if e.batch = append(e.batch, it); len(e.batch) == eraseChunk {
			if err := e.flush(ctx); err != nil || !s.now().Before(until) {
				return n, false, err
			}
		}
	}
	err = e.flush(ctx)
	return n, err == nil && s.now().Before(until), err
}

// eraser deletes records in batches.
type eraser struct {
	*Store
	generation int64
	deleted    func(kind string, n int)
	batch      []item
}

// concerns reports whether a record is to be erased: ours of an earlier generation, or an app's own session.
func (e *eraser) concerns(it item) bool {
	sk := it.text(attrSK)
	if _, ours := kindOf(sk); !ours {
		return false
	}
	if _, _, isSession := parseSessionSK(sk); !isSession && !it.has(attrGeneration) {
		return false
	}
	return it.whole(attrGeneration) < e.generation
}

// flush deletes the batch: messages and prompts, whose keys are never used again, together; every other record on
// condition that it is still of an earlier generation, for the user may have come back and written it anew.
func (e *eraser) flush(ctx context.Context) error {
	counts := map[string]int{}
	var together []key
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelDeletes)
	for _, it := range e.batch {
		k := keyIn(it)
		kind, _ := kindOf(k.sk)
		if kind == "message" || kind == "prompt" {
			together = append(together, k)
			counts[kind]++
			continue
		}
		g.Go(func() error {
			gone, err := e.eraseOne(gctx, k)
			mu.Lock()
			defer mu.Unlock()
			if gone {
				counts[kind]++
			}
			return err
		})
	}
	err := g.Wait()
	if err == nil {
		err = e.deleteAll(ctx, together)
	}
	if err != nil {
		return failed("erase records", err)
	}
	for kind, n := range counts {
		e.deleted(kind, n)
	}
	e.batch = e.batch[:0]
	return nil
}

func (e *eraser) eraseOne(ctx context.Context, k key) (bool, error) {
	earlier := expression.AttributeNotExists(field(attrGeneration)).
		Or(field(attrGeneration).LessThan(value(whole(e.generation))))
	err := e.deleteItem(ctx, k, exists().And(earlier))
	if _, anew := conditionFailed(err); anew {
		return false, nil
	}
	return err == nil, err
}
