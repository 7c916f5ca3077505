package summary_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
)

// fake is a store with one user's sessions, a model and an index. Its calls can be made to fail or to take time. It
// enforces the conditions of summary.Store.
type fake struct {
	mu       sync.Mutex
	sessions map[string]conversation.Session
	messages map[string][]conversation.Message
	due      map[string]time.Time
	failures map[string]int
	saved    []summary.Summary
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
	perPage  int // the most messages that one read returns
	prompts  []string
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

func newFake() *fake {
	return &fake{
		sessions: map[string]conversation.Session{}, messages: map[string][]conversation.Message{},
		due: map[string]time.Time{}, failures: map[string]int{}, indexed: map[string]summary.Summary{},
		repaired: map[string]int{}, extracted: map[string]int{}, perPage: 7,
	}
}

// say appends messages to a session, as the store does, and returns the stream's change.
func (f *fake) say(id string, texts ...string) conversation.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, exists := f.sessions[id]
	s := before
	if !exists {
		s = newSession(id, "program_designer")
	}
	s.Version++
	for _, text := range texts {
		role := conversation.RoleUser
		if rest, ok := strings.CutPrefix(text, "system:"); ok {
			role, text = conversation.RoleSystem, rest
		}
		text, isForgotten := strings.CutPrefix(text, "forgotten:")
		text, isUnread := strings.CutPrefix(text, "unread:")
		s.LastSeq++
		if role == conversation.RoleUser {
			s.UserSeq = s.LastSeq
			if conversation.IsUrgent(text) {
				s.UrgentSeq = s.LastSeq
			}
		}
		s.MessageCount++
		s = s.Reopen([]conversation.NewMessage{{Role: role}})
		s.LastMessageAt = time.Now()
		f.messages[id] = append(f.messages[id], conversation.Message{
			ID: fmt.Sprint(id, s.LastSeq), Seq: s.LastSeq, SessionID: id, Context: s.Context, Role: role, Content: text,
			Timestamp: s.LastMessageAt, Forgotten: isForgotten, NoExtract: isUnread,
		})
	}
	f.sessions[id] = s
	if f.due[id].IsZero() {
		f.due[id] = time.Now().Add(15 * time.Minute)
	}
	return f.change(before, exists, s)
}

func newSession(id, context string) conversation.Session {
	return conversation.Session{
		ID: id, Context: context, CoachID: "c", Status: conversation.Active, Generation: 1, CreatedAt: time.Now(),
		Version: 1,
	}
}

// create makes a session without messages.
func (f *fake) create(id, context string, attributes map[string]any) {
	s := newSession(id, context)
	s.Attributes = attributes
	f.sessions[id] = s
}

// set merges attributes into those of a session, as the store does, and returns the stream's change.
func (f *fake) set(id string, attributes map[string]any) conversation.Change {
	return f.alter(id, func(s *conversation.Session) {
		s.Attributes = maps.Clone(s.Attributes)
		maps.Copy(s.Attributes, attributes)
	})
}

// complete completes a session and returns the stream's change.
func (f *fake) complete(id string) conversation.Change {
	return f.alter(id, func(s *conversation.Session) { s.Status, s.CompletedAt = conversation.Completed, time.Now() })
}

// alter changes a session and returns the stream's change.
func (f *fake) alter(id string, change func(*conversation.Session)) conversation.Change {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.sessions[id]
	before := s
	change(&s)
	s.Version++
	f.sessions[id] = s
	return f.change(before, true, s)
}

func (f *fake) change(before conversation.Session, existed bool, after conversation.Session) conversation.Change {
	c := conversation.Change{User: "ann", After: &after}
	if existed {
		c.Before = &before
	}
	return c
}

func (f *fake) SessionIn(_ context.Context, _ conversation.UserID, _, id string) (conversation.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.sessions[id]
	if !ok {
		return s, fault.Missing("session")
	}
	s.DueAt = f.due[id]
	return s, f.failRead
}

func (f *fake) Access(context.Context, conversation.UserID) (longterm.Access, error) {
	return longterm.Access{Preferences: longterm.Preferences{Timezone: f.timezone}}, nil
}

func (f *fake) MessagesAfter(
	_ context.Context, _ conversation.UserID, s conversation.Session, after conversation.Watermark,
	limit int,
) ([]conversation.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []conversation.Message
	for _, m := range f.messages[s.ID] {
		if m.Seq > after.Seq && len(out) < min(limit, f.perPage) {
			out = append(out, m)
		}
	}
	return out, nil
}

func (f *fake) Timeline(
	_ context.Context, _ conversation.UserID, r conversation.Range, page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	var all []conversation.Message
	for _, messages := range f.messages {
		for _, m := range messages {
			if !m.Timestamp.Before(r.From) && (r.To.IsZero() || m.Timestamp.Before(r.To)) {
				all = append(all, m)
			}
		}
	}
	slices.SortFunc(all, func(a, b conversation.Message) int {
		return cmp.Or(b.Timestamp.Compare(a.Timestamp), cmp.Compare(b.SessionID, a.SessionID), cmp.Compare(b.Seq, a.Seq))
	})
	from, _ := strconv.Atoi(string(page.After))
	to := min(from+page.Limit, len(all))
	if to == len(all) {
		return all[from:], "", nil
	}
	return all[from:to], conversation.Position(strconv.Itoa(to)), nil
}

func (f *fake) SaveSummary(
	_ context.Context, _ conversation.UserID, of conversation.Session, s summary.Summary,
) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failSave != nil {
		if err := f.failSave(s); err != nil {
			return err
		}
	}
	session, ok := f.sessions[of.ID]
	if !ok || session.Generation != s.Generation {
		return fault.Missing("session")
	}
	if !s.Replaces(session) {
		return fault.New(fault.Conflict, "a summary that covers as much is there")
	}
	for _, m := range f.messages[of.ID] {
		if known := !s.CoveredAt.IsZero(); m.Seq == s.CoveredThrough && known && !s.CoveredAt.Equal(m.Timestamp) {
			return fmt.Errorf("message %d is of %v, and the summary covers until %v", m.Seq, m.Timestamp, s.CoveredAt)
		}
	}
	if s.Kind == conversation.ByModel && s.CoveredThrough > session.Summarized.Seq {
		session.Summarized = conversation.Watermark{Seq: s.CoveredThrough, At: s.CoveredAt}
	}
	if s.Text != "" {
		session.Summary = &conversation.SessionSummary{
			Text: s.Text, Tags: s.Tags, Kind: s.Kind, InProgress: s.InProgress, CoveredThrough: s.CoveredThrough,
			UpdatedAt: s.UpdatedAt, Model: s.Model, Fields: s.OwnFields, Digest: s.Digest, Days: s.Days,
		}
	}
	f.sessions[of.ID] = session
	f.saved = append(f.saved, s)
	return nil
}

func (f *fake) SessionDue(ctx context.Context, d sweep.Due) (conversation.Session, error) {
	return f.SessionIn(ctx, d.User, "", d.ID)
}

func (f *fake) ClaimSession(_ context.Context, user conversation.UserID, s conversation.Session, until time.Time,
) (sweep.Claim, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, ok := f.sessions[s.ID]
	if !ok || !f.due[s.ID].Equal(s.DueAt) {
		return sweep.Claim{}, false, nil
	}
	d := sweep.Due{Partition: string(user), ID: s.ID, User: user, DueAt: s.DueAt}
	return f.claim(d, now, until), true, nil
}

// claim claims a session for a worker.
func (f *fake) claim(d sweep.Due, s conversation.Session, until time.Time) sweep.Claim {
	f.due[s.ID] = until
	s.ClaimedVersion = s.Version
	f.failures[s.ID]++
	f.sessions[s.ID] = s
	return sweep.Claim{Due: d, Until: until, Failures: f.failures[s.ID]}
}

func (f *fake) Settle(_ context.Context, _ conversation.UserID, s conversation.Session) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, ok := f.sessions[s.ID]
	if !ok || now.Version != s.Version || now.Summarized.Seq < now.LastSeq || now.Indexed.Seq < now.LastSeq ||
		now.NeedsExtraction() || !sameSummary(now, s) {
		return false, nil
	}
	delete(f.due, s.ID)
	delete(f.failures, s.ID)
	now.ClaimedVersion = 0
	f.sessions[s.ID] = withIndexed(now, s)
	return true, nil
}

func sameSummary(a, b conversation.Session) bool {
	if a.Summary == nil || b.Summary == nil {
		return a.Summary == b.Summary
	}
	return a.Summary.UpdatedAt.Equal(b.Summary.UpdatedAt)
}

// withIndexed returns the session as it is now, with what is known of the index.
func withIndexed(now, known conversation.Session) conversation.Session {
	if known.Summary != nil && known.Summary.Indexed && sameSummary(now, known) {
		indexed := *now.Summary
		indexed.Indexed = true
		now.Summary = &indexed
	}
	return now
}

func (f *fake) EndClaim(ctx context.Context, c sweep.Claim, s conversation.Session, at time.Time, succeeded bool,
) error {
	f.mu.Lock()
	if !f.due[s.ID].Equal(c.Until) {
		f.mu.Unlock()
		return nil
	}
	if f.due[s.ID] = at; succeeded {
		delete(f.failures, s.ID)
	}
	now := withIndexed(f.sessions[s.ID], s)
	now.ClaimedVersion = 0
	f.sessions[s.ID] = now
	f.mu.Unlock()
	if summary.IsDone(now) {
		_, err := f.Settle(ctx, c.User, now)
		return err
	}
	return nil
}

func (f *fake) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	f.mu.Lock()
	f.calls++
	f.users = append(f.users, r.User)
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

func (f *fake) Repair(_ context.Context, _ conversation.UserID, s conversation.Session) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.repaired[s.ID]++
	now := f.sessions[s.ID]
	now.Indexed.Seq = now.LastSeq
	f.sessions[s.ID] = now
	return nil
}

// IsOverdue is true for a session with an urgent message.
func (f *fake) IsOverdue(s conversation.Session) bool { return s.Extracted.Seq < s.UrgentSeq }

func (f *fake) ExtractNext(ctx context.Context, user conversation.UserID, in, id string,
) (conversation.Watermark, error) {
	return f.Extract(ctx, user, in, id)
}

// Extract reads a session to its end.
func (f *fake) Extract(_ context.Context, _ conversation.UserID, _, id string) (conversation.Watermark, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.extracted[id]++
	if f.failExtract != nil {
		return conversation.Watermark{}, f.failExtract
	}
	now := f.sessions[id]
	if !f.keepsUnread {
		now.Extracted = conversation.Watermark{Seq: now.LastSeq}
	}
	f.sessions[id] = now
	return now.Extracted, nil
}

func (f *fake) Count(text string) int { return len(strings.Fields(text)) }

func (f *fake) service() *summary.Service {
	return summary.New(summary.Deps{
		Store: f, Model: f, Quota: &f.quota, Index: f, Messages: f, Memories: f, Tokens: f, Now: time.Now,
		Random: func() float64 { return 0 },
		Report: func(_ context.Context, op string, _ error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.reported = append(f.reported, op)
		},
		EveryMessages: 4, Idle: 15 * time.Minute, Timeout: 2500 * time.Millisecond, Background: true,
	})
}

// leave marks a session as left and returns the stream's change.
func (f *fake) leave(id string) conversation.Change {
	return f.alter(id, func(s *conversation.Session) { s.LeftAt = time.Now() })
}
