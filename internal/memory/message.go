package memory

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/recall"
)

const (
	// messagesPerRound is how many messages of a session are read and indexed at once, bytesPerRound how many bytes of
	// them. Messages are usually short, but a batch may have many sessions whose messages are as long as they may be.
	messagesPerRound = 100
	bytesPerRound    = 1 << 20
	// maxRounds limits one call; the next call, or the sweep, goes on where it stopped.
	maxRounds = 20
	// atOnce is how many sessions are read or marked in parallel.
	atOnce = 16
	// lookBack is how far the message before a run is looked for behind system messages.
	lookBack = 5
)

// backlog is a session with messages that are not indexed.
type backlog struct {
	user    conversation.UserID
	session conversation.Session
	// first is the place of the session's earliest change in the batch.
	first int
	// waits leaves a question at the end of the session to the record of its answer.
	waits bool

	// batch is what the present round indexes, and through the watermark after it.
	batch   recall.Batch
	through conversation.Watermark
	// last says that only such a question is left after this round.
	last bool
	done bool
	err  error
}

// hint is what the records of a batch say about one session: it has messages through a seq.
type hint struct {
	ref     SessionRef
	through int
	first   int
}

// consumeMessages indexes what the sessions of a batch lack. The records only name the sessions. The messages are read
// from the table, because the question of an answer has arrived before it, perhaps in another instance, and because a
// message that has been deleted since must not be indexed.
func (s *Service) consumeMessages(ctx context.Context, changes []conversation.Change) (done int, err error) {
	hints := hintsOf(changes)
	if len(hints) == 0 {
		return len(changes), nil
	}
	refs := make([]SessionRef, len(hints))
	for i, h := range hints {
		refs[i] = h.ref
	}
	sessions, err := s.store.SessionsAt(ctx, refs)
	if err != nil {
		return hints[0].first, err
	}
	var open []*backlog
	for _, h := range hints {
		if session, ok := sessions[h.ref]; ok && session.Indexed.Seq < h.through {
			open = append(open, &backlog{user: h.ref.User, session: session, first: h.first, waits: true})
		}
	}
	s.indexBacklogs(ctx, open)
	for _, b := range open { // ordered by first
		if b.err != nil && !isLeft(b.err) {
			return b.first, b.err
		}
	}
	return len(changes), nil
}

// hintsOf collects the sessions of a batch, in the order in which they first appear. A question that waits for its
// answer is left to the answer's record, so that both are embedded and stored together. If there never is an answer,
// the sweep indexes the question.
func hintsOf(changes []conversation.Change) []hint {
	var hints []hint
	places := map[SessionRef]int{}
	for i, c := range changes {
		m := c.Message
		if m == nil || m.AwaitsAnswer {
			continue
		}
		ref := SessionRef{User: c.User, Context: m.Context, SessionID: m.SessionID, Generation: m.Generation}
		if place, seen := places[ref]; seen {
			hints[place].through = max(hints[place].through, m.Seq)
			continue
		}
		places[ref] = len(hints)
		hints = append(hints, hint{ref: ref, through: m.Seq, first: i})
	}
	return hints
}

// Repair indexes the messages of a session that are not indexed yet, from its watermark on.
func (s *Service) Repair(ctx context.Context, user conversation.UserID, session conversation.Session) error {
	b := &backlog{user: user, session: session}
	s.indexBacklogs(ctx, []*backlog{b})
	return b.err
}

// indexBacklogs works on backlogs until each is done, has failed, or has taken too many rounds. In each round one call
// embeds the messages of all sessions.
func (s *Service) indexBacklogs(ctx context.Context, backlogs []*backlog) {
	isClosed := func(b *backlog) bool { return b.done || b.err != nil }
	open := slices.Clone(backlogs)
	for range maxRounds {
		parallel.Each(len(open), atOnce, func(i int) { open[i].err = s.read(ctx, open[i]) })
		if open = slices.DeleteFunc(open, isClosed); len(open) == 0 {
			return
		}
		batches := make([]recall.Batch, len(open))
		for i, b := range open {
			batches[i] = b.batch
		}
		failures := s.index.IndexBatches(ctx, batches)
		parallel.Each(len(open), atOnce, func(i int) {
			if open[i].err = failures[i]; failures[i] == nil {
				open[i].err = s.mark(ctx, open[i])
			}
		})
		open = slices.DeleteFunc(open, isClosed)
	}
}

// read prepares the next round of a session: the messages after its watermark, and the end of the message before
// them. One query brings both.
func (s *Service) read(ctx context.Context, b *backlog) error {
	session := b.session
	if session.Indexed.Seq >= session.LastSeq {
		b.done = true
		return nil
	}
	messages, err := s.store.MessagesAfter(ctx, b.user, session, onePlaceBack(session), messagesPerRound+1)
	if err != nil {
		return b.end(err)
	}
	start := slices.IndexFunc(messages, func(m conversation.Message) bool { return m.Seq > session.Indexed.Seq })
	if start < 0 {
		start = len(messages)
	}
	before, missing := messages[:start], round(messages[start:])
	isOpen := func(m conversation.Message) bool { return m.AwaitsAnswer && m.Seq == session.LastSeq }
	if n := len(missing); b.waits && n > 0 && isOpen(missing[n-1]) {
		missing = missing[:n-1]
		if b.last, b.done = true, n == 1; b.done {
			return nil
		}
	}
	// Without messages, all after the watermark are deleted.
	b.through = conversation.Watermark{Seq: session.LastSeq, At: session.LastMessageAt}
	if n := len(missing); n > 0 {
		b.through = conversation.Watermark{Seq: missing[n-1].Seq, At: missing[n-1].Timestamp}
	}
	b.batch = recall.Batch{User: b.user, Generation: session.Generation, Messages: missing}
	return s.addPrevious(ctx, b, before)
}

// round returns the first messages that may be indexed at once, at least one.
func round(messages []conversation.Message) []conversation.Message {
	n, bytes := 0, 0
	for n < min(messagesPerRound, len(messages)) && (n == 0 || bytes+len(messages[n].Content) <= bytesPerRound) {
		bytes += len(messages[n].Content)
		n++
	}
	return slices.Clone(messages[:n]) // the others can be freed
}

// addPrevious adds the message before those of a round. before has it where the query has brought it. Stored system
// messages are not part of the conversation.
func (s *Service) addPrevious(ctx context.Context, b *backlog, before []conversation.Message) error {
	if len(b.batch.Messages) == 0 || b.session.Indexed.Seq == 0 {
		return nil
	}
	isSaid := func(m conversation.Message) bool { return m.Role != conversation.System }
	if !slices.ContainsFunc(before, isSaid) {
		var err error
		before, err = s.store.MessagesBefore(ctx, b.user, b.session, b.batch.Messages[0], lookBack)
		if err != nil {
			return b.end(err)
		}
	}
	for _, m := range before {
		if isSaid(m) {
			b.batch.Previous = map[string]string{b.session.ID: m.Content}
		}
	}
	return nil
}

// onePlaceBack returns the watermark before a session's own, so that the message at the watermark is read too. Where
// that message or the one before it is deleted, their times do not tell where to begin, and it stays as it is.
func onePlaceBack(session conversation.Session) conversation.Watermark {
	w := session.Indexed
	if w.Seq == 0 || session.Deleted.Contains(w.Seq) || session.Deleted.Contains(w.Seq-1) {
		return w
	}
	w.Seq--
	if !w.At.IsZero() {
		w.At = w.At.Add(-time.Millisecond) // times within a session increase by at least a millisecond
	}
	return w
}

// mark raises the session's watermark over the messages of a round, which are indexed.
func (s *Service) mark(ctx context.Context, b *backlog) error {
	err := s.store.MarkIndexed(ctx, b.user, b.session, b.through)
	if fault.Is(err, fault.Conflict) {
		b.done = true // another worker has indexed as much, and goes on from there
		return nil
	}
	if err != nil {
		return b.end(err)
	}
	b.session.Indexed, b.done = b.through, b.last
	return nil
}

// end ends the work on a session that is gone, which needs no index, and returns any other error.
func (b *backlog) end(err error) error {
	b.done = fault.Is(err, fault.NotFound)
	return ignoreMissing(err)
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
