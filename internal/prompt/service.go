package prompt

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

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
