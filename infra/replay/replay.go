package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/conversation"
)

// surfaces are the two contexts that sessions alternate between, so that recall has to cross them.
var surfaces = [2]string{"coach_conversation", "program_designer"}

// coach is the coach of all replayed sessions.
const coach = "coach"

// messageInterval is the time between two messages of a session. The file has only the time at which a session began.
const messageInterval = 20 * time.Second

type replay struct {
	api      *client.Client
	parallel int
	// message is the message of the prompt that is printed at the end.
	message string
	// recall turns on the search for the file's questions.
	recall bool
	out    io.Writer

	messages, sessions atomic.Int64
}

func (r *replay) run(ctx context.Context, path, only string) error {
	samples, err := readSamples(path)
	if err != nil {
		return err
	}
	if only != "" {
		samples = slices.DeleteFunc(samples, func(s sample) bool { return s.ID != only })
		if len(samples) == 0 {
			return fmt.Errorf("no sample %q in %s", only, path)
		}
	}
	total := 0
	for _, s := range samples {
		for _, session := range s.Sessions {
			total += len(session.Turns)
		}
	}
	started := time.Now()
	stop := r.printProgress(total)
	work, workCtx := errgroup.WithContext(ctx)
	work.SetLimit(r.parallel)
	for _, s := range samples {
		work.Go(func() error { return r.replaySample(workCtx, s) })
	}
	err = work.Wait()
	stop()
	if err != nil {
		return err
	}
	return r.report(ctx, samples, time.Since(started))
}

// printProgress prints the progress twice a second until the returned function is called.
func (r *replay) printProgress(total int) (stop func()) {
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

// replaySample replays one sample as one user: every session in turn, two messages a call, as in a chat.
func (r *replay) replaySample(ctx context.Context, s sample) error {
	api, err := r.api.As(ctx, s.ID)
	if err != nil {
		return err
	}
	for i, session := range s.Sessions {
		if err := r.replaySession(ctx, api, s, session, surfaces[i%len(surfaces)]); err != nil {
			return fmt.Errorf("replay %s of %s: %w", sessionID(session), s.ID, err)
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

func (r *replay) replaySession(
	ctx context.Context, api *client.Client, sample sample, s session, surface string,
) error {
	id := sessionID(s)
	create := map[string]any{"context": surface, "coachId": coach, "sessionId": id}
	if err := api.Do(ctx, http.MethodPost, "/v1/sessions", create, nil, client.Key(id)); err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	for from := 0; from < len(s.Turns); from += 2 {
		to := min(from+2, len(s.Turns))
		key := client.Key(fmt.Sprintf("%s-%d", id, from))
		in := body(sample, s, from, to)
		if err := api.Do(ctx, http.MethodPost, "/v1/sessions/"+id+"/messages", in, nil, key); err != nil {
			return fmt.Errorf("append messages %d to %d: %w", from, to, err)
		}
		r.messages.Add(int64(to - from))
	}
	return nil
}

// body returns the body of an append of a session's turns.
func body(sample sample, s session, from, to int) map[string]any {
	messages := make([]map[string]any, 0, to-from)
	for i := from; i < to; i++ {
		role := "assistant"
		if s.Turns[i].Speaker == sample.SpeakerA {
			role = "user"
		}
		messages = append(messages, map[string]any{
			"role": role, "content": s.Turns[i].content(),
			"timestamp": conversation.FormatTime(s.At.Add(time.Duration(i) * messageInterval)),
		})
	}
	return map[string]any{"messages": messages}
}
