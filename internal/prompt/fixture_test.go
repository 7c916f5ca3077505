package prompt_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/token"
)

// now is the clock of all tests that don't bring their own.
var now = time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)

// tokens is the real tokenizer. It counts each text once, because the tests have most of their texts in common.
var tokens = &countedOnce{counter: token.New()}

type countedOnce struct {
	counter *token.Counter
	counts  sync.Map
}

// Count implements llm.Counter.
func (c *countedOnce) Count(text string) int {
	if n, ok := c.counts.Load(text); ok {
		return n.(int)
	}
	n := c.counter.Count(text)
	c.counts.Store(text, n)
	return n
}

// person is everything that one user has, as a store would answer it.
type person struct {
	sessions []conversation.Session
	messages []conversation.Message
	snapshot longterm.Snapshot
	access   longterm.Access
	hits     []recall.Hit
}

// fixture is a store, a search and an archive of many users, with faults to inject. It is safe for concurrent use.
type fixture struct {
	mu      sync.Mutex
	people  map[conversation.UserID]*person
	prompts map[string]prompt.StoredPrompt
	calls   map[string]int
	fail    map[string]error
	delay   map[string]time.Duration
	// during, where set, runs once within the source's next call.
	during map[string]func()
	found  []recall.Degradation
	// asked is what the search was last asked, access what it was given to read by.
	asked   recall.Search
	access  longterm.Access
	counter llm.Counter
	// timelineLag hides that many of the newest messages from the timeline.
	timelineLag int
	// inAppsRecord keeps the messages of adopted sessions from all reads but those of the session's own messages.
	inAppsRecord bool
}

func newFixture() *fixture {
	return &fixture{
		people: map[conversation.UserID]*person{}, prompts: map[string]prompt.StoredPrompt{}, calls: map[string]int{},
		fail: map[string]error{}, delay: map[string]time.Duration{}, during: map[string]func(){}, counter: tokens,
	}
}

func (w *fixture) user(id conversation.UserID) *person {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.people[id] == nil {
		w.people[id] = &person{access: longterm.Access{Preferences: longterm.DefaultPreferences()}}
	}
	return w.people[id]
}

// call counts a call and plays its fault.
func (w *fixture) call(ctx context.Context, source string, user conversation.UserID) (*person, error) {
	w.mu.Lock()
	w.calls[source]++
	err, delay, during := w.fail[source], w.delay[source], w.during[source]
	delete(w.during, source)
	w.mu.Unlock()
	if during != nil {
		during()
	}
	if delay > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(delay):
		}
	}
	return w.user(user), err
}

// service returns a prompt service on the fixture whose clock always returns at.
func (w *fixture) service(at time.Time) *prompt.Service {
	return prompt.New(w.deps(at))
}

func (w *fixture) deps(at time.Time) prompt.Deps {
	ids := 0
	return prompt.Deps{
		Store: w, Search: w, Counter: w.counter, Archive: w, StoreText: true,
		// Tests that are not of deadlines run on machines with other work.
		Deadlines: gather.Deadlines{Messages: time.Minute, LongTerm: time.Minute, Sessions: time.Minute, Search: time.Minute},
		Now:       func() time.Time { return at },
		NewID: func() string {
			w.mu.Lock()
			defer w.mu.Unlock()
			ids++
			return fmt.Sprintf("id%d", ids)
		},
	}
}

// line is one message of a conversation: minutes after the session's start, who, what.
type line struct {
	after time.Duration
	role  conversation.Role
	text  string
}

func says(after time.Duration, text string) line { return line{after, conversation.RoleUser, text} }

func answers(after time.Duration, text string) line {
	return line{after, conversation.RoleAssistant, text}
}

// converse adds a session with its messages to a person.
func (p *person) converse(id, in, coach string, start time.Time, lines ...line) *conversation.Session {
	s := conversation.Session{
		ID: id, Context: in, CoachID: coach, Mode: "chat", Status: conversation.Active,
		CreatedAt: start, MessageCount: len(lines), LastSeq: len(lines),
	}
	for i, l := range lines {
		at := start.Add(l.after)
		if i == 0 {
			s.StartedAt = at
		}
		s.LastMessageAt = at
		p.messages = append(p.messages, conversation.Message{
			ID: fmt.Sprintf("msg_%s_%d", id, i+1), Seq: i + 1, SessionID: id, Context: in, CoachID: coach, Role: l.role,
			Content: l.text, Tokens: tokens.Count(l.text), Timestamp: at,
		})
	}
	p.sessions = append(p.sessions, s)
	return &p.sessions[len(p.sessions)-1]
}

// summarize gives a session a model's summary through its last message.
func summarize(s *conversation.Session, text string) *conversation.Session {
	s.Summary = &conversation.SessionSummary{
		Text: text, Kind: conversation.ByModel, CoveredThrough: s.LastSeq, UpdatedAt: s.LastMessageAt.Add(time.Minute),
	}
	s.Summarized.Seq = s.LastSeq
	return s
}

// message returns a person's message by its id.
func (p *person) message(t *testing.T, id string) *conversation.Message {
	t.Helper()
	for i := range p.messages {
		if p.messages[i].ID == id {
			return &p.messages[i]
		}
	}
	t.Fatalf("no message %s", id)
	return nil
}

func summaryHit(s *conversation.Session, score float64) recall.Hit {
	appContext, err := conversation.AppContextOf(s.Context)
	if err != nil {
		panic(err)
	}
	return recall.Hit{ID: string(appContext.Summary.Type) + "#" + s.ID, Score: score, Summary: &summary.Summary{
		RecordType: appContext.Summary.Type, SubjectID: s.ID, SessionID: s.ID, Context: s.Context, CoachID: s.CoachID,
		Text: s.Summary.Text, Tags: s.Summary.Tags, CoveredThrough: s.Summary.CoveredThrough, OccurredAt: s.LastMessageAt,
		UpdatedAt: s.Summary.UpdatedAt,
	}}
}

func blockOf(t *testing.T, p prompt.Prompt, name string) prompt.Block {
	t.Helper()
	for _, b := range p.Manifest.Blocks {
		if b.Name == name {
			return b
		}
	}
	t.Fatalf("the manifest has no block %s", name)
	return prompt.Block{}
}

// systemText is all that a prompt says as the system: in front of the session's messages, and after them.
func systemText(p prompt.Prompt) string {
	text := p.System
	for _, m := range p.Messages {
		if m.Role == "system" {
			text += "\n\n" + m.Content
		}
	}
	return strings.TrimPrefix(text, "\n\n")
}

// everything is all text of a prompt.
func everything(p prompt.Prompt) string {
	var b strings.Builder
	b.WriteString(p.System + "\n" + p.Text)
	for _, m := range p.Messages {
		b.WriteString("\n" + m.Content)
	}
	return b.String()
}

func build(t *testing.T, s *prompt.Service, user conversation.UserID, r prompt.Request) prompt.Prompt {
	t.Helper()
	return check.Got(s.Build(t.Context(), user, r))(t)
}

// adopted is what a session has whose messages are in an app's own record.
type adopted struct{ hasCopies bool }

// HasCopies implements conversation.Adopted.
func (a adopted) HasCopies() bool { return a.hasCopies }
