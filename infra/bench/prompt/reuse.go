package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/prompt"
)

// The rules of the provider's cache (OpenAI, "Prompt caching"): a prefix is cached from minCached tokens on, and for
// cacheLifetime.
const (
	minCached     = 1024
	cacheLifetime = 30 * time.Minute
)

// firstCounted is the turn from which on the chat has a past.
const firstCounted = 6

// barBudget is unified's own budget.
const barBudget = 4000

// reuse is how much of the prompts of a chat a provider's cache can reuse.
type reuse struct {
	// tokens is the mean of the prompts.
	tokens int
	// median is the share of a prompt's tokens that are a common prefix with the turn before, over the turns from
	// firstCounted on. across is the median of those before which a summary or an extraction came in. cached is the
	// share of the tokens of the whole chat that the provider's cache has, by its rules.
	median, across, cached float64
}

// sentPrompt is what was sent at one turn: the tools, and the messages.
type sentPrompt struct {
	at    time.Time
	parts []string
}

// measureReuse plays a day of a chat and compares each turn's prompt with those before it.
func measureReuse(ctx context.Context, s *services, turns int) (r reuse, err error) {
	d, err := startDay(ctx, s)
	if err != nil {
		return r, err
	}
	var sent []sentPrompt
	var shares, across []float64
	all, cached := 0, 0
	for turn := range turns {
		after, err := d.ask(ctx, turn)
		if err != nil {
			return r, fmt.Errorf("turn %d: %w", turn+1, err)
		}
		d.request.Budget = &prompt.Budget{Tokens: barBudget}
		built, err := d.build(ctx, d.prompts, prompt.Unified)
		if err == nil {
			err = d.answer(ctx, turn)
		}
		if err != nil {
			return r, fmt.Errorf("turn %d: %w", turn+1, err)
		}
		now, tokens, reused, prefix := sentPrompt{d.now, partsOf(built)}, 0, 0, 0
		for _, part := range now.parts {
			tokens += s.tokens.Count(part)
		}
		for _, before := range sent {
			prefix = s.commonPrefix(before.parts, now.parts) // in the end that with the turn before
			if now.at.Sub(before.at) <= cacheLifetime && prefix >= minCached {
				reused = max(reused, prefix)
			}
		}
		sent, all, cached = append(sent, now), all+tokens, cached+reused
		if share := float64(prefix) / float64(tokens); turn+1 >= firstCounted {
			if shares = append(shares, share); after {
				across = append(across, share)
			}
		}
	}
	if len(across) == 0 {
		return r, fmt.Errorf("%d turns are too few", turns)
	}
	return reuse{
		all / turns, upperQuantile(shares, 0.5), upperQuantile(across, 0.5), float64(cached) / float64(all),
	}, nil
}

// partsOf returns a prompt in the parts that the model's server gets, tools first, each with what it is.
func partsOf(p prompt.Prompt) (parts []string) {
	for _, t := range p.Tools {
		parts = append(parts, "tool "+t.Name+t.Description+string(t.Parameters))
	}
	if p.System != "" {
		parts = append(parts, "system "+p.System)
	}
	for _, m := range p.Messages {
		parts = append(parts, m.Role+" "+m.Content)
	}
	return parts
}

// commonPrefix counts the tokens with which two prompts begin alike.
func (s *services) commonPrefix(a, b []string) (tokens int) {
	for i := range min(len(a), len(b)) {
		tokens += s.tokens.Count(commonText(a[i], b[i]))
		if a[i] != b[i] {
			break
		}
	}
	return tokens
}

// commonText returns the text with which two texts begin alike, up to the last word that both have whole.
func commonText(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	if n < len(b) {
		n = max(strings.LastIndexAny(b[:n], " \n"), 0)
	}
	return b[:n]
}
