package memory

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/recall"
)

const (
	// repairLimit is how many messages one round of a repair reads and indexes.
	repairLimit = 100
	// repairRounds limits one call of Repair; the next call goes on where it stopped.
	repairRounds = 20
	// atOnce is how many sessions of one batch are marked in parallel.
	atOnce = 8
)

// run is the messages of one session in a batch, ordered by seq.
type run struct {
	user     conversation.UserID
	ref      SessionRef
	messages []conversation.Message
	// first is the place of its earliest change in the batch.
	first int
}

func (r run) sessionKey() sessionKey { return sessionKey{r.user, r.ref} }

// through is the watermark after the run's last message.
func (r run) through() conversation.Watermark {
	last := r.messages[len(r.messages)-1]
	return conversation.Watermark{Seq: last.Seq, At: last.Timestamp}
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
			failures[i] = s.mark(ctx, runs[i])
		}
	})
	for i, failure := range failures {
		if failure != nil && !isLeft(failure) {
			return runs[i].first, failure
		}
	}
	return len(changes), nil
}

// runsOf groups the messages of a batch by session, in the order in which the sessions first appear.
func runsOf(changes []conversation.Change) []run {
	places := map[sessionKey]int{}
	var runs []run
	for i, c := range changes {
		if c.Message == nil {
			continue
		}
		m := *c.Message
		ref := SessionRef{Context: m.Context, SessionID: m.SessionID, Generation: m.Generation}
		key := sessionKey{c.User, ref}
		place, seen := places[key]
		if !seen {
			place = len(runs)
			places[key] = place
			runs = append(runs, run{user: c.User, ref: ref, first: i})
		}
		runs[place].messages = append(runs[place].messages, m)
	}
	for i := range runs {
		runs[i].messages = sorted(runs[i].messages)
	}
	return runs
}

// sorted sorts messages by seq and drops repeated ones.
func sorted(messages []conversation.Message) []conversation.Message {
	slices.SortFunc(messages, func(a, b conversation.Message) int { return a.Seq - b.Seq })
	return slices.CompactFunc(messages, func(a, b conversation.Message) bool { return a.Seq == b.Seq })
}

// batch returns a run with the message before it, where the cache has that, and caches the end of the run.
func (s *Service) batch(r run) recall.Batch {
	b := recall.Batch{User: r.user, Generation: r.ref.Generation, Messages: r.messages}
	if previous, ok := s.tails.before(r); ok {
		b.Previous = map[string]string{r.ref.SessionID: previous}
	}
	s.tails.add(r)
	return b
}

// mark raises the watermark over a run that is indexed. When the run does not follow the watermark without a gap, the
// session is read and repaired.
func (s *Service) mark(ctx context.Context, r run) error {
	first, through := r.messages[0].Seq, r.through()
	if through.Seq-first+1 == len(r.messages) {
		from, wait := s.marks.next(r)
		if wait {
			return nil
		}
		err := s.store.MarkIndexed(ctx, r.user, r.ref, from, through)
		if !fault.Is(err, fault.Conflict) {
			return ignoreMissing(err)
		}
	}
	session, err := s.store.SessionIn(ctx, r.user, r.ref.Context, r.ref.SessionID)
	if err != nil || session.Generation != r.ref.Generation || session.Indexed.Seq >= through.Seq {
		return ignoreMissing(err)
	}
	return s.Repair(ctx, r.user, session)
}

// Repair indexes the messages of a session that are not indexed yet, from its watermark on.
func (s *Service) Repair(ctx context.Context, user conversation.UserID, session conversation.Session) error {
	ref := SessionRef{Context: session.Context, SessionID: session.ID, Generation: session.Generation}
	for range repairRounds {
		if session.Indexed.Seq >= session.LastSeq {
			return nil
		}
		missing, err := s.store.MessagesAfter(ctx, user, session, session.Indexed, repairLimit)
		if err != nil {
			return ignoreMissing(err)
		}
		// Without missing messages, all after the watermark are deleted.
		through := conversation.Watermark{Seq: session.LastSeq, At: session.LastMessageAt}
		if len(missing) > 0 {
			r := run{user: user, ref: ref, messages: missing}
			through = r.through()
			if err := s.index.IndexBatches(ctx, []recall.Batch{s.batch(r)})[0]; err != nil {
				return err
			}
		}
		err = s.store.MarkIndexed(ctx, user, ref, session.Indexed.Seq+1, through)
		if fault.Is(err, fault.Conflict) {
			return nil // another worker raised the watermark and goes on from there
		}
		if err != nil {
			return ignoreMissing(err)
		}
		session.Indexed = through
	}
	return nil
}

// ReindexNext indexes the message after a deleted one again, without the words of the deleted one.
func (s *Service) ReindexNext(ctx context.Context, user conversation.UserID, deleted conversation.Message) error {
	session, err := s.store.SessionIn(ctx, user, deleted.Context, deleted.SessionID)
	if err != nil || session.Generation != deleted.Generation {
		return ignoreMissing(err)
	}
	next, err := s.store.MessagesAfter(ctx, user, session, conversation.Watermark{Seq: deleted.Seq}, 1)
	if err != nil || len(next) == 0 {
		return ignoreMissing(err)
	}
	batch := recall.Batch{User: user, Generation: session.Generation, Messages: next}
	return s.index.IndexBatches(ctx, []recall.Batch{batch})[0]
}

// ignoreMissing turns NotFound into success: a session that was deleted needs no index.
func ignoreMissing(err error) error {
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}
