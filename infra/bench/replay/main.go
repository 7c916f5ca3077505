// Command replay replays conversations of a file through the public HTTP API, as users of an app produce them: each
// session in its context, with its own times. At the end it prints the prompt that a coach would get now.
//
//	go -C infra/bench run ./replay -data locomo.json [-sample conv-26] [-base http://127.0.0.1:8080]
//
// The file has LoCoMo's form (snap-research/locomo) or that of package dataset. Replaying the same file twice into one
// stack changes nothing: every call carries an idempotency key.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/client"
)

const (
	// perCall is how many messages a call appends: a question and its answer, as in a chat.
	perCall = 2
	// settleTimeout is how long the replay waits for summaries and vectors to catch up.
	settleTimeout = 3 * time.Minute
)

func main() {
	data := flag.String("data", "", "file to replay (required)")
	only := flag.String("sample", "", "replay only the conversation with this id")
	base := flag.String("base", "http://127.0.0.1:8080", "address of the stack")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := replay(ctx, client.New(*base), *data, *only, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func replay(ctx context.Context, api *client.Client, path, only string, out io.Writer) error {
	conversations, err := dataset.Read(path)
	if err != nil {
		return err
	}
	importer, began, messages := dataset.Importer{API: api, PerCall: perCall}, time.Now(), 0
	var last *dataset.Conversation
	for i, c := range conversations {
		if only != "" && c.ID != only {
			continue
		}
		if _, err := importer.Import(ctx, c); err != nil {
			return err
		}
		last, messages = &conversations[i], messages+c.Messages()
		fmt.Fprintf(out, "%s: %d sessions, %d messages\n", c.ID, len(c.Sessions), c.Messages())
	}
	if last == nil {
		return fmt.Errorf("no conversation %q in %s", only, path)
	}
	fmt.Fprintf(out, "%d messages in %.1f s, %d calls\n", messages, time.Since(began).Seconds(), api.Calls())
	if err := dataset.Settle(ctx, api, settleTimeout); err != nil {
		return err
	}
	return printPrompt(ctx, api, last, out)
}

// printPrompt opens a new session with the coach and prints the prompt of its first message.
func printPrompt(ctx context.Context, api *client.Client, c *dataset.Conversation, out io.Writer) error {
	api, err := api.As(ctx, c.ID)
	if err != nil {
		return err
	}
	in := map[string]any{
		"context": c.Sessions[0].Context, "coachId": dataset.Coach, "sessionId": fmt.Sprintf("now-%d", time.Now().Unix()),
	}
	if err := api.Do(ctx, http.MethodPost, "/v1/sessions", in, nil); err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	in["message"] = "What do you remember about me?"
	var prompt struct {
		System   string
		Messages []struct{ Role, Content string }
		Tokens   struct{ Total, Budget int }
	}
	if err := api.Do(ctx, http.MethodPost, "/v1/prompts", in, &prompt); err != nil {
		return fmt.Errorf("build prompt: %w", err)
	}
	fmt.Fprintf(out, "\nthe prompt that the coach of %s would get now (%d of %d tokens):\n\n%s\n", c.ID,
		prompt.Tokens.Total, prompt.Tokens.Budget, indent(prompt.System))
	for _, m := range prompt.Messages {
		fmt.Fprintf(out, "%s\n", indent(m.Role+": "+m.Content))
	}
	return nil
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }
