package promptbench

import (
	"context"
	"fmt"
	"time"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/prompt"
)

// Growth is what a unified prompt takes with that many stored messages.
type Growth struct {
	Messages int `json:"messages"`
	// Calls are the most that one prompt made: to DynamoDB, and to the embedding and the vector index besides.
	Calls      int     `json:"dynamodbCalls"`
	OtherCalls int     `json:"otherCalls"`
	ReadUnits  float64 `json:"readUnits"`
	// Median is the wall time with the services' latencies, Idle without any; IdleCalls is what the slowest chain of
	// calls takes of the latter.
	Median    time.Duration `json:"medianNs"`
	Idle      time.Duration `json:"idleMedianNs"`
	IdleCalls time.Duration `json:"idleCallsMedianNs"`
}

// growth measures the same prompt over histories of growing length, by turns, so that what the machine does meanwhile
// hits all alike.
func growth(ctx context.Context, s *services, settings Settings, say func(string)) ([]Growth, error) {
	var lanes []*lane
	for _, messages := range settings.Lengths {
		say("writing " + report.Thousands(float64(messages)) + " messages")
		l, err := s.lane(ctx, messages)
		if err != nil {
			return nil, err
		}
		lanes = append(lanes, l)
	}
	say("measuring over the length of the history")
	for _, idle := range []bool{true, false} {
		s.idle.Store(idle)
		for i := range settings.fewer() * len(lanes) {
			if err := lanes[i%len(lanes)].step(ctx, idle); err != nil {
				return nil, err
			}
		}
	}
	s.idle.Store(true)
	out := make([]Growth, len(lanes))
	for i, l := range lanes {
		out[i] = l.result()
	}
	return out, nil
}

// lane is one length.
type lane struct {
	*services
	*scene
	prompts             *prompt.Service
	out                 Growth
	walls, idles, calls []time.Duration
}

func (s *services) lane(ctx context.Context, messages int) (*lane, error) {
	now := time.Now().UTC().Truncate(time.Minute)
	sc, err := s.stage(ctx, fmt.Sprintf("grown-%d", messages), grown(messages), now)
	if err != nil {
		return nil, err
	}
	store := s.store(s.meter, sc)
	// The local index compares a query with every vector, as Pinecone does not: it is asked once.
	p := s.prompter(store, s.search(store, &matches{Index: s.vectors}, sc), sc)
	return &lane{services: s, scene: sc, prompts: p, out: Growth{Messages: messages}}, s.warm(ctx, p, sc, prompt.Unified)
}

func (l *lane) step(ctx context.Context, idle bool) error {
	var remote []span
	usage, err := l.meter.Measure(ctx, func(ctx context.Context) error {
		l.take() // the meter reads for its books before
		_, err := l.build(ctx, l.prompts, prompt.Unified)
		remote = l.take()
		return err
	})
	if err != nil {
		return err
	}
	l.note(usage, len(remote))
	if !idle {
		l.walls = append(l.walls, usage.Wall)
		return nil
	}
	chain, _ := critical(remote)
	l.idles, l.calls = append(l.idles, usage.Wall), append(l.calls, chain)
	return nil
}

func (l *lane) note(u meter.Usage, remote int) {
	l.out.Calls = max(l.out.Calls, u.Calls)
	l.out.OtherCalls = max(l.out.OtherCalls, remote-u.Calls)
	l.out.ReadUnits = max(l.out.ReadUnits, u.Units.Read)
}

func (l *lane) result() Growth {
	l.out.Median, l.out.Idle, l.out.IdleCalls = report.Median(l.walls), report.Median(l.idles), report.Median(l.calls)
	return l.out
}
