package migrate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/migration"
)

// answer is what the function returns. The last two fields are those of a preflight.
type answer struct {
	migration.Answer
	Ready    *bool               `json:"ready,omitempty"`
	Findings []preflight.Finding `json:"findings,omitempty"`
}

// isClear reports whether nothing prevents the migration.
func (a answer) isClear() bool {
	return len(a.Mismatches) == 0 && a.Progress.Problems == 0 && (a.Ready == nil || *a.Ready)
}

// take takes the step that the options name and prints the report.
func take(ctx context.Context, s *service, o Options, p *printer) (isClear bool, err error) {
	in := migration.Request{Action: o.Action, To: o.To, DryRun: o.DryRun}
	if o.To != "" {
		in.Percent = o.Percent
	}
	var last answer
	if slices.Contains(segmented, o.Action) {
		in.TotalSegments, in.RateLimit = o.Segments, float64(o.Rate)/float64(o.Segments)
		last, err = s.run(ctx, in, p.line)
	} else {
		last, err = s.call(ctx, in, func(answer) {})
	}
	if err != nil {
		return false, err
	}
	p.report(last)
	return o.Action == "status" || last.isClear(), nil
}

// segmentAnswers gathers the answers of segments: the forecasts' sum, and all mismatches.
type segmentAnswers struct {
	mu         sync.Mutex
	mismatches []migration.Mismatch
	forecast   *migration.Forecast
}

func (g *segmentAnswers) add(a answer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mismatches = append(g.mismatches, a.Mismatches...)
	f := a.Forecast
	if f == nil || !a.Done {
		return
	}
	if g.forecast == nil {
		g.forecast = &migration.Forecast{}
	}
	g.forecast.Sessions += f.Sessions
	g.forecast.Messages += f.Messages
	g.forecast.Items += f.Items
	g.forecast.WriteUnits += f.WriteUnits
	g.forecast.ReadUnits += f.ReadUnits
	g.forecast.USD += f.USD
	// The segments work side by side, each at its rate.
	g.forecast.Seconds = max(g.forecast.Seconds, f.Seconds)
}

// addOutput adds the output of the state machine: the first mismatch of each segment.
func (g *segmentAnswers) addOutput(output string) error {
	var out struct {
		Mismatches [][]migration.Mismatch `json:"mismatches"`
	}
	if err := json.Unmarshal([]byte(output), &out); err != nil {
		return fmt.Errorf("read the output of the state machine: %w", err)
	}
	for _, of := range out.Mismatches {
		g.add(answer{Answer: migration.Answer{Mismatches: of}})
	}
	return nil
}
