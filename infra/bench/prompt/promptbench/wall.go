package promptbench

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/prompt"
)

// Wall is a recipe's wall time and that of the slowest chain of its remote calls, both medians.
type Wall struct {
	Recipe string `json:"recipe"`
	// Calls is how many remote calls a prompt makes, Depth how many of them are in the slowest chain.
	Calls int `json:"calls"`
	Depth int `json:"depth"`
	Times
}

// Times are the medians of times and of those of their slowest chains of remote calls. RatioMedian and RatioP99 are of
// single times over those of their own chains.
type Times struct {
	Critical    time.Duration `json:"criticalNs"`
	Median      time.Duration `json:"medianNs"`
	RatioMedian float64       `json:"ratioMedian"`
	RatioP99    float64       `json:"ratioP99"`
}

func timesOf(times, criticals []time.Duration) Times {
	ratios := make([]float64, len(times))
	for i, took := range times {
		ratios[i] = float64(took) / float64(criticals[i])
	}
	return Times{
		Critical: report.Median(criticals), Median: report.Median(times),
		RatioMedian: upperQuantile(ratios, 0.5), RatioP99: upperQuantile(ratios, 0.99),
	}
}

// measureWall builds prompts over links with their latencies.
func (s *services) measureWall(ctx context.Context, h *history, recipe string, repeats int) (Wall, error) {
	db := s.db(s.client, h)
	p := s.prompter(dynamo.NewPromptSource(db), s.search(db, s.vectors, h), h)
	if err := s.warmUp(ctx, p, h, recipe); err != nil {
		return Wall{}, err
	}
	s.instant.Store(false)
	defer s.instant.Store(true)
	out := Wall{Recipe: recipe}
	var walls, criticals []time.Duration
	var depths []float64
	for range repeats {
		s.drain()
		began := time.Now()
		if _, err := h.build(ctx, p, recipe); err != nil {
			return out, err
		}
		wall, calls := time.Since(began), s.drain()
		critical, depth := criticalPath(calls)
		walls, criticals = append(walls, wall), append(criticals, critical)
		out.Calls, depths = max(out.Calls, len(calls)), append(depths, float64(depth))
	}
	out.Depth = int(upperQuantile(depths, 0.5))
	out.Times = timesOf(walls, criticals)
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

// upperQuantile returns the value below which the share q (0 to 1) of the samples lies. Between two samples it returns
// the higher one.
func upperQuantile(samples []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	at := q * float64(len(sorted)-1)
	i := int(at)
	if float64(i) < at {
		i++
	}
	return sorted[i]
}
