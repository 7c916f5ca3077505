package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/bench/dataset"
)

// settleTimeout is how long the report waits for summaries and vectors to catch up.
const settleTimeout = 3 * time.Minute

// report waits for the background work, then prints what the replay took and the prompt that a coach would get now.
func (r *replay) report(ctx context.Context, conversations []dataset.Conversation, took time.Duration) error {
	calls := r.api.Calls()
	waiting := time.Now()
	settled, err := dataset.Settle(ctx, r.api, settleTimeout)
	if err != nil {
		return err
	}
	waited := time.Since(waiting)
	summaries := 0
	for _, c := range conversations {
		of, err := dataset.Summaries(ctx, r.api, c.ID)
		if err != nil {
			return err
		}
		summaries += len(of)
	}
	n := r.messages.Load()
	fmt.Fprintf(r.out, "messages     %d in %.1f s, %.0f a second\n", n, took.Seconds(), float64(n)/took.Seconds())
	fmt.Fprintf(r.out, "calls        %d\n", calls)
	fmt.Fprintf(r.out, "sessions     %d\n", r.sessions.Load())
	fmt.Fprintf(r.out, "summaries    %d\n", summaries)
	fmt.Fprintf(r.out, "caught up    %v after %.1f s more (%d stream records, %d pending)\n",
		settled.Settled, waited.Seconds(), settled.Records, settled.Pending)
	return r.printPrompt(ctx, conversations[len(conversations)-1])
}

// printPrompt opens a new session with the coach and prints the prompt of its first message.
func (r *replay) printPrompt(ctx context.Context, s dataset.Conversation) error {
	api, err := r.api.As(ctx, s.ID)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("now-%d", time.Now().Unix())
	appContext := s.Sessions[0].Context
	create := map[string]any{"context": appContext, "coachId": dataset.Coach, "sessionId": id}
	if err := api.Do(ctx, http.MethodPost, "/v1/sessions", create, nil); err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	in := map[string]any{"context": appContext, "coachId": dataset.Coach, "sessionId": id, "message": r.message}
	var prompt struct {
		System   string
		Messages []struct{ Role, Content string }
		Tokens   struct{ Total, Budget int }
	}
	if err := api.Do(ctx, http.MethodPost, "/v1/prompts", in, &prompt); err != nil {
		return fmt.Errorf("build prompt: %w", err)
	}
	fmt.Fprintf(r.out, "\nthe prompt that the coach of %s would get now (%d of %d tokens):\n\n%s\n",
		s.ID, prompt.Tokens.Total, prompt.Tokens.Budget, indent(prompt.System))
	for _, m := range prompt.Messages {
		fmt.Fprintf(r.out, "%s\n", indent(m.Role+": "+m.Content))
	}
	return nil
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
