package prompt

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

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
func (s *Service) assemble(o order, got gathered, now time.Time) (Prompt, error) {
	v := look(o, got, now)
	blocks := v.choose()
	f := fitter{limit: o.budget, messageApart: o.recipe.MessageApart, page: page{
		format: o.recipe.Format, place: v.place, tally: tally{counter: s.Counter, fixed: &s.fixed, joints: map[string]int{}},
	}}
	if err := f.fit(blocks); err != nil {
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
		Tools: toolsOf(o.recipe), Model: v.coach.Model,
		Tokens:   Tokens{Total: total.tokens, Budget: o.budget.tokens},
		Manifest: account(blocks, o.budget, got, v.degraded(got)),
	}, nil
}

// choose asks every slot's chooser, the most valuable block first, so that what two blocks could tell is told by the
// better one.
func (v *view) choose() []*block {
	blocks := make([]*block, 0, len(v.recipe.Slots))
	for i := range v.recipe.Slots {
		slot := &v.recipe.Slots[i]
		b := &block{slot: slot, off: slot.Only != nil && !slot.Only(v)}
		if !b.off {
			choose := slot.Choose
			if choose == nil {
				choose = choosers[slot.Block]
			}
			b.entries = choose(v, slot)
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// ordered returns the blocks in the order in which they are written.
func (r Recipe) ordered(blocks []*block) []*block {
	if r.Order == nil {
		return blocks
	}
	sorted := slices.Clone(blocks)
	slices.SortStableFunc(sorted, func(a, b *block) int {
		return slices.Index(r.Order, a.slot.Block) - slices.Index(r.Order, b.slot.Block)
	})
	return sorted
}

// degraded adds what the view finds missing to what the sources said.
func (v *view) degraded(got gathered) []recall.Degradation {
	out := slices.Clone(got.degraded)
	if v.knows && v.snapshot.Profile == nil && v.recipe.has(blockProfile) {
		out = append(out, recall.Degradation{Source: "profile", Reason: "profile missing"})
	}
	embedded := func(s conversation.Session) bool { return s.Placement == conversation.Embedded }
	if embedded(v.session) || slices.ContainsFunc(v.sessions, embedded) {
		out = append(out, recall.Degradation{Source: "timeline", Reason: "not_migrated"})
	}
	return out
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
