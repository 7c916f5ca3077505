package main

import (
	"context"
	"fmt"
	"time"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/internal/dynamo/table"
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
	out := make([]growth, len(settings.lengths))
	m := meter.New(s.client, table.CreateTableInput(s.Table))
	builds, walls := make([]func(context.Context) error, len(out)), make([][]time.Duration, len(out))
	for i, messages := range settings.lengths {
		rig.Progress("writing %d messages", messages)
		var err error
		if builds[i], err = s.writeLength(ctx, messages, m); err != nil {
			return nil, err
		}
		out[i].messages = messages
	}
	rig.Progress("measuring over the length of the history")
	s.isSlow.Store(true)
	defer s.isSlow.Store(false)
	for range (settings.repeats + 3) / 4 {
		for i, build := range builds {
			s.drain()
			usage, err := m.Measure(ctx, build)
			if err != nil {
				return nil, err
			}
			g := &out[i]
			g.calls, g.others = max(g.calls, usage.Calls), max(g.others, len(s.drain())-usage.Calls)
			g.readUnits = max(g.readUnits, usage.Units.Read)
			walls[i] = append(walls[i], usage.Wall)
			g.median = report.Median(walls[i])
		}
	}
	return out, nil
}

// writeLength writes a history of that many messages, and returns what builds its prompt over an API of the table.
func (s *services) writeLength(ctx context.Context, messages int, api table.API) (func(context.Context) error, error) {
	now := time.Now().UTC().Truncate(time.Minute)
	h, err := s.writeHistory(ctx, fmt.Sprintf("length-%d", messages), sessionSizes(messages), now)
	if err != nil {
		return nil, err
	}
	// The local index compares a query with every vector, which Pinecone does not: it is queried once.
	p := s.prompter(api, &cachedIndex{Querier: s.vectors}, h)
	build := func(ctx context.Context) error {
		_, err := h.build(ctx, p, prompt.Unified)
		return err
	}
	return build, s.warmUp(ctx, p, h, prompt.Unified)
}
