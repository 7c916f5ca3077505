package memory

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/recall"
)

// Indexer makes messages findable: one embedding call for all batches where it can be, one error for each batch, and
// writes that can be repeated.
type Indexer interface {
	IndexBatches(ctx context.Context, batches []recall.Batch) []error
	IndexMemory(ctx context.Context, user conversation.UserID, generation int64, m longterm.Memory) error
	IndexCheckIn(ctx context.Context, user conversation.UserID, generation int64, c longterm.CheckIn) error
	// Forget takes vectors out of the index; those that are not there are no error.
	Forget(ctx context.Context, user conversation.UserID, generation int64, ids []string) error
}

var _ Indexer = (*recall.Indexer)(nil)

const (
	// repairLimit is how many messages one round of repair reads and indexes.
	repairLimit = 100
	// repairRounds bounds one call of Repair; what it leaves, the next finds.
	repairRounds = 20
	// atOnce bounds the sessions of one batch that are worked on at once.
	atOnce = 8
)

// Service indexes messages as they arrive. It is safe for concurrent use; records that come again, late or out of
// order end in the same index and the same watermarks.
type Service struct {
	store Store
	index Indexer
	tails *tails
	marks *marks
}

// New returns a service on its store and its index.
func New(store Store, index Indexer) *Service {
	return &Service{store: store, index: index, tails: newTails(), marks: newMarks()}
}

// run is the messages of one session in a batch, in the order of seq.
type run struct {
	user     conversation.UserID
	ref      SessionRef
	messages []conversation.Message
	// first is the place of its earliest change in the batch.
	first int
}

// Consume indexes the messages of a batch and raises their sessions' watermarks, and brings the vectors of memories and
// check-ins up to date. It returns how many changes, from the first, need not come again.
func (s *Service) Consume(ctx context.Context, changes []conversation.Change) (done int, err error) {
	done, err = s.consumeRecords(ctx, changes)
	if inMessages, merr := s.consumeMessages(ctx, changes); merr != nil {
		done, err = min(done, inMessages), merr
	}
	return done, err
}

func (s *Service) consumeMessages(ctx context.Context, changes []conversation.Change) (done int, err error) {
	runs := runsOf(changes)
	if len(runs) == 0 {
		return len(changes), nil
	}
	batches := make([]recall.Batch, len(runs))
	for i, r := range runs {
		batches[i] = s.batch(r)
	}
	failures := s.index.IndexBatches(ctx, batches)
	parallel.Each(len(runs), atOnce, func(i int) {
		if failures[i] == nil {
			failures[i] = s.advance(ctx, runs[i])
		}
	})
	for i, failure := range failures {
		if failure != nil {
			return runs[i].first, failure
		}
	}
	return len(changes), nil
}

// batch is a run with what was said before it, where a warm function knows that.
func (s *Service) batch(r run) recall.Batch {
	b := recall.Batch{User: r.user, Generation: r.ref.Generation, Messages: r.messages}
	if before, ok := s.tails.before(r); ok {
		b.Before = map[string]string{r.ref.SessionID: before}
	}
	s.tails.keep(r)
	return b
}

// runsOf groups the messages of a batch by session, ordered by where each begins in the batch.
func runsOf(changes []conversation.Change) []run {
	type id struct {
		user conversation.UserID
		ref  SessionRef
	}
	places := map[id]int{}
	var runs []run
	for i, c := range changes {
		if c.Message == nil {
			continue
		}
		m := *c.Message
		at := id{c.User, SessionRef{Context: m.Context, SessionID: m.SessionID, Generation: m.Generation}}
		place, known := places[at]
		if !known {
			place = len(runs)
			places[at] = place
			runs = append(runs, run{user: c.User, ref: at.ref, first: i})
		}
		runs[place].messages = append(runs[place].messages, m)
	}
	for i := range runs {
		runs[i].messages = ordered(runs[i].messages)
	}
	return runs
}

// ordered sorts by seq and drops what came twice.
func ordered(messages []conversation.Message) []conversation.Message {
	slices.SortFunc(messages, func(a, b conversation.Message) int { return a.Seq - b.Seq })
	return slices.CompactFunc(messages, func(a, b conversation.Message) bool { return a.Seq == b.Seq })
}

// advance raises the watermark over a run that follows it without a gap, now or with the run behind it; where it stands
// elsewhere, the session as it is says what is missing.
func (s *Service) advance(ctx context.Context, r run) error {
	first, through := r.messages[0].Seq, r.messages[len(r.messages)-1].Seq
	if through-first+1 == len(r.messages) {
		from, wait := s.marks.from(r)
		if wait {
			return nil
		}
		err := s.store.MarkIndexed(ctx, r.user, r.ref, from, through)
		if !fault.Is(err, fault.Conflict) {
			return gone(err)
		}
	}
	session, err := s.store.SessionIn(ctx, r.user, r.ref.Context, r.ref.SessionID)
	if err != nil || session.Generation != r.ref.Generation || session.IndexedSeq >= through {
		return gone(err)
	}
	return s.Repair(ctx, r.user, session)
}

// Repair indexes what of a session is not indexed yet, from its watermark on.
func (s *Service) Repair(ctx context.Context, user conversation.UserID, session conversation.Session) error {
	ref := SessionRef{Context: session.Context, SessionID: session.ID, Generation: session.Generation}
	for range repairRounds {
		if session.IndexedSeq >= session.LastSeq {
			return nil
		}
		missing, err := s.store.MessagesAfter(ctx, user, session, session.IndexedSeq, repairLimit)
		if err != nil {
			return gone(err)
		}
		through := session.LastSeq // nothing follows the watermark: what there was is deleted
		if len(missing) > 0 {
			through = missing[len(missing)-1].Seq
			batch := s.batch(run{user: user, ref: ref, messages: missing})
			if err := s.index.IndexBatches(ctx, []recall.Batch{batch})[0]; err != nil {
				return err
			}
		}
		err = s.store.MarkIndexed(ctx, user, ref, session.IndexedSeq+1, through)
		if fault.Is(err, fault.Conflict) {
			return nil // another worker raised it, and goes on from there
		}
		if err != nil {
			return gone(err)
		}
		session.IndexedSeq = through
	}
	return nil
}

// IndexBehind indexes the message behind a deleted one by itself: what it answered is gone, and so is the end of that
// from what it is found by.
func (s *Service) IndexBehind(ctx context.Context, user conversation.UserID, deleted conversation.Message) error {
	session, err := s.store.SessionIn(ctx, user, deleted.Context, deleted.SessionID)
	if err != nil || session.Generation != deleted.Generation {
		return gone(err)
	}
	behind, err := s.store.MessagesAfter(ctx, user, session, deleted.Seq, 1)
	if err != nil || len(behind) == 0 {
		return gone(err)
	}
	batch := recall.Batch{User: user, Generation: session.Generation, Messages: behind}
	return s.index.IndexBatches(ctx, []recall.Batch{batch})[0]
}

// gone turns the absence of a session into success: what was erased needs no index.
func gone(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
