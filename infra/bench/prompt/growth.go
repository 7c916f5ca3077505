package main

import (
	"context"
	"fmt"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/internal/prompt"
)

// growth is what a unified prompt takes with a number of stored messages.
type growth struct {
	messages int
	// calls are the most that one prompt made to DynamoDB, others the most to the embedding and the vector index.
	calls, others int
	readUnits     float64
	median        time.Duration
}

// measureGrowth measures the same prompt over histories of growing length. The lengths take turns, so that whatever
// else the machine does meanwhile affects all alike.
func measureGrowth(ctx context.Context, s *services, settings settings) ([]growth, error) {
	var lengths []*historyLength
	for _, messages := range settings.lengths {
		rig.Progress("writing %d messages", messages)
		l, err := s.writeLength(ctx, messages)
		if err != nil {
			return nil, err
		}
		lengths = append(lengths, l)
	}
	rig.Progress("measuring over the length of the history")
	s.instant.Store(false)
	for i := range settings.quarter() * len(lengths) {
		if err := lengths[i%len(lengths)].measure(ctx); err != nil {
			return nil, err
		}
	}
	s.instant.Store(true)
	out := make([]growth, len(lengths))
	for i, l := range lengths {
		out[i] = l.out
		out[i].median = report.Median(l.walls)
	}
	return out, nil
}

type historyLength struct {
	*services
	*history
	prompts *prompt.Service
	out     growth
	walls   []time.Duration
}

func (s *services) writeLength(ctx context.Context, messages int) (*historyLength, error) {
	now := time.Now().UTC().Truncate(time.Minute)
	h, err := s.writeHistory(ctx, fmt.Sprintf("length-%d", messages), sessionSizes(messages), now)
	if err != nil {
		return nil, err
	}
	// The local index compares a query with every vector, which Pinecone does not: it is queried once.
	p := s.prompter(s.meter, &cachedIndex{Querier: s.vectors}, h)
	l := &historyLength{services: s, history: h, prompts: p, out: growth{messages: messages}}
	return l, s.warmUp(ctx, p, h, prompt.Unified)
}

func (l *historyLength) measure(ctx context.Context) error {
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
	l.out.calls = max(l.out.calls, usage.Calls)
	l.out.others = max(l.out.others, len(calls)-usage.Calls)
	l.out.readUnits = max(l.out.readUnits, usage.Units.Read)
	l.walls = append(l.walls, usage.Wall)
	return nil
}
