package httpapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt"
)

// fakeTurns has one turn, which is always the same. It sends what it was asked to got, if that is set.
type fakeTurns struct{ got chan any }

func (f fakeTurns) note(v any) {
	if f.got != nil {
		f.got <- v
	}
}

func (f fakeTurns) BeginOwn(_ context.Context, _ conversation.UserID, r chat.OwnRequest) (chat.OwnTurn, error) {
	if _, err := (conversation.Append{Messages: r.Messages}).Prepare(noon()); err != nil {
		return chat.OwnTurn{}, err
	}
	f.note(r)
	return chat.OwnTurn{ID: "turn_1", UserMessageID: "msg_1", Prompt: prompt.Prompt{
		ID: "prompt_1", SessionID: "s1", Recipe: "unified", Messages: []prompt.Message{{Role: "user", Content: "x"}},
		Tools: []llm.Tool{}, Tokens: prompt.Tokens{Total: 1, Budget: 4000}, Manifest: manifest(),
	}}, nil
}

func (f fakeTurns) FinishOwn(
	_ context.Context, _ conversation.UserID, id string, a chat.OwnAnswer,
) (chat.OwnEnd, error) {
	if id != "turn_1" {
		return chat.OwnEnd{}, fault.Missing("turn")
	}
	answer := conversation.NewMessage{Role: conversation.RoleAssistant, Content: a.Content, Parts: a.Parts}
	in := conversation.Append{Messages: []conversation.NewMessage{answer}}
	if _, err := in.Prepare(noon()); err != nil && a.Failure == "" {
		return chat.OwnEnd{}, err
	}
	f.note(a)
	end := chat.OwnEnd{Session: conversation.Session{
		ID: "s1", Context: "workout_log", CoachID: "c1", MessageCount: 2, Status: conversation.Active,
	}}
	if a.Failure == "" {
		end.Answer = &conversation.Message{ID: "msg_2"}
	}
	return end, nil
}

func (f fakeTurns) StateOfOwn(context.Context, conversation.UserID, string) (chat.OwnState, error) {
	return chat.OwnState{Status: chat.TurnFinished, UserMessageID: "msg_1", MessageID: "msg_2"}, nil
}

// TestTurns begins and finishes turns with bodies of every kind.
func TestTurns(t *testing.T) {
	t.Parallel()
	b, _ := base()
	turns := fakeTurns{make(chan any, 1)}
	h := httpapi.Coach(httpapi.CoachDeps{Base: b, Verifier: fakeVerifier{}, Turns: turns})
	for name, tc := range map[string]struct {
		token, path, body string
		status            int
		want              string
	}{
		"a message": {
			"app:ann", "", `{"sessionId":"s1","message":"x"}`, 201, `"turnId":"turn_1"`,
		},
		"messages": {
			"app:ann", "", `{"sessionId":"s1","messages":[{"role":"user","content":"x"}]}`, 201, `"promptId":"prompt_1"`,
		},
		"a tool": {
			"app:ann", "", `{"sessionId":"s1","message":"x","tools":[{"name":"look"}]}`, 201, `"userMessageId"`,
		},
		"no message": {
			"app:ann", "", `{"sessionId":"s1"}`, 422, `"field":"message"`,
		},
		"both": {
			"app:ann", "", `{"sessionId":"s1","message":"x","messages":[{"role":"user","content":"x"}]}`, 422,
			`"field":"message"`,
		},
		"no app": {
			"user:ann", "", `{"sessionId":"s1","message":"x"}`, 403, `"forbidden"`,
		},
		"an answer": {
			"app:ann", "/turn_1/finish", `{"content":"y","usage":{"promptTokens":3}}`, 200, `"messageId":"msg_2"`,
		},
		"parts": {
			"app:ann", "/turn_1/finish", `{"parts":[{"type":"text","text":"y"}]}`, 200, `"messageCount":2`,
		},
		"a failure": {
			"app:ann", "/turn_1/finish", `{"error":"no model"}`, 200, `{"session"`,
		},
		"no turn": {
			"app:ann", "/turn_2/finish", `{"content":"y"}`, 404, `"not_found"`,
		},
		"a wrong usage": {
			"app:ann", "/turn_1/finish", `{"content":"y","usage":{"promptTokens":-3}}`, 422, `usage.promptTokens`,
		},
		"a long answer": {
			"app:ann", "/turn_1/finish", `{"content":"` + strings.Repeat("y", 256<<10+1) + `"}`, 422, `[{"field":"content"`,
		},
		"a wrong part": {
			"app:ann", "/turn_1/finish", `{"parts":[{"type":"text"}]}`, 422, `[{"field":"parts[0].text"`,
		},
		"a long message": {
			"app:ann", "", `{"sessionId":"s1","message":"` + strings.Repeat("y", 256<<10+1) + `"}`, 422, `[{"field":"message"`,
		},
		"a wrong message": {
			"app:ann", "", `{"sessionId":"s1","messages":[{"role":"user"}]}`, 422, `[{"field":"messages[0].content"`,
		},
		"an odd field": {
			"app:ann", "/turn_1/finish", `{"text":"y"}`, 422, `"field":"text"`,
		},
		"finish, no app": {
			"user:ann", "/turn_1/finish", `{"content":"y"}`, 403, `"forbidden"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), "POST", "http://x/v1/turns"+tc.path, strings.NewReader(tc.body))
			r.Header.Set("Authorization", "Bearer "+tc.token)
			r.Header.Set("Content-Type", "application/json")
			h.ServeHTTP(w, r)
			if body := w.Body.String(); w.Code != tc.status || !strings.Contains(body, tc.want) {
				t.Errorf("%d %s, want %d %s", w.Code, body, tc.status, tc.want)
			}
			if w.Code >= 300 {
				return
			}
			switch got := (<-turns.got).(type) {
			case chat.OwnRequest:
				if last := got.Messages[0]; last.Content != "x" || got.Idempotency.Key == "" || got.SessionID != "s1" {
					t.Errorf("asked for %+v", got)
				}
			case chat.OwnAnswer:
				if name == "an answer" && got.Usage.TotalTokens != 3 {
					t.Errorf("finished with %+v", got)
				}
			}
		})
	}
}
