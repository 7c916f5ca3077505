package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/conversation"
)

// surfaces are the two contexts that sessions alternate between, so that whatever is recalled crosses them.
var surfaces = [2]string{"coach_conversation", "program_designer"}

// coach is the one coach of all replayed sessions.
const coach = "coach"

// pace is the time between two messages of a session; the file has only the time at which a session began.
const pace = 20 * time.Second

type replay struct {
	api      *client.Client
	parallel int
	question string
	// ask has the recall asked the file's own questions.
	ask bool
	out io.Writer

	messages, sessions atomic.Int64
}

func (r *replay) run(ctx context.Context, path, only string) error {
	samples, err := readSamples(path)
	if err != nil {
		return err
	}
	if only != "" {
		if samples = pick(samples, only); samples == nil {
			return fmt.Errorf("no sample %q in %s", only, path)
		}
	}
	total := 0
	for _, s := range samples {
		for _, sitting := range s.Sessions {
			total += len(sitting.Turns)
		}
	}
	started := time.Now()
	stop := r.progress(total)
	work, wctx := errgroup.WithContext(ctx)
	work.SetLimit(r.parallel)
	for _, s := range samples {
		work.Go(func() error { return r.play(wctx, s) })
	}
	err = work.Wait()
	stop()
	if err != nil {
		return err
	}
	return r.report(ctx, samples, time.Since(started))
}

func pick(samples []sample, id string) []sample {
	for _, s := range samples {
		if s.ID == id {
			return []sample{s}
		}
	}
	return nil
}

// progress shows how far the replay is, twice a second, until the returned function is called.
func (r *replay) progress(total int) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				fmt.Fprintf(r.out, "\r%d/%d messages, %d sessions\n", r.messages.Load(), total, r.sessions.Load())
				return
			case <-tick.C:
				fmt.Fprintf(r.out, "\r%d/%d messages, %d sessions", r.messages.Load(), total, r.sessions.Load())
			}
		}
	}()
	return func() { close(done); <-ended }
}

// play replays one sample as one user: every session in turn, two messages a call as a chat produces them.
func (r *replay) play(ctx context.Context, s sample) error {
	api, err := r.api.As(ctx, s.ID)
	if err != nil {
		return err
	}
	for i, sitting := range s.Sessions {
		id := sessionID(sitting)
		if err := r.sit(ctx, api, s, sitting, id, surfaces[i%len(surfaces)]); err != nil {
			return fmt.Errorf("replay %s of %s: %w", id, s.ID, err)
		}
		r.sessions.Add(1)
	}
	if len(s.Sessions) == 0 {
		return nil
	}
	last := sessionID(s.Sessions[len(s.Sessions)-1])
	return api.Do(ctx, http.MethodPost, "/v1/sessions/"+last+"/leave", nil, nil)
}

func sessionID(s session) string { return fmt.Sprintf("session-%d", s.Number) }

func (r *replay) sit(ctx context.Context, api *client.Client, s sample, sitting session, id, surface string) error {
	create := map[string]any{"context": surface, "coachId": coach, "sessionId": id}
	if err := api.Do(ctx, http.MethodPost, "/v1/sessions", create, nil, client.Key(id)); err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	for from := 0; from < len(sitting.Turns); from += 2 {
		to := min(from+2, len(sitting.Turns))
		key := client.Key(fmt.Sprintf("%s-%d", id, from))
		if err := api.Do(ctx, http.MethodPost, "/v1/sessions/"+id+"/messages", batch(s, sitting, from, to), nil, key); err != nil {
			return fmt.Errorf("append messages %d to %d: %w", from, to, err)
		}
		r.messages.Add(int64(to - from))
	}
	return nil
}

func batch(s sample, sitting session, from, to int) map[string]any {
	messages := make([]map[string]any, 0, to-from)
	for i := from; i < to; i++ {
		role := "assistant"
		if sitting.Turns[i].Speaker == s.SpeakerA {
			role = "user"
		}
		messages = append(messages, map[string]any{
			"role": role, "content": sitting.Turns[i].content(),
			"timestamp": conversation.FormatTime(sitting.At.Add(time.Duration(i) * pace)),
		})
	}
	return map[string]any{"messages": messages}
}
