package prompt

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
)

// Store is what a prompt reads from the table.
type Store interface {
	// Open reads a session of a known context together with the user's preferences and generation, consistently,
	// in one call. A session that does not exist, or is another user's, is NotFound.
	Open(ctx context.Context, user conversation.UserID, context, sessionID string) (conversation.Session, longterm.Access, error)
	// Tail returns a session's last n messages, oldest first, complete whatever the indexes lag.
	Tail(ctx context.Context, user conversation.UserID, session conversation.Session, n int) ([]conversation.Message, error)
	// RecentSessions returns the sessions active since then, latest first, whole (with their summaries).
	RecentSessions(ctx context.Context, user conversation.UserID, since time.Time, limit int) ([]conversation.Session, error)
	// Timeline is conversation.MessageStore's.
	Timeline(ctx context.Context, user conversation.UserID, r conversation.Range, page conversation.Page) ([]conversation.Message, conversation.Position, error)
	// LongTerm returns the user's live long-term memory in one query.
	LongTerm(ctx context.Context, user conversation.UserID) (longterm.Snapshot, error)
	// Resolve reads records by their ids, consistently, in as few batch reads as there are hundreds of them. What is
	// deleted, another user's or of another generation is left out.
	Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string) ([]recall.Hit, error)
}

// Searcher is the chain embedding, vector index, table: what matters to a text, best first.
type Searcher interface {
	Search(ctx context.Context, user conversation.UserID, q recall.Search) (recall.Found, error)
}

// Counter counts a text's tokens as the target model's family does.
type Counter interface {
	Count(text string) int
}

// Deps are what a Service stands on. Store, Search, Counter, Archive, Now and NewID are needed.
type Deps struct {
	Store   Store
	Search  Searcher
	Counter Counter
	Archive Archive
	Now     func() time.Time
	// NewID returns the random part of a prompt's id.
	NewID func() string
	// Log takes warnings and why a source was missing; nil logs nothing. Contents are never logged.
	Log *slog.Logger
	// Observe, where set, hears of each prompt built, for metrics.
	Observe func(ctx context.Context, o Observation)
	// StoreText keeps rendered prompts beside their manifests; Retention is how long both are kept, 7 days where it is 0.
	StoreText bool
	Retention time.Duration
	// Deadlines bound the sources; zero fields take their defaults.
	Deadlines Deadlines
}

// Observation is what a built prompt came to, for metrics.
type Observation struct {
	Recipe   string
	Tokens   Tokens
	Degraded []recall.Degradation
	// Timings are how long each source took, by its name.
	Timings map[string]time.Duration
	// Own is the time from the last source's answer to the rendered prompt.
	Own time.Duration
}

// Deadlines are how long each source may take before the prompt goes on without it; Messages bounds what a prompt
// can't do without.
type Deadlines struct {
	Messages time.Duration
	LongTerm time.Duration
	Sessions time.Duration
	Search   time.Duration
}

// defaults of Deps.
const (
	defaultMessages = 3 * time.Second
	defaultLongTerm = time.Second
	defaultSessions = time.Second
	defaultSearch   = 1500 * time.Millisecond
	defaultKeepFor  = 7 * 24 * time.Hour
)

// Service builds prompts. It is safe for concurrent use.
type Service struct {
	Deps
	breakers map[string]*breaker
	// fixed holds the counts of the formats' own words.
	fixed sync.Map
}

// New returns a service on its dependencies.
func New(d Deps) *Service {
	d.Deadlines.Messages = cmp.Or(d.Deadlines.Messages, defaultMessages)
	d.Deadlines.LongTerm = cmp.Or(d.Deadlines.LongTerm, defaultLongTerm)
	d.Deadlines.Sessions = cmp.Or(d.Deadlines.Sessions, defaultSessions)
	d.Deadlines.Search = cmp.Or(d.Deadlines.Search, defaultSearch)
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	d.Retention = cmp.Or(d.Retention, defaultKeepFor)
	return &Service{Deps: d, breakers: map[string]*breaker{
		sourceLongTerm: {}, sourceSessions: {}, sourceSearch: {},
	}}
}

// Build gathers, selects, fits and renders one prompt, and keeps it unless the request says that the caller does.
//
// Its errors: Invalid with the field named, where a message that the budget does not hold says the budget and the
// need; NotFound for a session that this user does not have; Unavailable where the session or its messages can't be
// read. Every other source that fails or is late is named in the manifest's degraded, and the prompt goes on without.
func (s *Service) Build(ctx context.Context, user conversation.UserID, r Request) (Prompt, error) {
	o, err := check(r)
	if err != nil {
		return Prompt{}, err
	}
	now := conversation.Milliseconds(s.Now())
	got, err := s.gather(ctx, user, o, now)
	if err != nil {
		return Prompt{}, err
	}
	began := time.Now()
	p, err := s.assemble(o, got, now)
	if err != nil {
		return Prompt{}, err
	}
	p.ID = promptID(now, s.NewID())
	s.report(ctx, p, got, time.Since(began))
	if r.SkipSave {
		return p, nil
	}
	kept, err := NewStoredPrompt(p, SaveOptions{Text: s.StoreText, Now: now, TTL: s.Retention, Generation: got.access.Generation})
	if err != nil {
		return Prompt{}, err
	}
	return p, s.Archive.SavePrompt(ctx, user, kept)
}

// assemble makes the prompt of what was gathered. Equal input and time make equal prompts, to the byte.
func (s *Service) assemble(o checkedRequest, got gathered, now time.Time) (Prompt, error) {
	sel := newSelection(o, got, now)
	blocks := selectBlocks(sel)
	f := packer{limit: o.budget, messageExcluded: o.recipe.MessageExcluded, renderer: renderer{
		format: o.recipe.Format, zone: sel.zone, tokenCounter: tokenCounter{counter: s.Counter, fixed: &s.fixed, edges: map[string]int{}},
	}}
	if err := f.pack(blocks); err != nil {
		return Prompt{}, err
	}
	blocks = o.recipe.ordered(blocks)
	text := f.write(blocks)
	total := cost{}
	for _, b := range blocks {
		total = total.add(b.cost)
	}
	if text.messages == nil {
		text.messages = []Message{{Role: string(conversation.User), Content: o.Message}}
	}
	return Prompt{
		SessionID: o.SessionID, Recipe: o.recipe.Name, System: text.system, Messages: text.messages, Text: text.text,
		Tools: recipeTools(o.recipe), Model: sel.coach.Model,
		Tokens:   Tokens{Total: total.tokens, Budget: o.budget.tokens},
		Manifest: newManifest(blocks, o.budget, got, allDegraded(sel, got)),
	}, nil
}

// report tells the metrics and the log what a prompt came to.
func (s *Service) report(ctx context.Context, p Prompt, got gathered, own time.Duration) {
	for _, warning := range p.Manifest.Warnings {
		s.Log.WarnContext(ctx, "prompt warning", "recipe", p.Recipe, "promptId", p.ID, "warning", warning)
	}
	if s.Observe != nil {
		s.Observe(ctx, Observation{Recipe: p.Recipe, Tokens: p.Tokens, Degraded: p.Manifest.Degraded, Timings: got.timings, Own: own})
	}
}
