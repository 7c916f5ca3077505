package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// talk sends one chat message and returns the answer.
func talk(t *testing.T, api *client.Client, session, text string, headers ...client.Header) answer {
	t.Helper()
	var a answer
	in := map[string]any{"sessionId": session, "message": text}
	if err := api.Chat(t.Context(), in, a.read, headers...); err != nil {
		t.Fatalf("chat in %s: %v", session, err)
	}
	if a.Last != "done" {
		t.Fatalf("chat in %s ended in %q (%s), want done", session, a.Last, a.Problem)
	}
	return a
}

// answer is what one chat stream brought.
type answer struct {
	PromptID, UserMessageID, MessageID, FinishReason string
	Text                                             string
	Tokens                                           int
	Last                                             string
	Problem                                          string
	Usage                                            usage
}

// usage is what an answer took, as the model's provider counts it.
type usage struct{ PromptTokens, CachedTokens int }

func (a *answer) read(e client.Event) error {
	a.Last = e.Name
	var data struct {
		PromptID, UserMessageID, MessageID, FinishReason, Text string
		Usage                                                  usage
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return err
	}
	switch e.Name {
	case "prompt":
		a.PromptID, a.UserMessageID = data.PromptID, data.UserMessageID
	case "token":
		a.Tokens++
		a.Text += data.Text
	case "done":
		a.MessageID, a.FinishReason, a.Usage = data.MessageID, data.FinishReason, data.Usage
	case "error":
		a.Problem = string(e.Data)
	}
	return nil
}

type builtPrompt struct {
	PromptID string
	Recipe   string
	System   string
	Messages []struct{ Role, Content string }
	Tools    []struct{ Name string }
	Tokens   struct{ Total, Budget int }
	Manifest struct {
		Blocks []struct {
			Name  string
			Items []struct{ Kind, ID, SessionID, Context, Decision, Reason string }
		}
		Degraded []struct{ Source, Reason string }
	}
}

// withLate adds to System what the prompt says after the session's messages.
func (p builtPrompt) withLate() builtPrompt {
	for _, m := range p.Messages {
		if m.Role == "system" {
			p.System += "\n\n" + m.Content
		}
	}
	return p
}

// recentActivity returns the contexts and sessions of the items that the block about other contexts includes.
func (p builtPrompt) recentActivity() (contexts, sessions []string) {
	for _, b := range p.Manifest.Blocks {
		if b.Name != "recent_activity" {
			continue
		}
		for _, i := range b.Items {
			if i.Decision != "dropped" {
				contexts, sessions = append(contexts, i.Context), append(sessions, i.SessionID)
			}
		}
	}
	return contexts, sessions
}

// buildPrompt builds the prompt for a message to the coach.
func buildPrompt(t *testing.T, api *client.Client, session, message string) builtPrompt {
	t.Helper()
	var p builtPrompt
	in := map[string]any{"context": "coach_conversation", "sessionId": session, "message": message}
	do(t, api, http.MethodPost, "/v1/prompts", in, &p)
	return p.withLate()
}

func storedPrompt(t *testing.T, api *client.Client, id string) builtPrompt {
	t.Helper()
	var p builtPrompt
	do(t, api, http.MethodGet, "/v1/prompts/"+id, nil, &p)
	return p.withLate()
}

const (
	swap = "I want to swap the barbell hip thrusts in my Deadlift Prep program for banded glute bridges. " +
		"I only have bands at home."
	tomorrow = "What should I do in tomorrow's session? My left shoulder clicks, so no overhead presses."
)

// TestCoachKnowsWhatTheDesignerWasTold is the example of unified-conversation-context, both ways, without a session
// being completed.
func TestCoachKnowsWhatTheDesignerWasTold(t *testing.T) {
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	talk(t, api, "designer", swap)

	open(t, api, "coach_conversation", "coach")
	asked := time.Now()
	first := talk(t, api, "coach", tomorrow)
	wantActivity(t, storedPrompt(t, api, first.PromptID),
		"program_designer", "designer", "[Program Designer - ", "banded glute bridges")
	if took := time.Since(asked); took > 5*time.Second {
		t.Errorf("the coach's answer took %v, want the swap known within 5 s", took)
	}

	back := talk(t, api, "designer", "What did my coach and I say about tomorrow?")
	wantActivity(t, storedPrompt(t, api, back.PromptID), "coach_conversation", "coach", "[Coach - ", "overhead presses")
}

func wantActivity(t *testing.T, p builtPrompt, context, session, label, words string) {
	t.Helper()
	contexts, sessions := p.recentActivity()
	if len(contexts) != 1 || contexts[0] != context || sessions[0] != session {
		t.Errorf("recent activity holds sessions %v of %v, want only %s of %s", sessions, contexts, session, context)
	}
	for _, want := range []string{label, words} {
		check.Contains(t, p.System, want, "the system text")
	}
}

// TestMovingToAnotherSessionSummarizes expects a usable summary within 5 s.
func TestMovingToAnotherSessionSummarizes(t *testing.T) {
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	talk(t, api, "designer", swap)
	open(t, api, "coach_conversation", "coach")
	talk(t, api, "coach", tomorrow)
	eventually(t, 5*time.Second, "summary of the designer session", func() bool {
		s := session(t, api, "designer")
		return s.Summary != nil && s.Summary.InProgress && strings.Contains(s.Summary.Text, "banded glute bridges")
	})
}

// TestCompletingASessionSummarizes expects the summary in the context query within 5 s.
func TestCompletingASessionSummarizes(t *testing.T) {
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	talk(t, api, "designer", swap)
	do(t, api, http.MethodPatch, "/v1/sessions/designer", map[string]any{"status": "completed"}, nil)
	open(t, api, "coach_conversation", "coach")
	query := map[string]any{"context": "coach_conversation", "sessionId": "coach", "query": "glute exercises"}
	eventually(t, 5*time.Second, "summary in the context query", func() bool {
		var found struct {
			Summaries []struct {
				RecordType, Context, SessionID, Text, AgeLabel string
				InProgress                                     bool
			}
		}
		do(t, api, http.MethodPost, "/v1/context/query", query, &found)
		return len(found.Summaries) == 1 && found.Summaries[0].RecordType == "program_designer_summary" &&
			!found.Summaries[0].InProgress && found.Summaries[0].AgeLabel == "just now" &&
			strings.Contains(found.Summaries[0].Text, "banded glute bridges")
	})
}

type sessionRecord struct {
	MessageCount int
	Summary      *struct {
		Text       string
		Kind       string
		InProgress bool
	}
}

func session(t *testing.T, api *client.Client, id string) sessionRecord {
	t.Helper()
	var s sessionRecord
	do(t, api, http.MethodGet, "/v1/sessions/"+id, nil, &s)
	return s
}

// TestRecallFindsMessagesOfOtherContexts finds a message of one context from another.
func TestRecallFindsMessagesOfOtherContexts(t *testing.T) {
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	talk(t, api, "designer", swap)
	open(t, api, "coach_conversation", "coach")
	talk(t, api, "coach", "My sister Ana moved to Lisbon in March.")
	eventually(t, 5*time.Second, "recall of the designer's message", func() bool {
		var found struct {
			Messages []struct {
				Content string
				Score   float64
			}
		}
		body := map[string]any{"query": "hip thrust swap", "limit": 1}
		do(t, api, http.MethodPost, "/v1/recall", body, &found)
		return len(found.Messages) == 1 && strings.Contains(found.Messages[0].Content, "hip thrusts")
	})
}

// TestPreferencesTakeEffectAtOnce switches sharing off and on again.
func TestPreferencesTakeEffectAtOnce(t *testing.T) {
	api := newUser(t)
	open(t, api, "program_designer", "designer")
	talk(t, api, "designer", swap)
	open(t, api, "coach_conversation", "coach")
	prefer := func(preferences map[string]any) {
		t.Helper()
		do(t, api, http.MethodPut, "/v1/preferences", preferences, nil)
	}
	knows := func() bool {
		return strings.Contains(buildPrompt(t, api, "coach", tomorrow).System, "glute bridges")
	}
	if !knows() {
		t.Fatal("with the defaults the coach does not know what the designer was told")
	}
	for name, preferences := range map[string]map[string]any{
		"no cross-context": {"crossContext": false},
		"designer unshared": {
			"contexts": map[string]any{"program_designer": map[string]any{"share": false}},
		},
		"coach unshared": {"contexts": map[string]any{"coach_conversation": map[string]any{"share": false}}},
	} {
		prefer(preferences)
		if knows() {
			t.Errorf("%s: the coach knows what the designer was told", name)
		}
		prefer(map[string]any{})
		if !knows() {
			t.Errorf("%s, switched back: the coach does not know", name)
		}
	}
}
