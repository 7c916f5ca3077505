package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/client"
)

// TestParts stores a turn with a tool, and reads it back: byte for byte in its session, as parts of a chat page, and
// without the tool in a prompt. Then it replaces the turn and empties the session.
func TestParts(t *testing.T) {
	t.Parallel()
	api, err := client.New(startStack(t).Base).As(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	do(t, api, http.MethodPut, "/v1/sessions/s", map[string]any{"context": "coach_conversation", "coachId": "c"}, nil)
	const input, output = `{"z":1.50,"a":[1e2,12345678901234567890]}`, `{"stock":"SECRET <b>"}`
	body := json.RawMessage(`{"messages":[
		{"role":"user","content":"Is the band in stock?","clientMessageId":"u1"},
		{"role":"assistant","clientMessageId":"a1","parts":[{"type":"text","text":"I look it up."},
			{"type":"tool-call","toolCallId":"t1","toolName":"stock","input":` + input + `}]},
		{"role":"tool","parts":[{"type":"tool-result","toolCallId":"t1","toolName":"stock","output":` + output + `}]}]}`)
	type messages struct {
		Messages []struct {
			MessageID, Content string
			Duplicate          bool
			Parts              []struct{ Input, Output json.RawMessage }
		}
		Deleted []string
	}
	var stored, again messages
	do(t, api, http.MethodPost, "/v1/sessions/s/messages", body, &stored)
	call, result := stored.Messages[1], stored.Messages[2]
	if call.Content != "I look it up." || string(call.Parts[1].Input) != input || result.Content != "" {
		t.Errorf("stored %+v", stored.Messages)
	}
	var shown struct {
		Items []struct {
			Parts []struct{ State, ToolName string }
		}
	}
	do(t, api, http.MethodGet, "/v1/sessions/s/ui-messages", nil, &shown)
	if len(shown.Items) != 2 || shown.Items[1].Parts[1].State != "output-available" {
		t.Errorf("on a chat page: %+v", shown)
	}
	var p builtPrompt
	do(t, api, http.MethodPost, "/v1/prompts", map[string]any{
		"context": "coach_conversation", "sessionId": "s", "message": "And the blue one?",
	}, &p)
	text, err := json.Marshal(p)
	if err != nil || strings.Contains(string(text), "SECRET") || !strings.Contains(string(text), "I look it up.") {
		t.Errorf("prompt %s, %v", text, err)
	}
	one := map[string]any{"role": "user", "content": "Is the band in stock?", "clientMessageId": "u1"}
	do(t, api, http.MethodPost, "/v1/sessions/s/messages", map[string]any{"messages": []any{one}}, &again)
	if !again.Messages[0].Duplicate || again.Messages[0].MessageID != stored.Messages[0].MessageID {
		t.Errorf("a repeated id: %+v", again.Messages)
	}
	in := map[string]any{
		"afterSeq": 1, "expected": []any{stored.Messages[1].MessageID, stored.Messages[2].MessageID},
		"replacement": []any{map[string]any{"role": "assistant", "content": "Yes."}},
	}
	var cut messages
	do(t, api, http.MethodPost, "/v1/sessions/s/messages/truncate", in, &cut)
	if len(cut.Deleted) != 2 || cut.Messages[0].Content != "Yes." {
		t.Errorf("truncated %+v", cut)
	}
	wantProblem(t, api.Do(t.Context(), http.MethodPost, "/v1/sessions/s/messages/truncate", in, nil), 409, "conflict", "")
	const picture, gone = "https://app.example/knee.png",
		"https://app.example/hip.png?X-Amz-Date=20260101T080000Z&X-Amz-Expires=900"
	do(t, api, http.MethodPost, "/v1/sessions/s/messages", object{"messages": []object{{"role": "user", "parts": []object{
		{"type": "file", "mediaType": "image/png", "url": picture, "alt": "left knee"},
		{"type": "file", "mediaType": "image/png", "url": gone, "alt": "right hip"},
	}}}}, nil)
	var formed struct{ Anthropic json.RawMessage }
	do(t, api, http.MethodPost, "/v1/prompts", object{
		"context": "coach_conversation", "sessionId": "s", "message": "What do you see?", "format": "anthropic",
	}, &formed)
	for text, want := range map[string]bool{
		`{"type":"image","source":{"type":"url","url":"` + picture + `"}}`: true, "[image: left knee]": true,
		"[image: right hip]": true, "hip.png": false,
	} {
		if strings.Contains(string(formed.Anthropic), text) != want {
			t.Errorf("the prompt has %s: %t, want %t: %s", text, !want, want, formed.Anthropic)
		}
	}
	var turn struct {
		TurnID string
		Prompt struct{ OpenaiChat struct{ Messages []object } }
	}
	do(t, api, http.MethodPost, "/v1/turns", object{"sessionId": "s", "format": "openai-chat", "messages": []object{{
		"role": "user", "parts": []object{
			{"type": "text", "text": "And here?"}, {"type": "file", "mediaType": "image/png", "url": picture},
		},
	}}}, &turn)
	sent := turn.Prompt.OpenaiChat.Messages
	if content, ok := sent[len(sent)-1]["content"].([]any); !ok || len(content) != 2 {
		t.Errorf("the turn's own picture is not handed on: %v", sent[len(sent)-1])
	}
	do(t, api, http.MethodPost, "/v1/turns/"+turn.TurnID+"/finish", object{"content": "A knee."}, nil)
	var cleared struct{ Deleted int }
	do(t, api, http.MethodDelete, "/v1/sessions/s/messages", nil, &cleared)
	if cleared.Deleted != 5 {
		t.Errorf("cleared %d, want 5", cleared.Deleted)
	}
}
