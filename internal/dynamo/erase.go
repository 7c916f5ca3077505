package dynamo

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// ErasureStore erases users. It is safe for concurrent use.
type ErasureStore struct{ db *DB }

// NewErasureStore returns what erases the users of a DB.
func NewErasureStore(db *DB) *ErasureStore { return &ErasureStore{db} }

// parallelDeletions is how many deletions of an erasure are under way at once.
const parallelDeletions = 16

// BeginErasure raises the user's generation, or goes on with an erasure that is not done. It takes a lease, so that one
// caller at a time erases the user and each deletion is counted once. The erasure falls due when the lease has expired,
// so that the sweep goes on when the caller does not.
func (s *ErasureStore) BeginErasure(ctx context.Context, user conversation.UserID, until time.Time,
) (p erasure.Progress, held bool, err error) {
	now := conversation.Milliseconds(s.db.Now())
	lease := s.newLease(until)
	var started int64 // the generation that the last transaction raised
	var place int
	failures, err := s.db.commitAtGeneration(ctx, "begin erasure", user, s.db.Backoff(),
		func(generation int64) (t *table.Transaction, _ int) {
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
	existing := failures[place]
	u := table.Update{}.SetDue(table.GenerationKey(user), lease.until)
	return s.acquireErasure(ctx, user, existing, lease, u)
}

// ResumeErasure goes on with an erasure that is not done. Its place in the due index stays as the sweep has set it.
func (s *ErasureStore) ResumeErasure(ctx context.Context, user conversation.UserID, until time.Time,
) (p erasure.Progress, held bool, err error) {
	return s.acquireErasure(ctx, user, nil, s.newLease(until), table.Update{})
}

// Erasure returns the progress of the user's last erasure. It is NotFound when the user was never erased.
func (s *ErasureStore) Erasure(ctx context.Context, user conversation.UserID) (erasure.Progress, error) {
	k := table.GenerationKey(user)
	records, err := s.db.Read(ctx, "read erasure", k)
	if err != nil {
		return erasure.Progress{}, err
	}
	if !records[k].Has(table.AttrErasedAt) {
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
	return erasureLease{token: table.NewRandomDigits(s.db.Random), until: until.Add(erasure.LeaseReserve)}
}

func (l erasureLease) set(u table.Update) table.Update {
	return u.Set(table.AttrLease, l.token).Set(table.AttrLeaseUntil, l.until)
}

// raiseGeneration returns the transaction that begins an erasure, and the place of its condition. It also stores a mark
// of the new generation among the live long-term records, so that whoever reads those need not read the generation. The
// mark is deleted when the erasure is done.
func (s *ErasureStore) raiseGeneration(user conversation.UserID, generation int64, now time.Time, lease erasureLease,
) (t *table.Transaction, place int) {
	begin := table.Set(table.AttrGeneration, generation+1).SetDue(table.GenerationKey(user), lease.until).
		Set(table.AttrErasing, true).
		Set(table.AttrErasedAt, now).
		Set(table.AttrCounts, &types.AttributeValueMemberM{}).
		Set(table.AttrVectorCount, 0).
		Remove(table.AttrFiles)
	isIdle := table.Lacks(table.AttrErasing).Or(table.Is(table.AttrErasing, false))
	t = s.db.Transaction()
	place = t.Update(table.GenerationKey(user), lease.set(begin), table.IsGeneration(generation).And(isIdle))
	mark := table.UserKey(user, table.ErasingSK).Attributes()
	mark.Set(table.AttrGeneration, generation+1)
	t.Replace(mark)
	k := table.GenerationKey(user)
	t.DoneIf(func(r table.RecordSet) bool { return r[k].String(table.AttrLease) == lease.token }, k)
	return t, place
}

// acquireErasure takes over an erasure whose lease has expired, and returns its progress. existing is the record of
// that erasure, whose progress is returned with an error too.
func (s *ErasureStore) acquireErasure(ctx context.Context, user conversation.UserID, existing table.Item,
	lease erasureLease, u table.Update,
) (erasure.Progress, bool, error) {
	isExpired := table.Is(table.AttrErasing, true).
		And(table.IsAtMost(table.AttrLeaseUntil, s.db.Now()).
			Or(table.Is(table.AttrLease, lease.token)))
	it, err := s.db.UpdateItem(ctx, table.GenerationKey(user), lease.set(u), isExpired)
	if _, held := table.ConditionFailed(err); held {
		return decodeProgress(existing), false, nil
	}
	if err != nil {
		return decodeProgress(existing), false, table.Failed("begin erasure", err)
	}
	return decodeProgress(it), true, nil
}

func decodeProgress(it table.Item) erasure.Progress {
	p := table.Decode[erasure.Progress](it)
	if p.Done = !it.Bool(table.AttrErasing); p.Counts == nil {
		p.Counts = map[string]int{}
	}
	return p
}

// SaveErasure stores the progress of an erasure and gives the lease back. The erasure that is not done stays due when
// its lease would have expired.
func (s *ErasureStore) SaveErasure(ctx context.Context, user conversation.UserID, p erasure.Progress, due time.Time,
) error {
	const op = "save erasure"
	k := table.GenerationKey(user)
	if p.Done {
		mark := table.UserKey(user, table.ErasingSK)
		if err := s.db.DeleteWhere(ctx, op, mark, table.IsGeneration(p.Generation)); err != nil {
			return err
		}
	}
	u := table.Set(table.AttrErasing, !p.Done).
		Set(table.AttrLeaseUntil, s.db.Now()).
		Apply(table.Encode(p), table.AttrCounts, table.AttrVectorCount, table.AttrLeft)
	if p.Done {
		u = u.Set(table.AttrSweeps, 0).SetDue(k, due).EndClaim().EndFailures()
	}
	_, err := s.db.UpdateItem(ctx, k, u, table.IsGeneration(p.Generation))
	if _, other := table.ConditionFailed(err); other {
		return fault.New(fault.Conflict, "another erasure has begun")
	}
	return table.Failed(op, err)
}

// erasedPrefixes returns the prefixes of the records that an erasure deletes, in two steps. Every append is conditioned
// on its session, so sessions have to be gone before the other records are listed.
func erasedPrefixes() [][]string {
	var sessions []string
	for _, appContext := range conversation.AppContexts() {
		sessions = append(sessions, appContext.Prefix)
	}
	return [][]string{sessions, append(slices.Collect(maps.Keys(table.KindPrefixes)), table.LivePrefix, table.PastPrefix)}
}

// EraseRecords deletes the user's records of earlier generations and the app's own sessions, until a pass over all of
// them finds none or until then. Other records in the partition stay, and so does what the user has stored since.
//
// At until it begins nothing new, and waits for the deletions that are under way as long as ctx allows. A deletion that
// is cut off may have been carried out, and would not be counted.
func (s *ErasureStore) EraseRecords(ctx context.Context, user conversation.UserID, generation int64, until time.Time,
	deleted func(kind string, n int),
) (bool, error) {
	inTime, cancel := context.WithTimeout(ctx, until.Sub(s.db.Now()))
	defer cancel()
	k := table.GenerationKey(user)
	records, err := s.db.Read(ctx, "read erasure", k)
	if err != nil {
		return false, err
	}
	files := &erasedFiles{list: records[k].Strings(table.AttrFiles)}
	for {
		found := int64(0)
		for _, prefixes := range erasedPrefixes() {
			listing, stop := context.WithCancel(inTime)
			e := eraser{db: s.db, user: user, generation: generation, stopListing: stop, deleted: deleted, files: files}
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
	files       *erasedFiles
}

// erasedFiles are the files of the messages that an erasure deletes.
type erasedFiles struct {
	mu   sync.Mutex
	list []string
}

// keep stores files with the erasure. It is called before their messages are deleted, and may be repeated.
func (f *erasedFiles) keep(ctx context.Context, e *eraser, files []string) error {
	f.mu.Lock()
	known := len(f.list)
	f.list = erasure.WithFiles(f.list, files)
	fresh := f.list[known:]
	f.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	u := table.Update{}.Add(table.AttrFiles, &types.AttributeValueMemberSS{Value: fresh})
	_, err := e.db.UpdateItem(ctx, table.GenerationKey(e.user), u, table.IsGeneration(e.generation))
	return err
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
		return table.Failed("erase records", err)
	}
	if listing.Err() == nil {
		return listErr
	}
	return nil // the time is over, which is why a list may have failed
}

// list deletes the records with a prefix. It deletes messages and prompts in batches without a condition, because their
// keys are never used again.
func (e *eraser) list(listing, deleting context.Context, prefix string) error {
	var batch []table.Key
	var files []string
	flush := func() {
		full, of := batch, files
		e.delete(listing, full[0], len(full), func() error {
			if err := e.files.keep(deleting, e, of); err != nil {
				return err
			}
			return e.db.DeleteBatch(deleting, full)
		})
		batch, files = nil, nil
	}
	q := table.Query{
		Where: table.WithPrefix(e.user, prefix),
		Only:  []string{table.AttrPK, table.AttrSK, table.AttrGeneration, table.AttrPlacement, table.AttrParts},
	}
	for it, err := range e.db.QueryWithExpired(listing, "list records", q) {
		if err != nil {
			return err
		}
		if !isErased(it, e.generation) {
			continue
		}
		e.found.Add(1)
		k := table.KeyOf(it)
		if kind, _ := table.KindOf(k.SK); kind != "message" && kind != "prompt" {
			e.delete(listing, k, 1, func() error { return e.deleteEarlier(deleting, k) })
			continue
		}
		files = append(files, conversation.FilesOf(conversation.DecodeParts(it.String(table.AttrParts)))...)
		if batch = append(batch, k); len(batch) == table.MaxBatchWrite {
			flush()
		}
	}
	if len(batch) > 0 {
		flush()
	}
	return nil
}

// isErased reports whether a record is one of ours of an earlier generation, or the app's own session. Counts stay.
func isErased(it table.Item, generation int64) bool {
	sk := it.String(table.AttrSK)
	_, ours := table.KindOf(sk)
	switch {
	case table.IsSessionOrUnnamed(sk) && (!ours || !it.Has(table.AttrPlacement)):
		return true
	case !ours, table.IsCount(sk), !it.Has(table.AttrGeneration):
		return false
	}
	return it.Int64(table.AttrGeneration) < generation
}

// errWrittenAgain says that the user, who came back, has written a record of the new generation at a key.
var errWrittenAgain = errors.New("dynamo: written again")

// delete deletes n records of k's kind and counts them, unless the listing has ended before its turn comes.
func (e *eraser) delete(listing context.Context, k table.Key, n int, remove func() error) {
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
		kind, ours := table.KindOf(k.SK)
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
func (e *eraser) deleteEarlier(ctx context.Context, k table.Key) error {
	isEarlier := table.Lacks(table.AttrGeneration).
		Or(table.IsBelow(table.AttrGeneration, e.generation))
	if IsSessionKey(k.SK) {
		isEarlier = isEarlier.Or(table.Lacks(table.AttrPlacement))
	}
	if _, ours := table.KindOf(k.SK); !ours { // Throughline writes nothing at such a key
		isEarlier = table.Exists()
	}
	err := e.db.DeleteItem(ctx, k, table.Exists().And(isEarlier))
	if _, again := table.ConditionFailed(err); again {
		return errWrittenAgain
	}
	return err
}
