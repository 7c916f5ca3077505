package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/infra/local/template"
)

// sweepName is the schedule whose rate TRIGGERS can change.
const sweepName = "sweep"

// startTriggers starts the template's stream mappings and schedules.
func (s *Stack) startTriggers() error {
	checkpoints := s.dataPath("checkpoints")
	if checkpoints != "" {
		if err := os.MkdirAll(checkpoints, 0o755); err != nil {
			return fmt.Errorf("make data folder: %w", err)
		}
	}
	for _, f := range s.template.Functions {
		for _, mapping := range f.Streams {
			if err := s.startPoller(f, mapping, checkpoints); err != nil {
				return err
			}
		}
		for _, timer := range f.Schedules {
			s.startSchedule(f, timer)
		}
	}
	return nil
}

func (s *Stack) startPoller(f template.Function, mapping template.Stream, checkpoints string) error {
	opts := streams.Options{
		Client: s.streams, StreamARN: s.streamARN, Function: f.PhysicalName, Mapping: mapping,
		Invoker: s.runtime, Logger: s.logger, Repeat: s.cfg.Repeat,
	}
	if checkpoints != "" {
		opts.CheckpointFile = filepath.Join(checkpoints, f.Name+"-"+mapping.Name+".json")
	}
	poller, err := streams.New(opts)
	if err != nil {
		return err
	}
	s.pollers = append(s.pollers, poller)
	s.running.Go(func() {
		if err := poller.Run(s.life); err != nil {
			s.fail(fmt.Errorf("poll stream for %s: %w", f.Name, err))
		}
	})
	s.say("stream", "", fmt.Sprintf("%s -> %s, batches of %d", s.cfg.TableName, f.Name, mapping.BatchSize))
	return nil
}

// schedule invokes a function at a fixed rate.
type schedule struct {
	name, function string
	event          []byte
	running        atomic.Bool
}

func (s *Stack) startSchedule(f template.Function, timer template.Schedule) {
	every := timer.Every
	if strings.EqualFold(timer.Name, sweepName) && s.cfg.Triggers.Sweep > 0 {
		every = s.cfg.Triggers.Sweep
	}
	sched := &schedule{name: timer.Name, function: f.PhysicalName, event: []byte(timer.Input)}
	if timer.Input == "" {
		sched.event = []byte("{}")
	}
	s.schedules = append(s.schedules, sched)
	s.running.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.fire(s.life, sched)
			case <-s.life.Done():
				return
			}
		}
	})
	s.say("schedule", "", fmt.Sprintf("%s -> %s, every %s", timer.Name, f.Name, every))
}

// fire invokes a scheduled function once and waits for it. The runtime logs what goes wrong.
func (s *Stack) fire(ctx context.Context, sched *schedule) {
	sched.running.Store(true)
	defer sched.running.Store(false)
	if _, err := s.runtime.Invoke(ctx, sched.function, sched.event); err != nil && ctx.Err() == nil {
		s.logger.WarnContext(ctx, "schedule", "name", sched.name, "function", sched.function, "error", err)
	}
}
