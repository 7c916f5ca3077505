package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/client"
)

// act is one turn of the story: what the user says, and on which screen.
type act struct {
	appContext, label, session, says string
}

// acts are the example of unified-conversation-context ("Prompt addition example"), and its reverse.
var acts = []act{
	{
		"program_designer", "Program Designer", "designer",
		"I want to swap the barbell hip thrusts in my Deadlift Prep program for banded glute bridges. " +
			"I only have bands at home.",
	},
	{
		"coach_conversation", "Coach", "coach",
		"What should I do in tomorrow's session? My glutes are sore, so keep it to three sets.",
	},
	{
		"program_designer", "Program Designer", "designer",
		"Before we go on: what did my coach and I agree about tomorrow?",
	},
}

// story plays the acts as one user and prints what each prompt knew.
type story struct {
	api *client.Client
	out io.Writer
	run string
}

func (s *story) play(ctx context.Context) error {
	api, err := s.api.As(ctx, "demo-"+s.run)
	if err != nil {
		return err
	}
	s.api = api
	about := map[string]any{"name": "Sam", "about": "Trains at home, three evenings a week."}
	if err := api.Do(ctx, http.MethodPut, "/v1/profile", about, nil); err != nil {
		return fmt.Errorf("put profile: %w", err)
	}
	opened := map[string]bool{}
	for i, a := range acts {
		id := a.session + "-" + s.run
		if !opened[id] {
			if err := api.Open(ctx, a.appContext, "coach", id); err != nil {
				return err
			}
			opened[id] = true
		}
		fmt.Fprintf(s.out, "\n%d. %s\n%s\n", i+1, a.label, strings.Repeat("-", 3+len(a.label)))
		if err := s.turn(ctx, a, id); err != nil {
			return fmt.Errorf("play act %d: %w", i+1, err)
		}
	}
	return nil
}

// turn sends one message, prints the answer as it streams, and then prints the prompt.
func (s *story) turn(ctx context.Context, a act, session string) error {
	fmt.Fprintf(s.out, "user   > ")
	fmt.Fprintln(s.out, a.says)
	fmt.Fprintf(s.out, "coach  > ")
	var promptID string
	started := time.Now()
	var first time.Duration
	err := s.api.Chat(ctx, map[string]any{"sessionId": session, "message": a.says}, func(e client.Event) error {
		switch e.Name {
		case "prompt":
			var data struct{ PromptID string }
			if err := json.Unmarshal(e.Data, &data); err != nil {
				return err
			}
			promptID = data.PromptID
		case "token":
			if first == 0 {
				first = time.Since(started)
			}
			var data struct{ Text string }
			if err := json.Unmarshal(e.Data, &data); err != nil {
				return err
			}
			fmt.Fprint(s.out, data.Text)
		case "error":
			return errors.New("the stream ended in an error: " + string(e.Data))
		}
		return nil
	})
	fmt.Fprintln(s.out)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "         (first token after %d ms)\n", first.Milliseconds())
	return s.printPrompt(ctx, promptID)
}

// storedPrompt is the part of the answer of GET /v1/prompts/{promptId} that the demo prints.
type storedPrompt struct {
	System   string
	Messages []struct{ Role, Content string }
	Tokens   struct{ Total, Budget int }
	Manifest struct {
		Blocks []struct {
			Name   string
			Tokens int
			Items  []struct{ Kind, Context, Decision, Reason string }
		}
		Degraded []struct{ Source, Reason string }
	}
}

func (s *story) printPrompt(ctx context.Context, id string) error {
	var p storedPrompt
	if err := s.api.Do(ctx, http.MethodGet, "/v1/prompts/"+id, nil, &p); err != nil {
		return fmt.Errorf("read prompt: %w", err)
	}
	fmt.Fprintf(s.out, "\n  what it knew from the other screen:\n%s\n", quote(p.otherContexts()))
	fmt.Fprintf(s.out, "\n  %-20s %6s  %s\n", "block", "tokens", "items")
	for _, b := range p.Manifest.Blocks {
		if len(b.Items) == 0 {
			continue
		}
		fmt.Fprintf(s.out, "  %-20s %6d  %s\n", b.Name, b.Tokens, decisions(b.Items))
	}
	fmt.Fprintf(s.out, "  %-20s %6d  of %d\n", "total", p.Tokens.Total, p.Tokens.Budget)
	for _, d := range p.Manifest.Degraded {
		fmt.Fprintf(s.out, "  degraded: %s: %s\n", d.Source, d.Reason)
	}
	return nil
}

func decisions(items []struct{ Kind, Context, Decision, Reason string }) string {
	counts := map[string]int{}
	for _, i := range items {
		counts[i.Decision]++
	}
	var parts []string
	for _, d := range []string{"included", "trimmed", "dropped"} {
		if counts[d] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[d], d))
		}
	}
	return strings.Join(parts, ", ")
}

// otherContexts returns the section about other contexts, which comes after the session's messages.
func (p storedPrompt) otherContexts() string {
	const heading = "# RECENT ACTIVITY IN OTHER CONTEXTS"
	texts := []string{p.System}
	for _, m := range p.Messages {
		if m.Role == "system" {
			texts = append(texts, m.Content)
		}
	}
	_, section, found := strings.Cut(strings.Join(texts, "\n\n"), heading)
	if !found {
		return "(nothing)"
	}
	if next := strings.Index(section, "\n# "); next >= 0 {
		section = section[:next]
	}
	return strings.TrimSpace(section)
}

// quote indents a text.
func quote(text string) string {
	return "  | " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  | ")
}
