package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

const (
	// eraseReserve is how long after its time an erasing call may still hold the user: longer than one takes to end what
	// it had begun, and to save how far it came.
	eraseReserve = 10 * time.Second
	// parallelErasures is how many deletions of an erasure are under way at once.
	parallelErasures = 16
)

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

// resumeErasure takes the user from a caller whose time is over; met is how far that one had come, which is told with
// an error too.
func (s *Store) resumeErasure(ctx context.Context, user conversation.UserID, met item, now time.Time, lease expression.ValueBuilder) (erasure.Progress, bool, error) {
	free := field(attrErasing).Equal(value(flag(true))).
		And(field(attrLeaseUntil).LessThanEqual(value(moment(now))))
	it, err := s.updateItem(ctx, generationKey(user), expression.Set(field(attrLeaseUntil), lease), free)
	if _, held := conditionFailed(err); held {
		return progress(met), false, nil
	}
	if err != nil {
		return progress(met), false, failed("begin erasure", err)
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

// erased are the prefixes under which records are erased: those of sessions, which have to be gone before the others
// are listed, because every append is conditioned on its session.
func erased() [][]string {
	var sessions []string
	for _, surface := range conversation.Surfaces {
		sessions = append(sessions, surface.Prefix)
	}
	return [][]string{sessions, append(slices.Collect(maps.Keys(ownPrefixes)), livePrefix, pastPrefix)}
}

// EraseRecords deletes every record of Throughline's that is of an earlier generation, and an app's own sessions,
// until a pass over all of them finds nothing or the time has come. Other records in the partition are not touched,
// nor is what the user has stored since. Nothing is begun once the time has come; the deletions under way then have
// until the context's end, for one that is cut off may have been carried out and would not be counted.
func (s *Store) EraseRecords(ctx context.Context, user conversation.UserID, generation int64, until time.Time, deleted func(kind string, n int)) (bool, error) {
	inTime, cancel := context.WithTimeout(ctx, until.Sub(s.now()))
	defer cancel()
	for {
		found := int64(0)
		for _, prefixes := range erased() {
			listing, stop := context.WithCancel(inTime)
			e := eraser{Store: s, user: user, generation: generation, stop: stop, deleted: deleted}
			err := e.erase(listing, ctx, prefixes)
			stop()
			if err != nil || inTime.Err() != nil {
				return false, err
			}
			found += e.found.Load()
		}
		if found == 0 {
			return true, nil
		}
	}
}

// eraser lists the records of some prefixes, all at once, and deletes them as they are found.
type eraser struct {
	*Store
	user       conversation.UserID
	generation int64
	stop       context.CancelFunc // ends the listing
	deletes    errgroup.Group
	found      atomic.Int64
	mu         sync.Mutex // deleted hears of one deletion at a time
	deleted    func(kind string, n int)
}

// erase returns when all is deleted, or when what was begun in time has ended. Listing ends when the time has come, or
// when a deletion has failed, and no deletion is begun after it; deleting ends later.
func (e *eraser) erase(listing, deleting context.Context, prefixes []string) error {
	e.deletes.SetLimit(parallelErasures)
	var lists errgroup.Group
	for _, prefix := range prefixes {
		lists.Go(func() error { return e.list(listing, deleting, prefix) })
	}
	listed := lists.Wait()
	if err := e.deletes.Wait(); err != nil {
		return failed("erase records", err)
	}
	if listing.Err() != nil {
		listed = nil // the time has come, which cut it off
	}
	return listed
}

// list deletes what it finds under a prefix: messages and prompts, whose keys are never used again, together.
func (e *eraser) list(listing, deleting context.Context, prefix string) error {
	var together []key
	q := query{where: beginning(e.user, prefix), only: []string{attrPK, attrSK, attrGeneration}}
	for it, err := range e.queryAll(listing, "list records", q) {
		if err != nil {
			return err
		}
		if !e.concerns(it) {
			continue
		}
		e.found.Add(1)
		k := keyIn(it)
		if kind, _ := kindOf(k.sk); kind != "message" && kind != "prompt" {
			e.delete(listing, k, 1, func() error { return e.deleteEarlier(deleting, k) })
			continue
		}
		if together = append(together, k); len(together) == batchWriteLimit {
			chunk := together
			e.delete(listing, k, len(chunk), func() error { return e.deleteChunk(deleting, chunk) })
			together = nil
		}
	}
	if len(together) > 0 {
		e.delete(listing, together[0], len(together), func() error { return e.deleteChunk(deleting, together) })
	}
	return nil
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

// errAnew is the error of a record that the user, who is back, has written anew.
var errAnew = errors.New("written anew")

// delete waits for its turn, deletes n records of k's kind unless the listing has ended, and counts them.
func (e *eraser) delete(listing context.Context, k key, n int, remove func() error) {
	e.deletes.Go(func() error {
		if listing.Err() != nil {
			return nil
		}
		switch err := remove(); {
		case errors.Is(err, errAnew):
			return nil
		case err != nil:
			e.stop()
			return err
		}
		kind, _ := kindOf(k.sk)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.deleted(kind, n)
		return nil
	})
}

// deleteEarlier deletes a record on condition that it is still of an earlier generation.
func (e *eraser) deleteEarlier(ctx context.Context, k key) error {
	earlier := expression.AttributeNotExists(field(attrGeneration)).
		Or(field(attrGeneration).LessThan(value(whole(e.generation))))
	err := e.deleteItem(ctx, k, exists().And(earlier))
	if _, anew := conditionFailed(err); anew {
		return errAnew
	}
	return err
}
