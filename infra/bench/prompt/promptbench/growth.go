package promptbench

import (
	"context"
	"fmt"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/prompt"
)

// Growth is what a unified prompt takes with a number of stored messages.
type Growth struct {
	Messages int `json:"messages"`
	// Calls are the most that one prompt made to DynamoDB, OtherCalls the most to the embedding and the vector index.
	Calls      int     `json:"dynamodbCalls"`
	OtherCalls int     `json:"otherCalls"`
	ReadUnits  float64 `json:"readUnits"`
	// Median is the wall time with the services' latencies, Instant the one without. InstantCalls is the part of Instant
	// that the slowest chain of calls takes.
	Median       time.Duration `json:"medianNs"`
	Instant      time.Duration `json:"instantMedianNs"`
	InstantCalls time.Duration `json:"instantCallsMedianNs"`
}

// measureGrowth measures the same prompt over histories of growing length. The lengths take turns, so that whatever
// else the machine does meanwhile affects all alike.
func measureGrowth(ctx context.Context, s *services, settings Settings, progress func(string)) ([]Growth, error) {
	var lengths []*historyLength
	for _, messages := range settings.Lengths {
		progress("writing " + report.Thousands(float64(messages)) + " messages")
		l, err := s.writeLength(ctx, messages)
		if err != nil {
			return nil, err
		}
		lengths = append(lengths, l)
	}
	progress("measuring over the length of the history")
	for _, instant := range []bool{true, false} {
		s.instant.Store(instant)
		for i := range settings.quarter() * len(lengths) {
			if err := lengths[i%len(lengths)].measure(ctx, instant); err != nil {
				return nil, err
			}
		}
	}
	s.instant.Store(true)
	out := make([]Growth, len(lengths))
	for i, l := range lengths {
		out[i] = l.result()
	}
	return out, nil
}

type historyLength struct {
	*services
	*history
	prompts                       *prompt.Service
	out                           Growth
	walls, instants, instantCalls []time.Duration
}

func (s *services) writeLength(ctx context.Context, messages int) (*historyLength, error) {
	now := time.Now().UTC().Truncate(time.Minute)
	h, err := s.writeHistory(ctx, fmt.Sprintf("length-%d", messages), sessionSizes(messages), now)
	if err != nil {
		return nil, err
	}
	db := s.db(s.meter, h)
	// The local index compares a query with every vector, which Pinecone does not: it is queried once.
	p := s.prompter(dynamo.NewPromptSource(db), s.search(db, &cachedIndex{Querier: s.vectors}, h), h)
	l := &historyLength{services: s, history: h, prompts: p, out: Growth{Messages: messages}}
	return l, s.warmUp(ctx, p, h, prompt.Unified)
}

func (l *historyLength) measure(ctx context.Context, instant bool) error {
	var calls []call
	usage, err := l.meter.Measure(ctx, func(ctx context.Context) error {
		l.drain()
		_, err := l.build(ctx, l.prompts, prompt.Unified)
		calls = l.drain()
		return err
	})
	if err != nil {
		return err
	}
	l.out.Calls = max(l.out.Calls, usage.Calls)
	l.out.OtherCalls = max(l.out.OtherCalls, len(calls)-usage.Calls)
	l.out.ReadUnits = max(l.out.ReadUnits, usage.Units.Read)
	if !instant {
		l.walls = append(l.walls, usage.Wall)
		return nil
	}
	critical, _ := criticalPath(calls)
	l.instants, l.instantCalls = append(l.instants, usage.Wall), append(l.instantCalls, critical)
	return nil
}

func (l *historyLength) result() Growth {
	l.out.Median, l.out.Instant = report.Median(l.walls), report.Median(l.instants)
	l.out.InstantCalls = report.Median(l.instantCalls)
	return l.out
}
