package indexing

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

const (
	// messagesPerRead is how many messages of a session are read at once, bytesPerRead how many bytes of them are kept.
	// Messages are usually short, but a batch may have many sessions whose messages are as long as they may be.
	messagesPerRead = 100
	bytesPerRead    = 1 << 20
	// atOnce is how many sessions are read or marked in parallel.
	atOnce = 16
	// lookBack is how many system messages the search for the message before a run passes over.
	lookBack = 5
)

// backlog is a session with messages that are not indexed.
type backlog struct {
	user    conversation.UserID
	session conversation.Session
	// first is the place of the session's earliest change in the batch, and said the time of its latest message there.
	first int
	said  time.Time
	// waits leaves a question at the end of the session to the record of its answer.
	waits bool

	// own are the seqs of the messages whose records are in the batch.
	own []int
	// claim is the end of the claim on the session, if it is claimed.
	claim time.Time
	// unread says that missing has to be read.
	unread bool
	// missing are the next messages to index, and previous is the content of the message before them. There are none
	// where all messages after the watermark are deleted.
	missing  []conversation.Message
	previous string
	// last says that only such a question is left after them.
	last bool
	done bool
	err  error
}

// hint is what the records of a batch say about one session: it has messages with these seqs, the latest of that time.
type hint struct {
	ref   SessionRef
	seqs  []int
	first int
	said  time.Time
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
		if session, ok := sessions[h.ref]; ok && session.Indexed.Seq < slices.Max(h.seqs) {
			open = append(open, &backlog{
				user: h.ref.User, session: session, first: h.first, said: h.said, own: h.seqs, waits: true, unread: true,
			})
		}
	}
	s.indexBacklogs(ctx, open)
	for _, b := range open { // ordered by first
		if b.err != nil && !isLeft(b.err, s.now().Sub(b.said) <= patience) {
			return b.first, b.err
		}
		if !b.done && b.err == nil {
			return b.first, errNoTime
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
			hints[place].seqs, hints[place].said = append(hints[place].seqs, m.Seq), m.Timestamp
			continue
		}
		places[ref] = len(hints)
		hints = append(hints, hint{ref: ref, seqs: []int{m.Seq}, first: i, said: m.Timestamp})
	}
	return hints
}

// Repair indexes the messages of a session that are not indexed yet, from its watermark on. When its time is over, the
// rest stays due.
func (s *Service) Repair(ctx context.Context, user conversation.UserID, session conversation.Session) error {
	b := &backlog{user: user, session: session, unread: true}
	s.indexBacklogs(ctx, []*backlog{b})
	return b.err
}

// Rebuild indexes all messages of sessions, whatever their watermarks say.
func (s *Service) Rebuild(ctx context.Context, user conversation.UserID, sessions []conversation.Session) error {
	backlogs := make([]*backlog, len(sessions))
	for i, session := range sessions {
		session.Indexed = conversation.Watermark{}
		backlogs[i] = &backlog{user: user, session: session, unread: true}
	}
	s.indexBacklogs(ctx, backlogs)
	for _, b := range backlogs {
		if b.err != nil {
			return b.err
		}
		if !b.done {
			return errNoTime
		}
	}
	return nil
}

// read reads the messages after a session's watermark, and the end of the message before them. One query brings both.
func (s *Service) read(ctx context.Context, b *backlog) error {
	session := b.session
	if session.Indexed.Seq >= session.LastSeq {
		b.done = true
		return nil
	}
	messages, err := s.store.MessagesAfter(ctx, b.user, session, onePlaceBack(session), messagesPerRead+1)
	if err != nil {
		return b.end(err)
	}
	start := slices.IndexFunc(messages, func(m conversation.Message) bool { return m.Seq > session.Indexed.Seq })
	if start < 0 {
		start = len(messages)
	}
	before, missing := messages[:start], limited(messages[start:])
	isOpen := func(m conversation.Message) bool { return m.AwaitsAnswer && m.Seq == session.LastSeq }
	if n := len(missing); b.waits && n > 0 && isOpen(missing[n-1]) {
		missing = missing[:n-1]
		if b.last, b.done = true, n == 1; b.done {
			return nil
		}
	}
	b.missing, b.unread = missing, false
	return s.readPrevious(ctx, b, before)
}

// limited returns the first messages that may be kept at once, at least one.
func limited(messages []conversation.Message) []conversation.Message {
	n, bytes := 0, 0
	for n < min(messagesPerRead, len(messages)) && (n == 0 || bytes+len(messages[n].Content) <= bytesPerRead) {
		bytes += len(messages[n].Content)
		n++
	}
	return slices.Clone(messages[:n]) // the others can be freed
}

// readPrevious finds the message before the missing ones. before has it where the query has brought it. Stored system
// messages are not part of the conversation.
func (s *Service) readPrevious(ctx context.Context, b *backlog, before []conversation.Message) error {
	if len(b.missing) == 0 || b.session.Indexed.Seq == 0 {
		return nil
	}
	if !slices.ContainsFunc(before, isSaid) {
		var err error
		before, err = s.store.MessagesBefore(ctx, b.user, b.session, b.missing[0], lookBack)
		if err != nil {
			return b.end(err)
		}
	}
	b.previous = lastSaid(before, "")
	return nil
}

func isSaid(m conversation.Message) bool { return m.Role != conversation.RoleSystem && m.IsSearched() }

// lastSaid returns the content of the last message that is not the system's, or the text given if there is none.
func lastSaid(messages []conversation.Message, otherwise string) string {
	for _, m := range slices.Backward(messages) {
		if isSaid(m) {
			return m.Content
		}
	}
	return otherwise
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

// end ends the work on a session that is gone, which needs no index, and returns any other error.
func (b *backlog) end(err error) error {
	b.done = fault.Is(err, fault.NotFound)
	return fault.IgnoreNotFound(err)
}

// ReindexNext indexes the message after a deleted one again, without the words of the deleted one.
func (s *Service) ReindexNext(ctx context.Context, user conversation.UserID, deleted conversation.Message) error {
	session, err := s.store.SessionIn(ctx, user, deleted.Context, deleted.SessionID)
	if err != nil || session.Generation != deleted.Generation {
		return fault.IgnoreNotFound(err)
	}
	next, err := s.store.MessagesAfter(ctx, user, session, conversation.Watermark{Seq: deleted.Seq}, 1)
	if err != nil || len(next) == 0 {
		return fault.IgnoreNotFound(err)
	}
	batch := Batch{User: user, Generation: session.Generation, Messages: next}
	return s.index.IndexBatches(ctx, []Batch{batch})[0]
}
