package summary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// fake is a store, a model and an index, with what they have been asked. Calls can be made to fail or to take
// time.
type fake struct {
	stores dynamotest.Stores

	mu       sync.Mutex
	saved    []summary.Summary
	shards   map[sweep.Shard]bool // of the sessions
	indexed  map[string]summary.Summary
	repaired map[string]int
	// extracted counts the readings for memories. failExtract is their error, and with keepsUnread they read nothing.
	extracted   map[string]int
	failExtract error
	keepsUnread bool
	reported    []string

	calls    int
	embedded int
	looks    int // reads of the timeline
	prompts  []string
	patient  []bool    // of each call
	usable   time.Time // when the first summary was saved
	// delay is how long the model takes. failModel and failIx are the errors of the model and the index.
	delay             time.Duration
	failModel, failIx error
	// failRead is the error of reading a session, failSave that of storing a summary.
	failRead error
	failSave func(summary.Summary) error
	users    []string
	quota    fakeQuota
	timezone string
}

var ctx = context.Background()

// newFake returns a store whose user ann was erased once.
func newFake(t testing.TB) *fake {
	t.Helper()
	f := &fake{
		stores: dynamotest.NewInBubble(t), shards: map[sweep.Shard]bool{},
		indexed: map[string]summary.Summary{}, repaired: map[string]int{}, extracted: map[string]int{},
	}
	must(f.stores.Erasures.BeginErasure(ctx, "ann", time.Now()))
	return f
}

// must returns the first result of a call that cannot fail.
func must[A, B any](a A, _ B, err error) A {
	if err != nil {
		panic(err)
	}
	return a
}

func done[T any](v T, err error) T { return must(v, 0, err) }

// session returns a session of ann as it is now, or the zero value.
func (f *fake) session(id string) conversation.Session { return f.sessionOf("ann", id) }

func (f *fake) sessionOf(user conversation.UserID, id string) conversation.Session {
	s, err := f.stores.Sessions.Session(ctx, user, id)
	if err != nil && !fault.Is(err, fault.NotFound) {
		panic(err)
	}
	return s
}

// say appends messages to a session, which it creates if there is none, and returns the stream's change. Each is a
// millisecond after the one before. It returns a millisecond after the last one, so
// that what is said next has a later time.
func (f *fake) say(id string, texts ...string) conversation.Change {
	return f.sayOf("ann", id, texts...)
}

func (f *fake) sayOf(user conversation.UserID, id string, texts ...string) conversation.Change {
	before := f.sessionOf(user, id)
	if before.ID == "" {
		f.createOf(user, id, "program_designer", nil)
	}
	for part := range slices.Chunk(texts, conversation.MaxMessagesPerCall) {
		in := conversation.Append{SessionID: id}
		forgotten := map[int]bool{}
		for i, text := range part {
			m := conversation.NewMessage{Role: conversation.RoleUser, Content: text}
			if rest, ok := strings.CutPrefix(m.Content, "system:"); ok {
				m.Role, m.Content = conversation.RoleSystem, rest
			}
			m.Content, forgotten[i] = strings.CutPrefix(m.Content, "forgotten:")
			m.Content, m.NoExtract = strings.CutPrefix(m.Content, "unread:")
			in.Messages = append(in.Messages, m)
		}
		for i, m := range done(f.stores.Messages.Append(ctx, user, in)).Messages {
			if forgotten[i] {
				done(f.stores.Deletion.ForgetMessage(ctx, user, m.ID))
			}
		}
	}
	c := f.changed(user, id, before)
	time.Sleep(time.Until(c.After.LastMessageAt.Add(time.Millisecond)))
	return c
}

// changed is the stream's change of a session.
func (f *fake) changed(user conversation.UserID, id string, before conversation.Session) conversation.Change {
	after := f.sessionOf(user, id)
	c := conversation.Change{User: user, After: &after}
	if before.ID != "" {
		c.Before = &before
	}
	return c
}

// create makes a session without messages.
func (f *fake) create(id, context string, attributes map[string]any) conversation.Change {
	return f.createOf("ann", id, context, attributes)
}

func (f *fake) createOf(user conversation.UserID, id, context string, attributes map[string]any) conversation.Change {
	in := conversation.NewSession{ID: id, Context: context, CoachID: "c", Attributes: attributes}
	done(f.stores.Sessions.CreateSession(ctx, user, in, conversation.Idempotency{}))
	for _, key := range table.SessionKeys(user, id) {
		f.shards[table.DueShard(key)] = true
	}
	return f.changed(user, id, conversation.Session{})
}

// set merges attributes into those of a session and returns the stream's change.
func (f *fake) set(id string, attributes map[string]any) conversation.Change {
	return f.alter("ann", id, conversation.SessionChange{Attributes: attributes})
}

// complete completes a session and returns the stream's change.
func (f *fake) complete(id string) conversation.Change {
	return f.alter("ann", id, conversation.SessionChange{Status: new(conversation.Completed)})
}

func (f *fake) alter(user conversation.UserID, id string, change conversation.SessionChange) conversation.Change {
	before := f.sessionOf(user, id)
	done(f.stores.Sessions.UpdateSession(ctx, user, id, change))
	return f.changed(user, id, before)
}

// leave marks a session as left and returns the stream's change.
func (f *fake) leave(id string) conversation.Change {
	before := f.session(id)
	if err := f.stores.Sessions.LeaveSession(ctx, "ann", id, time.Now()); err != nil {
		panic(err)
	}
	return f.changed("ann", id, before)
}

// messages returns the messages of a session.
func (f *fake) messages(id string) []conversation.Message {
	return done(f.stores.Summaries.MessagesAfter(ctx, "ann", f.session(id), conversation.Watermark{}, 2000))
}

// fallDue makes a session due at a time, as if work on it had just succeeded.
func (f *fake) fallDue(user conversation.UserID, id string, at time.Time) {
	c := must(f.stores.Summaries.ClaimSession(ctx, user, f.sessionOf(user, id), at))
	if err := f.stores.Due.Postpone(ctx, c, at, true); err != nil {
		panic(err)
	}
}

// dueStore reads the shards of the sessions that were created. In the others nothing is ever due.
type dueStore struct {
	sweep.Store
	f *fake
}

func (s dueStore) Due(ctx context.Context, shard sweep.Shard, at time.Time, after *sweep.Due, limit int,
) ([]sweep.Due, error) {
	if !s.f.shards[shard] {
		return nil, nil
	}
	return s.Store.Due(ctx, shard, at, after, limit)
}

// due lists the sessions that are due, now or later.
func (f *fake) due() []sweep.Due {
	var all []sweep.Due
	for shard := range f.shards {
		all = append(all, done(f.stores.Due.Due(ctx, shard, time.Now().AddDate(1, 0, 0), nil, 1000))...)
	}
	return all
}

// allFallDue makes all of these sessions due at once, and returns how many.
func (f *fake) allFallDue() int {
	due := f.due()
	for _, d := range due {
		f.fallDue(d.User, done(f.stores.Summaries.SessionDue(ctx, d)).ID, time.Now())
	}
	return len(due)
}

// faultyStore is the store of a fake, with its faults and short pages of messages. It notes what is saved.
type faultyStore struct {
	summary.Store
	f *fake
}

func (s faultyStore) SessionIn(ctx context.Context, user conversation.UserID, context, id string,
) (conversation.Session, error) {
	session, err := s.Store.SessionIn(ctx, user, context, id)
	return session, errors.Join(s.f.failRead, err)
}

func (s faultyStore) SessionDue(ctx context.Context, d sweep.Due) (conversation.Session, error) {
	session, err := s.Store.SessionDue(ctx, d)
	return session, errors.Join(s.f.failRead, err)
}

func (s faultyStore) Access(context.Context, conversation.UserID) (longterm.Access, error) {
	return longterm.Access{Preferences: longterm.Preferences{Timezone: s.f.timezone}}, nil
}

func (s faultyStore) MessagesAfter(ctx context.Context, user conversation.UserID, session conversation.Session,
	after conversation.Watermark, limit int,
) ([]conversation.Message, error) {
	const perPage = 7
	return s.Store.MessagesAfter(ctx, user, session, after, min(limit, perPage))
}

func (s faultyStore) Timeline(ctx context.Context, user conversation.UserID, r conversation.Range,
	page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	s.f.mu.Lock()
	s.f.looks++
	s.f.mu.Unlock()
	return s.Store.Timeline(ctx, user, r, page)
}

func (s faultyStore) SaveSummary(ctx context.Context, user conversation.UserID, of conversation.Session,
	sum summary.Summary,
) error {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if s.f.failSave != nil {
		if err := s.f.failSave(sum); err != nil {
			return err
		}
	}
	if err := s.checkCover(ctx, user, of, sum); err != nil {
		return err
	}
	if err := s.Store.SaveSummary(ctx, user, of, sum); err != nil {
		return err
	}
	if len(s.f.saved) == 0 {
		s.f.usable = time.Now()
	}
	s.f.saved = append(s.f.saved, sum)
	return nil
}

// checkCover checks that a summary covers until the time of the message through which it does.
func (s faultyStore) checkCover(ctx context.Context, user conversation.UserID, of conversation.Session,
	sum summary.Summary,
) error {
	last, err := s.Store.MessagesAfter(ctx, user, of, conversation.Watermark{Seq: sum.CoveredThrough - 1}, 1)
	if err != nil || sum.CoveredAt.IsZero() || len(last) == 0 || last[0].Seq != sum.CoveredThrough {
		return err
	}
	if at := last[0].Timestamp; !sum.CoveredAt.Equal(at) {
		return fmt.Errorf("message %d is of %v, and the summary covers until %v", last[0].Seq, at, sum.CoveredAt)
	}
	return nil
}

func (f *fake) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	f.mu.Lock()
	f.calls++
	f.users, f.patient = append(f.users, r.User), append(f.patient, r.Patient)
	f.prompts = append(f.prompts, r.Messages[len(r.Messages)-1].Content)
	delay, fail := f.delay, f.failModel
	f.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return llm.Completion{}, ctx.Err()
	}
	if fail != nil {
		return llm.Completion{}, fail
	}
	text, err := json.Marshal(map[string]any{
		"summary": "model: " + r.Messages[1].Content, "confidence": 0.8, "hasGoals": true,
		"day":  dayAnswer(r.Messages[1].Content),
		"tags": []string{" Hip Thrusts!", "hip thrusts", "[/INST]", "", "Knie\nschmerzen", "5x5", "back-squat", "sixth"},
	})
	return llm.Completion{Text: string(text), Model: "m", Usage: llm.Usage{TotalTokens: 70}}, err
}

func (f *fake) IndexSummary(_ context.Context, _ conversation.UserID, s summary.Summary) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failIx != nil {
		return f.failIx
	}
	f.indexed[s.ID()] = s
	f.embedded++
	return nil
}

func (f *fake) Repair(ctx context.Context, user conversation.UserID, s conversation.Session) error {
	f.mu.Lock()
	f.repaired[s.ID]++
	f.mu.Unlock()
	now, err := f.stores.Sessions.Session(ctx, user, s.ID)
	if err != nil || now.Indexed.Seq >= now.LastSeq {
		return err
	}
	end := conversation.Watermark{Seq: now.LastSeq, At: now.LastMessageAt}
	return f.stores.Indexing.MarkIndexed(ctx, user, now, end)
}

// IsOverdue is true for a session with an urgent message.
func (f *fake) IsOverdue(s conversation.Session) bool { return s.Extracted.Seq < s.UrgentSeq }

func (f *fake) ExtractNext(ctx context.Context, user conversation.UserID, in, id string,
) (conversation.Watermark, error) {
	return f.Extract(ctx, user, in, id)
}

// Extract reads a session to its end.
func (f *fake) Extract(ctx context.Context, user conversation.UserID, _, id string) (conversation.Watermark, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.extracted[id]++
	if f.failExtract != nil {
		return conversation.Watermark{}, f.failExtract
	}
	if !f.keepsUnread {
		if err := f.stores.Extraction.SkipExtraction(ctx, user, f.sessionOf(user, id)); err != nil {
			return conversation.Watermark{}, err
		}
	}
	return f.sessionOf(user, id).Extracted, nil
}

func (f *fake) Count(text string) int { return len(strings.Fields(text)) }

func (f *fake) service() *summary.Service {
	return summary.New(summary.Deps{
		Store: faultyStore{f.stores.Summaries, f}, Model: f, Quota: &f.quota, Index: f, Messages: f, Memories: f, Tokens: f,
		Now: time.Now, Random: func() float64 { return 0 },
		Report: func(_ context.Context, op string, _ error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.reported = append(f.reported, op)
		},
		EveryMessages: 4, Idle: 15 * time.Minute, Timeout: 2500 * time.Millisecond, Background: true,
	})
}
