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
	// Open reads a session of a known context, with the user's preferences and generation, consistently and in one
	// call. A session that does not exist, or belongs to another user, is NotFound.
	Open(ctx context.Context, user conversation.UserID, context, sessionID string) (conversation.Session, longterm.Access,
		error)
	// Tail returns a session's last n messages, oldest first. It is complete even while the indexes lag.
	Tail(ctx context.Context, user conversation.UserID, session conversation.Session, n int) ([]conversation.Message,
		error)
	// MessagesBefore returns the last n messages of a session before one of them, oldest first. It is complete even while
	// the indexes lag.
	MessagesBefore(ctx context.Context, user conversation.UserID, session conversation.Session,
		before conversation.Message, n int) ([]conversation.Message, error)
	// CoachSessions returns one page of a coach's sessions that have messages or a summary, latest first.
	CoachSessions(ctx context.Context, user conversation.UserID, of conversation.CoachSessions,
		page conversation.Page) ([]conversation.Session, conversation.Position, error)
	// Timeline is the method of conversation.MessageStore.
	Timeline(ctx context.Context, user conversation.UserID, r conversation.Range,
		page conversation.Page) ([]conversation.Message, conversation.Position, error)
	// LongTerm returns the user's live long-term memory in one query.
	LongTerm(ctx context.Context, user conversation.UserID) (longterm.Snapshot, error)
	// Resolve reads records by their ids, consistently, in one batch read per hundred. It leaves out records that are
	// deleted, of another user or of another generation.
	Resolve(ctx context.Context, user conversation.UserID, generation int64, ids []string) ([]recall.Hit, error)
}

// Searcher finds what is relevant to a text, best first: embedding, vector index, table.
type Searcher interface {
	Search(ctx context.Context, user conversation.UserID, q recall.Search) (recall.Found, error)
}

// Counter counts a text's tokens as the target model's family does.
type Counter interface {
	Count(text string) int
}

// Deps are the dependencies of a Service. Store, Search, Counter, Archive, Now and NewID are required.
type Deps struct {
	Store   Store
	Search  Searcher
	Counter Counter
	Archive Archive
	Now     func() time.Time
	// NewID returns the random part of a prompt's id.
	NewID func() string
	// Log takes warnings and the reasons why a source was missing; nil logs nothing. Contents are never logged.
	Log *slog.Logger
	// Observe, if set, is called for each prompt that was built, for metrics.
	Observe func(ctx context.Context, o Observation)
	// StoreText stores the rendered prompt with its manifest. Retention is how long both are stored; 0 means 7 days.
	StoreText bool
	Retention time.Duration
	// Deadlines limit the sources. Zero fields take their defaults.
	Deadlines Deadlines
}

// Observation describes a built prompt for metrics.
type Observation struct {
	Recipe   string
	Tokens   Tokens
	Degraded []recall.Degradation
	// Timings are how long each source took, by its name.
	Timings map[string]time.Duration
	// Own is the time from the last source's answer to the rendered prompt.
	Own time.Duration
}

// Deadlines are how long each source may take before the prompt is built without it. Messages applies to the required
// sources, without which there is no prompt.
type Deadlines struct {
	Messages time.Duration
	LongTerm time.Duration
	Sessions time.Duration
	Search   time.Duration
}

// Defaults of Deps.
const (
	defaultMessages  = 3 * time.Second
	defaultLongTerm  = time.Second
	defaultSessions  = time.Second
	defaultSearch    = 1500 * time.Millisecond
	defaultRetention = 7 * 24 * time.Hour
)

// Service builds prompts. It is safe for concurrent use.
type Service struct {
	Deps
	breakers map[string]*breaker
	// fixed holds the token counts of the formats' own texts.
	fixed sync.Map
}

// New returns a service with its dependencies.
func New(d Deps) *Service {
	d.Deadlines.Messages = cmp.Or(d.Deadlines.Messages, defaultMessages)
	d.Deadlines.LongTerm = cmp.Or(d.Deadlines.LongTerm, defaultLongTerm)
	d.Deadlines.Sessions = cmp.Or(d.Deadlines.Sessions, defaultSessions)
	d.Deadlines.Search = cmp.Or(d.Deadlines.Search, defaultSearch)
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	d.Retention = cmp.Or(d.Retention, defaultRetention)
	return &Service{Deps: d, breakers: map[string]*breaker{
		sourceLongTerm: {}, sourceSessions: {}, sourceSearch: {},
	}}
}

// Build gathers, selects, packs and renders one prompt. It saves the prompt unless the request says SkipSave.
//
// Errors: Invalid with the field; a message that exceeds the budget is Invalid with the budget and the tokens needed.
// NotFound for a session that this user does not have. Unavailable if the session or its messages can't be read. Every
// other source that fails or is late is named in the manifest's degraded, and the prompt is built without it.
func (s *Service) Build(ctx context.Context, user conversation.UserID, r Request) (Prompt, error) {
	o, err := check(r)
	if err != nil {
		return Prompt{}, err
	}
	now := conversation.Milliseconds(s.Now())
	sel, got, err := s.gather(ctx, user, o, now)
	if err != nil {
		return Prompt{}, err
	}
	began := time.Now()
	p, err := s.assemble(sel, got)
	if err != nil {
		return Prompt{}, err
	}
	p.ID = promptID(now, s.NewID())
	s.report(ctx, p, got, time.Since(began))
	if r.SkipSave {
		return p, nil
	}
	stored, err := NewStoredPrompt(p, SaveOptions{
		Text: s.StoreText, Now: now, TTL: s.Retention, Generation: got.access.Generation,
		SessionCreatedAt: sel.session.CreatedAt,
	})
	if err != nil {
		return Prompt{}, err
	}
	return p, s.Archive.SavePrompt(ctx, user, stored)
}

// assemble makes the prompt from what was gathered. Equal input and time make equal prompts, to the byte.
func (s *Service) assemble(sel *selection, got gathered) (Prompt, error) {
	o := sel.checkedRequest
	blocks := selectBlocks(sel)
	f := packer{limit: o.budget, messageExcluded: o.recipe.MessageExcluded, steady: sel.goesOn, inCache: sel.inCache}
	f.renderer = renderer{
		format: o.recipe.Format, zone: sel.zone, tokenCounter: tokenCounter{
			counter: s.Counter, fixed: &s.fixed,
			edges: map[string]int{},
		},
	}
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
		text.messages = []Message{{Role: string(conversation.RoleUser), Content: o.Message}}
	}
	return Prompt{
		SessionID: o.SessionID, Recipe: o.recipe.Name, System: text.system, Messages: text.messages, Text: text.text,
		Tools: recipeTools(o.recipe), Model: sel.coach.Model,
		Tokens:   Tokens{Total: total.tokens, Budget: o.budget.tokens},
		Manifest: newManifest(blocks, o.budget, got, allDegraded(sel, got), o.recipe.Steady),
	}, nil
}

// report passes the prompt's warnings to the log and its figures to the metrics.
func (s *Service) report(ctx context.Context, p Prompt, got gathered, own time.Duration) {
	for _, warning := range p.Manifest.Warnings {
		s.Log.WarnContext(ctx, "prompt warning", "recipe", p.Recipe, "promptId", p.ID, "warning", warning)
	}
	if s.Observe != nil {
		s.Observe(ctx, Observation{
			Recipe: p.Recipe, Tokens: p.Tokens, Degraded: p.Manifest.Degraded, Timings: got.timings,
			Own: own,
		})
	}
}
