package e2e_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestParts stores a turn with a tool, and reads it back: byte for byte in its session, as parts of a chat page, and
// without the tool in a prompt. A turn hands its own picture on.
func TestParts(t *testing.T) {
	t.Parallel()
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	const input, output = `{"z":1.50,"a":[1e2,12345678901234567890]}`, `{"stock":"SECRET <b>"}`
	body := json.RawMessage(`{"messages":[
		{"role":"user","content":"Is the band in stock?"},
		{"role":"assistant","parts":[{"type":"text","text":"I look it up."},
			{"type":"tool-call","toolCallId":"t1","toolName":"stock","input":` + input + `}]},
		{"role":"tool","parts":[{"type":"tool-result","toolCallId":"t1","toolName":"stock","output":` + output + `}]}]}`)
	type messages struct {
		Messages []struct {
			Content string
			Parts   []struct{ Input, Output json.RawMessage }
		}
	}
	var stored messages
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
	const picture = "https://app.example/knee.png"
	var turn struct {
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
}
