package main

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/prompt"
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
	// firstCounted on.
	median float64
}

// measureReuse plays a day of a chat and compares each turn's prompt with the one before it.
func measureReuse(ctx context.Context, s *services, turns int) (r reuse, err error) {
	d, err := startDay(ctx, s)
	if err != nil {
		return r, err
	}
	var before []string
	var shares []float64
	all := 0
	for turn := range turns {
		if err := d.ask(ctx, turn); err != nil {
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
		parts, tokens := partsOf(built), 0
		for _, part := range parts {
			tokens += s.tokens.Count(part)
		}
		if turn+1 >= firstCounted {
			shares = append(shares, float64(s.commonPrefix(before, parts))/float64(tokens))
		}
		before, all = parts, all+tokens
	}
	if len(shares) == 0 {
		return r, fmt.Errorf("%d turns are too few", turns)
	}
	return reuse{all / turns, report.Quantile(shares, 0.5)}, nil
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
