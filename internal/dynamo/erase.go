package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"
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

// ErasureStore erases users. It is safe for concurrent use.
type ErasureStore struct{ db *DB }

var _ erasure.UserStore = (*ErasureStore)(nil)

// NewErasureStore returns what erases the users of a DB.
func NewErasureStore(db *DB) *ErasureStore { return &ErasureStore{db} }

const (
	// leaseReserve is how long the lease of an erasing call lasts after the time at which it begins nothing new. In it,
	// the call ends the deletions that are under way and saves its progress.
	leaseReserve = 10 * time.Second
	// parallelDeletions is how many deletions of an erasure are under way at once.
	parallelDeletions = 16
)

// BeginErasure raises the user's generation, or goes on with an erasure that is not done. It takes a lease, so that one
// caller at a time erases the user and each deletion is counted once. The erasure falls due when the lease has expired,
// so that the sweep goes on when the caller does not.
func (s *ErasureStore) BeginErasure(ctx context.Context, user conversation.UserID, until time.Time,
) (p erasure.Progress, held bool, err error) {
	now := conversation.Milliseconds(s.db.now())
	lease := s.newLease(until)
	var started int64 // the generation that the last transaction raised
	var place int
	failures, err := s.db.commitAtGeneration(ctx, "begin erasure", user, s.db.backoff(),
		func(generation int64) (t *transaction, _ int) {
			started = generation + 1
			t, place = s.raiseGeneration(user, generation, now, lease)
			return t, place
		})
	if err != nil {
		return erasure.Progress{}, false, err
	}
	if failures == nil {
		s.db.cache.saveGeneration(user, started)
		return erasure.Progress{Counts: map[string]int{}, ErasedAt: now, Generation: started}, true, nil
	}
	existing, _ := failures.existing(place)
	if lease.isHeld(existing) { // an earlier attempt began the erasure, and its answer was lost
		return decodeProgress(existing), true, nil
	}
	u := setDue(expression.UpdateBuilder{}, generationKey(user), lease.until)
	return s.acquireErasure(ctx, user, existing, lease, u)
}

// ResumeErasure goes on with an erasure that is not done. Its place in the due index stays as the sweep has set it.
func (s *ErasureStore) ResumeErasure(ctx context.Context, user conversation.UserID, until time.Time,
) (p erasure.Progress, held bool, err error) {
	return s.acquireErasure(ctx, user, nil, s.newLease(until), expression.UpdateBuilder{})
}

// Erasure returns the progress of the user's last erasure. It is NotFound when the user was never erased.
func (s *ErasureStore) Erasure(ctx context.Context, user conversation.UserID) (erasure.Progress, error) {
	k := generationKey(user)
	records, err := s.db.read(ctx, "read erasure", k)
	if err != nil {
		return erasure.Progress{}, err
	}
	if !records[k].has(attrErasedAt) {
		return erasure.Progress{}, fault.Missing("erasure")
	}
	return decodeProgress(records[k]), nil
}

// erasureLease lets one call at a time erase a user. Only the call that holds it knows its token.
type erasureLease struct {
	token string
	until time.Time
}

func (s *ErasureStore) newLease(until time.Time) erasureLease {
	return erasureLease{token: newRandomDigits(s.db.random), until: until.Add(leaseReserve)}
}

func (l erasureLease) set(u expression.UpdateBuilder) expression.UpdateBuilder {
	return u.Set(field(attrLease), value(stringAttr(l.token))).Set(field(attrLeaseUntil), value(timeAttr(l.until)))
}

func (l erasureLease) isHeld(generation item) bool { return generation.string(attrLease) == l.token }

// raiseGeneration returns the transaction that begins an erasure, and the place of its condition. It also stores a mark
// of the new generation among the live long-term records, so that whoever reads those need not read the generation. The
// mark is deleted when the erasure is done.
func (s *ErasureStore) raiseGeneration(user conversation.UserID, generation int64, now time.Time,
	lease erasureLease,
) (t *transaction, place int) {
	next := intAttr(generation + 1)
	begin := setDue(expression.Set(field(attrGeneration), value(next)), generationKey(user), lease.until).
		Set(field(attrErasing), value(boolAttr(true))).Set(field(attrErasedAt), value(timeAttr(now))).
		Set(field(attrCounts), value(&types.AttributeValueMemberM{})).Set(field(attrVectorCount), value(intAttr(0)))
	isIdle := expression.AttributeNotExists(field(attrErasing)).Or(field(attrErasing).Equal(value(boolAttr(false))))
	t = s.db.transaction()
	place = t.update(generationKey(user), lease.set(begin), isGeneration(generation).And(isIdle))
	mark := key{partition(user), erasingSK}.attributes()
	mark[attrGeneration] = next
	t.replace(mark)
	return t, place
}

// acquireErasure takes over an erasure whose lease has expired, and returns its progress. existing is the record of
// that erasure, whose progress is returned with an error too.
func (s *ErasureStore) acquireErasure(ctx context.Context, user conversation.UserID, existing item,
	lease erasureLease, u expression.UpdateBuilder,
) (erasure.Progress, bool, error) {
	isExpired := field(attrErasing).Equal(value(boolAttr(true))).
		And(field(attrLeaseUntil).LessThanEqual(value(timeAttr(s.db.now()))).
			Or(field(attrLease).Equal(value(stringAttr(lease.token)))))
	it, err := s.db.updateItem(ctx, generationKey(user), lease.set(u), isExpired)
	if _, held := conditionFailed(err); held {
		return decodeProgress(existing), false, nil
	}
	if err != nil {
		return decodeProgress(existing), false, failed("begin erasure", err)
	}
	return decodeProgress(it), true, nil
}

func decodeProgress(it item) erasure.Progress {
	p := erasure.Progress{
		Done: !it.bool(attrErasing), Counts: map[string]int{}, Vectors: int(it.int64(attrVectorCount)),
		ErasedAt: it.time(attrErasedAt), Generation: it.int64(attrGeneration),
	}
	for kind := range it.nested(attrCounts) {
		p.Counts[kind] = int(it.nested(attrCounts).int64(kind))
	}
	if left := it.nested(attrLeft); left != nil {
		p.Left = map[string]int{}
		for group := range left {
			p.Left[group] = int(left.int64(group))
		}
	}
	return p
}

func countsAttr(counts map[string]int) types.AttributeValue {
	it := make(item, len(counts))
	for name, n := range counts {
		it[name] = intAttr(n)
	}
	return it.attribute()
}

// SaveErasure stores the progress of an erasure and gives the lease back. The erasure that is not done stays due when
// its lease would have expired.
func (s *ErasureStore) SaveErasure(ctx context.Context, user conversation.UserID, p erasure.Progress, due time.Time,
) error {
	const op = "save erasure"
	k := generationKey(user)
	if p.Done {
		err := s.db.deleteItem(ctx, key{partition(user), erasingSK}, isGeneration(p.Generation))
		if err := failed(op, ignoreConditionFailed(err)); err != nil {
			return err
		}
	}
	u := expression.Set(field(attrErasing), value(boolAttr(!p.Done))).
		Set(field(attrLeaseUntil), value(timeAttr(s.db.now()))).
		Set(field(attrCounts), value(countsAttr(p.Counts))).
		Set(field(attrVectorCount), value(intAttr(p.Vectors)))
	u = setOrRemove(u, attrLeft, countsAttr(p.Left), p.Left != nil)
	if p.Done {
		u = endFailures(endClaim(setDue(u.Set(field(attrSweeps), value(intAttr(0))), k, due)))
	}
	_, err := s.db.updateItem(ctx, k, u, isGeneration(p.Generation))
	if _, other := conditionFailed(err); other {
		return fault.New(fault.Conflict, "another erasure has begun")
	}
	return failed(op, err)
}

// erasedPrefixes returns the prefixes of the records that an erasure deletes, in two steps. Every append is conditioned
// on its session, so sessions have to be gone before the other records are listed.
func erasedPrefixes() [][]string {
	var sessions []string
	for _, surface := range conversation.Surfaces() {
		sessions = append(sessions, surface.Prefix)
	}
	return [][]string{sessions, append(slices.Collect(maps.Keys(kindPrefixes)), livePrefix, pastPrefix)}
}

// EraseRecords deletes the user's records of earlier generations and the app's own sessions, until a pass over all of
// them finds none or until then. Other records in the partition stay, and so does what the user has stored since.
//
// At until it begins nothing new, and waits for the deletions that are under way as long as ctx allows. A deletion that
// is cut off may have been carried out, and would not be counted.
func (s *ErasureStore) EraseRecords(ctx context.Context, user conversation.UserID, generation int64, until time.Time,
	deleted func(kind string, n int),
) (bool, error) {
	inTime, cancel := context.WithTimeout(ctx, until.Sub(s.db.now()))
	defer cancel()
	for {
		found := int64(0)
		for _, prefixes := range erasedPrefixes() {
			listing, stop := context.WithCancel(inTime)
			e := eraser{db: s.db, user: user, generation: generation, stopListing: stop, deleted: deleted}
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

// eraser lists the records of several prefixes side by side, and deletes them as it finds them.
type eraser struct {
	db          *DB
	user        conversation.UserID
	generation  int64
	stopListing context.CancelFunc
	deletions   errgroup.Group
	found       atomic.Int64
	mu          sync.Mutex // guards the calls of deleted
	deleted     func(kind string, n int)
}

// erase lists until all is listed, the context listing ends, or a deletion fails. It begins no deletion after that, and
// returns when those that are under way have ended.
func (e *eraser) erase(listing, deleting context.Context, prefixes []string) error {
	e.deletions.SetLimit(parallelDeletions)
	var lists errgroup.Group
	for _, prefix := range prefixes {
		lists.Go(func() error { return e.list(listing, deleting, prefix) })
	}
	listErr := lists.Wait()
	if err := e.deletions.Wait(); err != nil {
		return failed("erase records", err)
	}
	if listing.Err() == nil {
		return listErr
	}
	return nil // the time is over, which is why a list may have failed
}

// list deletes the records with a prefix. It deletes messages and prompts in batches without a condition, because their
// keys are never used again.
func (e *eraser) list(listing, deleting context.Context, prefix string) error {
	var batch []key
	q := query{where: withPrefix(e.user, prefix), only: []string{attrPK, attrSK, attrGeneration, attrPlacement}}
	for it, err := range e.db.queryWithExpired(listing, "list records", q) {
		if err != nil {
			return err
		}
		if !e.isErased(it) {
			continue
		}
		e.found.Add(1)
		k := keyOf(it)
		if kind, _ := kindOf(k.sk); kind != "message" && kind != "prompt" {
			e.delete(listing, k, 1, func() error { return e.deleteEarlier(deleting, k) })
			continue
		}
		if batch = append(batch, k); len(batch) == maxBatchWrite {
			full := batch
			e.delete(listing, k, len(full), func() error { return e.db.deleteBatch(deleting, full) })
			batch = nil
		}
	}
	if len(batch) > 0 {
		e.delete(listing, batch[0], len(batch), func() error { return e.db.deleteBatch(deleting, batch) })
	}
	return nil
}

// isErased reports whether a record is one of ours of an earlier generation, or the app's own session. Counts stay.
func (e *eraser) isErased(it item) bool {
	return isErased(it, e.generation)
}

func isErased(it item, generation int64) bool {
	sk := it.string(attrSK)
	_, ours := kindOf(sk)
	switch {
	case isSessionOrUnnamed(sk) && (!ours || !it.has(attrPlacement)):
		return true
	case !ours, isCount(sk), !it.has(attrGeneration):
		return false
	}
	return it.int64(attrGeneration) < generation
}

// errWrittenAgain says that the user, who came back, has written a record of the new generation at a key.
var errWrittenAgain = errors.New("dynamo: written again")

// delete deletes n records of k's kind and counts them, unless the listing has ended before its turn comes.
func (e *eraser) delete(listing context.Context, k key, n int, remove func() error) {
	e.deletions.Go(func() error {
		if listing.Err() != nil {
			return nil
		}
		switch err := remove(); {
		case errors.Is(err, errWrittenAgain):
			return nil
		case err != nil:
			e.stopListing()
			return err
		}
		kind, ours := kindOf(k.sk)
		if !ours {
			kind = "session" // of the app's own, with an id that the API cannot name
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.deleted(kind, n)
		return nil
	})
}

// deleteEarlier deletes a record on condition that it is still of an earlier generation.
func (e *eraser) deleteEarlier(ctx context.Context, k key) error {
	isEarlier := expression.AttributeNotExists(field(attrGeneration)).
		Or(field(attrGeneration).LessThan(value(intAttr(e.generation))))
	if IsSessionKey(k.sk) {
		isEarlier = isEarlier.Or(expression.AttributeNotExists(field(attrPlacement)))
	}
	if _, ours := kindOf(k.sk); !ours { // Throughline writes nothing at such a key
		isEarlier = exists()
	}
	err := e.db.deleteItem(ctx, k, exists().And(isEarlier))
	if _, again := conditionFailed(err); again {
		return errWrittenAgain
	}
	return err
}
