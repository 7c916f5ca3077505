package promptbench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/prompt"
)

// warmups is how often a prompt is built before it counts.
const warmups = 20

// Wall is a recipe's wall time and that of the slowest chain of its remote calls, both medians; the ratios are those
// of the two in each prompt.
type Wall struct {
	Recipe string `json:"recipe"`
	// Calls is how many remote calls a prompt makes, Depth how many are in the slowest chain.
	Calls    int           `json:"calls"`
	Depth    int           `json:"depth"`
	Critical time.Duration `json:"criticalNs"`
	Median   time.Duration `json:"medianNs"`
	// RatioMedian and RatioP99 are wall time over the slowest chain's.
	RatioMedian float64 `json:"ratioMedian"`
	RatioP99    float64 `json:"ratioP99"`
}

// wall builds prompts through lines that have their latencies.
func (s *services) wall(ctx context.Context, sc *scene, recipe string, repeats int) (Wall, error) {
	store := s.store(s.client, sc)
	p := s.prompter(store, s.search(store, s.vectors, sc), sc)
	if err := s.warm(ctx, p, sc, recipe); err != nil {
		return Wall{}, err
	}
	s.idle.Store(false)
	defer s.idle.Store(true)
	out := Wall{Recipe: recipe}
	var walls, criticals []time.Duration
	var ratios, depths []float64
	for range repeats {
		s.take()
		began := time.Now()
		if _, err := sc.build(ctx, p, recipe); err != nil {
			return out, err
		}
		wall, calls := time.Since(began), s.take()
		chain, depth := critical(calls)
		walls, criticals = append(walls, wall), append(criticals, chain)
		ratios = append(ratios, float64(wall)/float64(chain))
		out.Calls, depths = max(out.Calls, len(calls)), append(depths, float64(depth))
	}
	out.Depth = int(quantile(depths, 0.5))
	out.Median, out.Critical = report.Median(walls), report.Median(criticals)
	out.RatioMedian, out.RatioP99 = quantile(ratios, 0.5), quantile(ratios, 0.99)
	return out, nil
}

// warm builds until connections are open and caches are filled.
func (s *services) warm(ctx context.Context, p *prompt.Service, sc *scene, recipe string) error {
	for range warmups {
		if _, err := sc.build(ctx, p, recipe); err != nil {
			return err
		}
	}
	s.take()
	return nil
}

// build builds the scene's prompt, whole.
func (sc *scene) build(ctx context.Context, p *prompt.Service, recipe string) (prompt.Prompt, error) {
	r := sc.request
	r.Recipe = recipe
	built, err := p.Build(ctx, sc.user, r)
	if err == nil && len(built.Manifest.Degraded) > 0 {
		err = fmt.Errorf("the prompt lacks %v", built.Manifest.Degraded)
	}
	return built, err
}

// quantile is the value below which that share of the samples lies, without interpolation above it: the higher of its
// two neighbours.
func quantile(samples []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	at := q * float64(len(sorted)-1)
	i := int(at)
	if float64(i) < at {
		i++
	}
	return sorted[i]
}
