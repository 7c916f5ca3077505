package prompt

import (
	"context"
	"log/slog"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// Deps are what a Service stands on. Store, Search, Counter, Archive, Now and NewID are needed.
type Deps struct {
	Store   Store
	Search  Searcher
	Counter Counter
	Archive Archive
	Now     func() time.Time
	// NewID returns the random part of a prompt's id.
	NewID func() string
	// Log takes the size warning; nil logs nothing. Contents are never logged.
	Log *slog.Logger
	// Observe, where set, hears of each prompt built, for metrics.
	Observe func(ctx context.Context, o Observation)
	// KeepText keeps rendered prompts beside their manifests; KeepFor is how long both are kept, 7 days where it is 0.
	KeepText bool
	KeepFor  time.Duration
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

// Service builds prompts. It is safe for concurrent use.
type Service struct {
	Deps
}

// New returns a service on its dependencies.
func New(d Deps) *Service {
	return &Service{Deps: d}
}

// Build gathers, selects, fits and renders one prompt, and keeps it unless the request says that the caller does.
//
// Its errors: Invalid with the field named, where a budget that the message does not fit says the budget and the need;
// NotFound for a session that this user does not have; Unavailable where the session or its messages can't be read.
// Every other source that fails or is late is named in the manifest's degraded, and the prompt goes on without it.
func (s *Service) Build(ctx context.Context, user conversation.UserID, r Request) (Prompt, error) {
	return s.build(ctx, user, r)
}
