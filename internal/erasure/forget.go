package erasure

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/quote"
	"github.com/throughline/throughline/internal/sweep"
)

const (
	// forgetAnswersAfter is when messages are forgotten once more, with the answer to the request, which may not have been
	// there. forgetAgainAfter is when it is done a last time: a worker that read them before may have written a vector
	// since.
	forgetAnswersAfter = 30 * time.Second
	forgetAgainAfter   = 5 * time.Minute
	// answerWithin is how long after a message the answer to it may come.
	answerWithin = time.Hour
	// newestRecords is in how many of the newest records of a kind a forgetting looks for what it is about.
	newestRecords = 1_000
)

// Forgetting is what the user asked to forget: messages, up to a moment.
type Forgetting struct {
	MessageIDs []string
	// What is the likeness of the memory, empty where there was none.
	What longterm.Forgotten
	// AskedAt is when the user asked for it, zero where it is the time of the newest of the messages. DeletedAt is when it
	// was begun.
	AskedAt, DeletedAt time.Time
}

// ForgetMessages takes messages out of summaries, spines, the index and stored prompts, with what repeats them: the
// answers to them, messages that quote them and were said before the user asked for it, and summaries that mention what
// is forgotten. The messages stay in their conversations, marked. It returns them. Messages in the array of an app that
// has not migrated have no record to mark, so they are left.
func (s *Service) ForgetMessages(ctx context.Context, user conversation.UserID, f Forgetting,
) ([]conversation.Message, error) {
	if len(f.What.Content) > 0 {
		memories, err := longterm.Newest(ctx, user, s.Memories, newestRecords)
		if err != nil {
			return nil, err
		}
		f.What = f.What.Among(memories)
	}
	var all []conversation.Message
	forget := func(id string) error {
		t, err := s.Forgetting.ForgetMessage(ctx, user, id)
		if err != nil {
			return fault.IgnoreNotFound(err) // it was deleted
		}
		all = append(all, *t.Message)
		return s.forgetMade(ctx, t)
	}
	for _, id := range f.MessageIDs {
		if err := forget(id); err != nil {
			return all, err
		}
	}
	sessions, err := f.summarizedIn(ctx, s.Summaries, user)
	if err != nil {
		return all, err
	}
	repeats, err := s.repeats(ctx, user, slices.Clone(all), f, sessions)
	if err != nil {
		return all, err
	}
	for _, m := range repeats {
		if err := forget(m.ID); err != nil {
			return all, err
		}
	}
	for _, session := range sessions {
		t, err := s.Summaries.ForgetSummary(ctx, user, session)
		if err == nil && t.Session != nil {
			err = s.forgetMade(ctx, t)
		}
		if fault.IgnoreNotFound(err) != nil {
			return all, err
		}
	}
	return all, s.forgetRecords(ctx, user, f, f.saidIn(all))
}

// saidIn returns the ids of forgotten messages, without the one that asks to forget them: what else it says is new.
func (f Forgetting) saidIn(forgotten []conversation.Message) map[string]bool {
	ids := map[string]bool{}
	var last conversation.Message
	for _, m := range forgotten {
		if ids[m.ID] = m.Timestamp.Before(f.What.At); m.Role == conversation.RoleUser && m.Timestamp.After(last.Timestamp) {
			last = m
		}
	}
	if conversation.AsksToForget(last.Content) { // by the chat's tool, a little later than it was said
		delete(ids, last.ID)
	}
	return ids
}

// forgetRecords deletes the todos and check-ins that mention a forgotten memory and were stored before the user asked
// to forget it, and the todos that only forgotten messages have said.
func (s *Service) forgetRecords(ctx context.Context, user conversation.UserID, f Forgetting, forgotten map[string]bool,
) error {
	isKept := func(id string) bool { return !forgotten[id] }
	isGone := func(text string, at time.Time) bool { return f.What.Mentions(text) && !at.After(f.What.At) }
	if err := forgetIn(ctx, user, s.Todos, func(t longterm.Todo) (string, bool) {
		isUnsaid := len(t.MessageIDs) > 0 && !slices.ContainsFunc(t.MessageIDs, isKept)
		return t.ID, isUnsaid || isGone(t.Content, t.CreatedAt)
	}); err != nil {
		return err
	}
	return forgetIn(ctx, user, s.CheckIns, func(c longterm.CheckIn) (string, bool) {
		return c.ID, isGone(c.Note, c.Timestamp)
	})
}

// forgetIn deletes records of a collection.
func forgetIn[T any](ctx context.Context, user conversation.UserID, store longterm.Collection[T],
	isGone func(T) (id string, gone bool),
) error {
	records, err := longterm.Newest(ctx, user, store, newestRecords)
	if err != nil {
		return err
	}
	for _, r := range records {
		if id, gone := isGone(r); gone {
			if err := fault.IgnoreNotFound(store.Delete(ctx, user, id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// forgetMade deletes from the index and from stored prompts what was made of a message or summary that is forgotten.
func (s *Service) forgetMade(ctx context.Context, t Tombstone) error {
	vectors := t.Vectors
	if t.Message != nil {
		vectors = append(vectors, indexing.MessageVectorIDs(*t.Message)...)
	}
	if err := s.Index.Delete(ctx, t.User, t.Generation, vectors); err != nil {
		return err
	}
	return s.deletePrompts(ctx, t)
}

// repeats returns the messages that repeat forgotten ones: the assistant's lines between one of them and the user's
// next message, and those before the user asked to forget it that quote one of them, or, where they are the user's, say
// it again, or, where they are the assistant's, mention what is forgotten. At most 2,000 messages are read, from the
// first of the forgotten ones on.
func (s *Service) repeats(ctx context.Context, user conversation.UserID, of []conversation.Message, f Forgetting,
	summarized []conversation.Session,
) (found []conversation.Message, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	r := repeatFinder{
		ids: map[string]bool{}, answered: map[string]bool{}, summarized: map[string]bool{}, asked: f.AskedAt, what: f.What,
	}
	for _, session := range summarized {
		r.summarized[session.ID] = true
	}
	slices.SortFunc(of, func(a, b conversation.Message) int { return a.Timestamp.Compare(b.Timestamp) })
	for _, m := range of {
		if r.ids[m.ID] = true; m.Timestamp.After(r.asked) {
			r.asked = m.Timestamp
		}
		if m.Role == conversation.RoleUser {
			r.quotes = append(r.quotes, quote.New(m.Content))
		}
	}
	last := conversation.Range{From: of[0].Timestamp, To: r.asked.Add(answerWithin)}
	page := conversation.Page{Limit: quotePage}
	for read := 0; read < maxQuoteMessages; {
		newer, next, err := s.Timeline.Timeline(ctx, user, last, page)
		if err != nil {
			return nil, err
		}
		for _, m := range newer {
			if r.isRepeat(m) {
				found = append(found, m)
			}
		}
		read += len(newer)
		if page.After = next; next == "" {
			break
		}
	}
	return found, nil
}

// repeatFinder finds what repeats forgotten messages in a user's messages, which it sees in the order of their times.
type repeatFinder struct {
	ids    map[string]bool
	quotes []*quote.Matcher
	asked  time.Time
	what   longterm.Forgotten
	// answered has the sessions whose last message of the user is forgotten, summarized those whose summaries mention it.
	answered, summarized map[string]bool
}

func (r *repeatFinder) isRepeat(m conversation.Message) bool {
	isAnswer := m.Role == conversation.RoleAssistant
	switch {
	case !isAnswer && m.Role != conversation.RoleUser:
		return false
	case r.ids[m.ID]:
		r.answered[m.SessionID] = !isAnswer
		return false
	case isAnswer && r.answered[m.SessionID]:
		return true
	}
	quotes := func(q *quote.Matcher) bool { return q.Repeats(m.Content) }
	if isAnswer {
		quotes = func(q *quote.Matcher) bool { return q.Quotes(m.Content) }
	}
	isQuote := !m.Timestamp.After(r.asked) && (slices.ContainsFunc(r.quotes, quotes) || isAnswer && r.mentions(m))
	if !isAnswer {
		r.answered[m.SessionID] = isQuote
	}
	return isQuote
}

// mentions reports whether a message of the assistant mentions what is forgotten. In a session whose summary does, half
// of its words are enough.
func (r *repeatFinder) mentions(m conversation.Message) bool {
	return r.what.Mentions(m.Content) || r.summarized[m.SessionID] && r.what.IsHalfIn(m.Content)
}

// forget goes on with a forgetting, and indexes anew what follows the messages. It comes back twice.
func (s *Sweeper) forget(ctx context.Context, user conversation.UserID, f Forgetting) (sweep.Outcome, error) {
	messages, err := s.ForgetMessages(ctx, user, f)
	if err != nil {
		return sweep.Kept, err
	}
	for _, m := range messages {
		if err := s.reindexer.ReindexNext(ctx, user, m); err != nil {
			return sweep.Kept, err
		}
	}
	for _, again := range []time.Duration{forgetAnswersAfter, forgetAgainAfter} {
		if at := f.DeletedAt.Add(again); s.Now().Before(at) && len(f.MessageIDs) > 0 {
			return sweep.Again(at), nil
		}
	}
	return sweep.Removed, nil
}

// Memories are the memories of a store. Deleting one forgets it: what the service makes of its messages is gone, too.
type Memories struct {
	longterm.Collection[longterm.Memory]
	service *Service
}

// NewMemories returns the memories of a store with a service that forgets their messages.
func NewMemories(store longterm.Collection[longterm.Memory], s *Service) Memories {
	return Memories{store, s}
}

// Update changes a memory. What gives way to a plan does so on the day that the plan has then. It holds on if the plan
// never begins.
func (m Memories) Update(ctx context.Context, user conversation.UserID, id string,
	change func(*longterm.Memory) error,
) (after longterm.Memory, err error) {
	var before longterm.Memory
	after, err = m.Collection.Update(ctx, user, id, func(v *longterm.Memory) error {
		before = *v
		return change(v)
	})
	now := m.service.Now().UTC()
	if err != nil || !before.From.IsAhead(now) && !after.From.IsAhead(now) {
		return after, err
	}
	at := after.From.Start(time.UTC)
	if at.Before(now) {
		at = now
	}
	begins := after.HeldAt(at)
	return after, longterm.GiveBack(ctx, m.Collection, user, before, nil, func(old *longterm.Memory) {
		if begins && !old.StaysBeside(after) {
			*old = old.GivenWayTo(after, now, now)
		}
	})
}

// Delete deletes a memory, and then forgets the messages that it was drawn from. Where that fails, the sweep goes on
// with it, and a repeat is NotFound.
func (m Memories) Delete(ctx context.Context, user conversation.UserID, id string) error {
	gone, err := m.Get(ctx, user, id)
	if err != nil {
		return err
	}
	if gone.From.IsAhead(m.service.Now()) {
		if err := longterm.GiveBack(ctx, m.Collection, user, gone, nil, nil); err != nil {
			return err
		}
	}
	if err := m.Collection.Delete(ctx, user, id); err != nil {
		return err
	}
	return m.Forget(ctx, user, gone)
}

// Forget forgets the messages that a deleted memory was drawn from. Where it fails, the sweep goes on with it.
func (m Memories) Forget(ctx context.Context, user conversation.UserID, gone longterm.Memory) error {
	now := m.service.Now()
	_, err := m.service.ForgetMessages(ctx, user, Forgetting{
		MessageIDs: gone.MessageIDs, What: longterm.NewForgotten(gone, now), AskedAt: now, DeletedAt: now,
	})
	return err
}
