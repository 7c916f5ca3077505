package main

import (
	"context"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/prompt"
)

// wall is the wall time of a unified prompt and that of the slowest chain of its remote calls, both medians. The ratios
// are of single prompts over their own chains.
type wall struct {
	// calls is how many remote calls a prompt makes, depth how many of them are in the slowest chain.
	calls, depth     int
	critical, median time.Duration
	ratio50, ratio99 float64
}

// measureWall builds prompts over links with their latencies.
func (s *services) measureWall(ctx context.Context, h *history, repeats int) (out wall, err error) {
	p := s.prompter(s.client, s.vectors, h)
	if err := s.warmUp(ctx, p, h, prompt.Unified); err != nil {
		return out, err
	}
	s.isSlow.Store(true)
	defer s.isSlow.Store(false)
	var walls, criticals []time.Duration
	var depths, ratios []float64
	for range repeats {
		s.drain()
		began := time.Now()
		if _, err := h.build(ctx, p, prompt.Unified); err != nil {
			return out, err
		}
		took, calls := time.Since(began), s.drain()
		critical, depth := criticalPath(calls)
		walls, criticals = append(walls, took), append(criticals, critical)
		ratios, depths = append(ratios, ratio(took, critical)), append(depths, float64(depth))
		out.calls = max(out.calls, len(calls))
	}
	out.depth = int(report.Quantile(depths, 0.5))
	out.critical, out.median = report.Median(criticals), report.Median(walls)
	out.ratio50, out.ratio99 = report.Quantile(ratios, 0.5), report.Quantile(ratios, 0.99)
	return out, nil
}

// warmUp builds prompts until connections are open and caches are filled.
func (s *services) warmUp(ctx context.Context, p *prompt.Service, h *history, recipe string) error {
	for range s.warmups {
		if _, err := h.build(ctx, p, recipe); err != nil {
			return err
		}
	}
	s.drain()
	return nil
}
