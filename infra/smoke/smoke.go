// Package smoke tries the functions of a stage by public calls, as one user, and deletes what it made.
package smoke

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/delay"
)

// Target is what is tried.
type Target struct {
	// API and Coach are clients of the HTTP API and of the coach, with the token of a test user.
	API, Coach *client.Client
	// Wait is how long background work may take.
	Wait time.Duration
	// Out gets a line for each thing that was tried: the function that answers, or does the work in the background, and
	// what it did.
	Out io.Writer
}

const (
	appContext = "coach_conversation"
	// greeting is what the user says. Its rare word is what recall looks for.
	greeting = "Hello! This is a smoke test. Please remember the word %s and answer in one short sentence."
	// pollEvery is the time between two looks at work in the background.
	pollEvery = time.Second
	// cleanupTimeout bounds the deletion, which also runs when the caller gives up.
	cleanupTimeout = 30 * time.Second
)

type run struct {
	Target
	tried, failed int
	session       string
	word          string
	// prompt is the id of the prompt of the turn.
	prompt string
}

// Run tries the functions, and reports whether all work. A step that needs one which failed is left out.
func Run(ctx context.Context, t Target) bool {
	r := &run{Target: t, session: "smoke-" + strings.ToLower(rand.Text()), word: strings.ToLower(rand.Text()[:10])}
	r.step(ctx, "messages", "serves its document without a token", r.document)
	if r.step(ctx, "messages", "opens a session", r.open) {
		r.conversation(ctx)
		r.step(ctx, "messages", "deletes the session", r.cleanUp)
	}
	fmt.Fprintf(r.Out, "smoke: %d of %d worked\n", r.tried-r.failed, r.tried)
	return r.failed == 0
}

// step tries one thing. The note is what a reader has to know of a step that worked.
func (r *run) step(
	ctx context.Context, function, what string, try func(ctx context.Context) (note string, err error),
) bool {
	start := time.Now()
	note, err := try(ctx)
	state := "ok"
	r.tried++
	if err != nil {
		state, note = "FAILED", err.Error()
		r.failed++
	}
	line := fmt.Sprintf("%-6s  %-9s  %s (%s)", state, function, what, time.Since(start).Round(time.Millisecond))
	if note != "" {
		line += ": " + note
	}
	fmt.Fprintln(r.Out, line)
	return err == nil
}

// conversation tries what needs a session.
func (r *run) conversation(ctx context.Context) {
	if r.step(ctx, "coach", "answers one turn", r.turn) {
		r.step(ctx, "messages", "lists both messages", r.list)
	}
	r.step(ctx, "prompt", "builds a prompt", r.build)
	r.step(ctx, "context", "answers a query of summaries", r.query)
	r.step(ctx, "remember", "has indexed the message: recall finds it", r.recall)
	r.step(ctx, "summarize", "has summarised the session", r.summary)
}

func (r *run) document(ctx context.Context) (string, error) {
	var document struct{ Info struct{ Version string } }
	if err := r.API.WithToken("").Do(ctx, http.MethodGet, "/openapi.json", nil, &document); err != nil {
		return "", err
	}
	return "version " + document.Info.Version, nil
}

func (r *run) open(ctx context.Context) (string, error) {
	body := map[string]any{"context": appContext, "coachId": "smoke", "sessionId": r.session, "title": "Smoke test"}
	return "", r.API.Do(ctx, http.MethodPost, "/v1/sessions", body, nil)
}

// turn has one turn with the coach, to its end.
func (r *run) turn(ctx context.Context) (string, error) {
	var last client.Event
	tokens := 0
	in := map[string]any{"sessionId": r.session, "message": fmt.Sprintf(greeting, r.word)}
	err := r.Coach.Chat(ctx, in, func(e client.Event) error {
		last = e
		switch e.Name {
		case "token":
			tokens++
		case "prompt":
			var p struct{ PromptID string }
			err := json.Unmarshal(e.Data, &p)
			r.prompt = p.PromptID
			return err
		}
		return nil
	}, client.Key(r.session))
	switch {
	case err != nil:
		return "", err
	case last.Name != "done":
		return "", fmt.Errorf("the stream ended in %q: %s", last.Name, last.Data)
	case tokens == 0:
		return "", errors.New("the stream had no text")
	case r.prompt == "":
		return "", errors.New("the stream named no prompt")
	}
	return fmt.Sprintf("%d pieces", tokens), nil
}

func (r *run) list(ctx context.Context) (string, error) {
	var page struct {
		Items []struct{ Role, Content string }
	}
	if err := r.API.Do(ctx, http.MethodGet, "/v1/sessions/"+r.session+"/messages", nil, &page); err != nil {
		return "", err
	}
	if len(page.Items) != 2 || page.Items[0].Role != "user" || page.Items[1].Role != "assistant" ||
		!strings.Contains(page.Items[0].Content, r.word) {
		return "", fmt.Errorf("the session has %d messages, not the question and its answer", len(page.Items))
	}
	return "", nil
}

// build builds a prompt. Without the app's scope, the prompt that the coach built for the turn has to do.
func (r *run) build(ctx context.Context) (string, error) {
	var p struct {
		PromptID string
		System   string
		Manifest struct{ Degraded degraded }
	}
	in := map[string]any{"context": appContext, "sessionId": r.session, "message": "What was the word?"}
	err := r.API.Do(ctx, http.MethodPost, "/v1/prompts", in, &p)
	if problem, ok := errors.AsType[*client.Problem](err); ok && problem.Status == http.StatusForbidden && r.prompt != "" {
		return "the token has no scope throughline/app; the coach has built " + r.prompt, nil
	}
	if err != nil {
		return "", err
	}
	if p.PromptID == "" || p.System == "" {
		return "", errors.New("the prompt is empty")
	}
	return "", p.Manifest.Degraded.lacks("the prompt")
}

// degraded are the sources that an answer is without.
type degraded []struct{ Source, Reason string }

// lacks is the error of an answer without a source. A test user need not have a profile.
func (d degraded) lacks(answer string) error {
	for _, missing := range d {
		if missing.Source != "profile" {
			return fmt.Errorf("%s lacks %s: %s", answer, missing.Source, missing.Reason)
		}
	}
	return nil
}

func (r *run) query(ctx context.Context) (string, error) {
	var out struct{ Degraded degraded }
	in := map[string]any{"context": appContext, "sessionId": r.session, "query": "the smoke test"}
	if err := r.API.Do(ctx, http.MethodPost, "/v1/context/query", in, &out); err != nil {
		return "", err
	}
	return "", out.Degraded.lacks("the answer")
}

// recall looks for the message until the index has it. An answer without the index does not count.
func (r *run) recall(ctx context.Context) (string, error) {
	in := map[string]any{"query": r.word, "limit": 5}
	return "", r.poll(ctx, func() (bool, error) {
		var out struct {
			Messages []struct{ Content string }
			Degraded degraded
		}
		err := r.API.Do(ctx, http.MethodPost, "/v1/recall", in, &out)
		if err = errors.Join(err, out.Degraded.lacks("recall")); err != nil {
			return false, err
		}
		hasWord := func(m struct{ Content string }) bool { return strings.Contains(m.Content, r.word) }
		return slices.ContainsFunc(out.Messages, hasWord), nil
	})
}

// summary completes the session and waits for its summary.
func (r *run) summary(ctx context.Context) (string, error) {
	path := "/v1/sessions/" + r.session
	if err := r.API.Do(ctx, http.MethodPatch, path, map[string]any{"status": "completed"}, nil); err != nil {
		return "", err
	}
	note := ""
	err := r.poll(ctx, func() (bool, error) {
		var s struct{ Summary *struct{ Text, Kind string } }
		if err := r.API.Do(ctx, http.MethodGet, path, nil, &s); err != nil || s.Summary == nil {
			return false, err
		}
		if s.Summary.Kind != "model" {
			note = "so far from the text itself, the model has not answered"
		}
		return s.Summary.Text != "", nil
	})
	return note, err
}

// poll asks until the answer is yes, an error, or the time is over.
func (r *run) poll(ctx context.Context, ask func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, r.Wait)
	defer cancel()
	for {
		if done, err := ask(); done || err != nil {
			return err
		}
		if delay.Sleep(ctx, pollEvery) != nil {
			return fmt.Errorf("not within %s", r.Wait)
		}
	}
}

// cleanUp deletes the session with everything drawn from it, and checks that it is gone. It also works when the caller
// has given up.
func (r *run) cleanUp(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	path := "/v1/sessions/" + r.session
	if err := r.API.Do(ctx, http.MethodDelete, path, nil, nil); err != nil {
		return "", err
	}
	err := r.API.Do(ctx, http.MethodGet, path, nil, nil)
	if problem, ok := errors.AsType[*client.Problem](err); ok && problem.Status == http.StatusNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return "", errors.New("the session can still be read")
}
