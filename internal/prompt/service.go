package prompt

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/provider"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/prompt/render"
	"github.com/throughline/throughline/internal/recall"
)

// Deps are the dependencies of a Service. Store, Search, Counter, Archive, Now and NewID are required.
type Deps struct {
	Store   gather.Store
	Search  gather.Searcher
	Counter llm.Counter
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
	Deadlines gather.Deadlines
}

// Observation describes a built prompt for metrics.
type Observation struct {
	Tokens   Tokens
	Degraded []recall.Degradation
	// Timings are how long each source took, by its name.
	Timings map[string]time.Duration
	// Own is the time from the last source's answer to the rendered prompt.
	Own time.Duration
}

const defaultRetention = 7 * 24 * time.Hour

// Service builds prompts. It is safe for concurrent use.
type Service struct {
	Deps
	gatherer  *gather.Gatherer
	constants render.Constants
}

// New returns a service with its dependencies.
func New(d Deps) *Service {
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	d.Retention = cmp.Or(d.Retention, defaultRetention)
	return &Service{Deps: d, gatherer: gather.New(gather.Deps{
		Store: d.Store, Search: d.Search, Counter: d.Counter, Now: d.Now, Log: d.Log, Deadlines: d.Deadlines,
	})}
}

// Build gathers, chooses, packs and renders one prompt. It saves the prompt unless the request says SkipSave.
//
// Errors: Invalid with the field; a message that exceeds the budget is Invalid with the budget and the tokens needed.
// NotFound for a session that this user does not have. Unavailable if the session or its messages can't be read. Every
// other source that fails or is late is named in the manifest's degraded, and the prompt is built without it.
func (s *Service) Build(ctx context.Context, user conversation.UserID, r Request) (built Prompt, err error) {
	ctx, span := startSpan(ctx, r)
	defer func() { span.end(built, err) }()
	o, err := check(r)
	if err != nil {
		return Prompt{}, err
	}
	now := conversation.Milliseconds(s.Now())
	src, err := s.gatherer.Gather(ctx, o.gatherPlan(user, now))
	if err != nil {
		return Prompt{}, err
	}
	began := time.Now()
	p, err := s.assemble(o, src)
	if err != nil {
		return Prompt{}, err
	}
	p.ID = promptID(now, s.NewID())
	s.report(ctx, p, src.Timings, time.Since(began))
	if r.SkipSave {
		return p, nil
	}
	stored, err := NewStoredPrompt(p, SaveOptions{
		Text: s.StoreText, Now: now, TTL: s.Retention, Generation: src.Access.Generation,
		SessionCreatedAt: src.Session.CreatedAt,
	})
	if err != nil {
		return Prompt{}, err
	}
	return p, s.Archive.SavePrompt(ctx, user, stored)
}

// assemble makes the prompt from what was gathered. Equal input and time make equal prompts, to the byte.
func (s *Service) assemble(o checkedRequest, src *gather.Sources) (Prompt, error) {
	previous := o.previous(src)
	candidates := choose.Blocks(src, o.choosePlan(previous))
	renderer := render.New(o.recipe.Format, o.recipe.renderSlots(), src.Zone, s.Counter, &s.constants)
	packing, err := pack.Pack(candidates, o.packPlan(previous), renderer)
	if err != nil {
		return Prompt{}, err
	}
	written := renderer.Write(packing)
	total := pack.Cost{}
	for _, c := range written.Costs {
		total = total.Add(c)
	}
	if written.Messages == nil {
		written.Messages = []Message{{Role: string(conversation.RoleUser), Content: o.Message}}
	}
	p := Prompt{
		SessionID: o.SessionID, Recipe: o.recipe.Name, System: written.System, Messages: written.Messages,
		Text: written.Text, Tools: toolsOf(o.toolNames()), Model: src.Coach.Model,
		Tokens:   Tokens{Total: total.Tokens, Budget: o.budget.Tokens},
		Manifest: o.newManifest(src, packing, written.Costs),
	}
	p.Forms = provider.New(o.Format, p.ModelMessages(), p.Tools)
	return p, nil
}

// report passes the prompt's warnings to the log and its figures to the metrics.
func (s *Service) report(ctx context.Context, p Prompt, timings map[string]time.Duration, own time.Duration) {
	for _, warning := range p.Manifest.Warnings {
		s.Log.WarnContext(ctx, "prompt warning", "recipe", p.Recipe, "promptId", p.ID, "warning", warning)
	}
	if s.Observe != nil {
		s.Observe(ctx, Observation{Tokens: p.Tokens, Degraded: p.Manifest.Degraded, Timings: timings, Own: own})
	}
}
