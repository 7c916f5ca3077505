package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
)

const (
	// maxLines is how many messages one append takes.
	maxLines = 50
	// settleTime is how long the reading of them may take.
	settleTime = 5 * time.Minute
)

// extractFlags plays a conversation on a stack of this machine that ends with the command, against the model that the
// environment names, with the registry that it names, and prints what was read of it.
func extractFlags(f *flags) func(context.Context) error {
	isDry := f.Bool("dry-run", false, "store nothing of it; nothing else is there yet")
	screen := f.String("context", "", "the context of the conversation; none is the registry's first")
	return func(ctx context.Context) error {
		if !*isDry {
			return errors.New("say -dry-run: what a stage reads, it reads by itself")
		}
		text, err := os.ReadFile(f.argument)
		if err != nil {
			return err
		}
		messages, err := parseLines(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", f.argument, err)
		}
		// All is read in one go as soon as it is stored, and no summary is written. A quota has tokens counted.
		environment := []string{"TRIGGERS=messages=1000000,memories=1,idle=24h", "DAILY_TOKENS=1000000000"}
		return launch.With(ctx, environment, func(stack *launch.Stack) error {
			e := extract{flags: f, stack: client.New(stack.Base), screen: *screen}
			return e.play(ctx, messages)
		})
	}
}

// parseLines reads lines that begin with "user: " or "assistant: ". Other lines go on with the message before, and
// those that begin with # are left out.
func parseLines(text string) (messages []map[string]string, err error) {
	for n, line := range strings.Split(text, "\n") {
		role, content, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case role == "user" || role == "assistant":
			messages = append(messages, map[string]string{"role": role, "content": content})
		case len(messages) == 0:
			return nil, fmt.Errorf(`line %d begins with neither "user: " nor "assistant: "`, n+1)
		default:
			messages[len(messages)-1]["content"] += "\n" + line
		}
	}
	if len(messages) == 0 {
		return nil, errors.New("there is no message")
	}
	return messages, nil
}

// extract plays one conversation.
type extract struct {
	*flags
	stack, api *client.Client
	screen     string
}

func (e extract) play(ctx context.Context, messages []map[string]string) (err error) {
	if e.api, err = e.stack.As(ctx, "dry-run"); err != nil {
		return err
	}
	if e.screen == "" {
		var app struct{ Contexts []struct{ Name string } }
		if err := e.api.Do(ctx, http.MethodGet, "/v1/app", nil, &app); err != nil {
			return err
		}
		e.screen = app.Contexts[0].Name
	}
	if err := e.api.Open(ctx, e.screen, "coach", "dry-run"); err != nil {
		return err
	}
	for part := range slices.Chunk(messages, maxLines) {
		body := map[string]any{"messages": part}
		if err := e.api.Do(ctx, http.MethodPost, "/v1/sessions/dry-run/messages", body, nil); err != nil {
			return err
		}
		var settled struct{ Settled bool }
		within := map[string]any{"timeoutMs": settleTime.Milliseconds()}
		if err := e.stack.Do(ctx, http.MethodPost, "/dev/settle", within, &settled); err != nil {
			return err
		}
		if !settled.Settled {
			return errors.New("the model has not answered in five minutes")
		}
	}
	return e.print(ctx)
}

// print prints what was noted, ended and opened, oldest first, and what it took.
func (e extract) print(ctx context.Context) error {
	var list struct {
		Items []struct{ Type, Content, About, Status, From, Until, EndedReason, Due string }
	}
	for _, kind := range []string{"memories", "todos"} {
		list.Items = nil
		if err := e.api.Do(ctx, http.MethodGet, "/v1/"+kind+"?limit=100", nil, &list); err != nil {
			return err
		}
		for _, m := range slices.Backward(list.Items) {
			what := map[string]string{"PENDING": "opened", "COMPLETED": "closed", "CANCELLED": "closed"}[m.Status]
			if kind == "memories" {
				if what = "noted"; m.EndedReason != "" {
					what = "ended"
				}
			}
			words := []string{m.Type, m.Status, m.About, m.Content, m.EndedReason}
			for _, day := range [][2]string{{"from ", m.From}, {"until ", m.Until}, {"due ", m.Due}} {
				if day[1] != "" {
					words = append(words, day[0]+day[1])
				}
			}
			fmt.Fprintf(e.out, "%-7s %s\n", what, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
		}
	}
	var usage struct{ Used int64 }
	if err := e.api.Do(ctx, http.MethodGet, "/v1/usage", nil, &usage); err != nil {
		return err
	}
	fmt.Fprintf(e.out, "%d tokens\n", usage.Used)
	return nil
}
