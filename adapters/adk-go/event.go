package adk

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	throughline "github.com/throughline/throughline/clients/go"
)

// eventPart is the name of the part with an event as it was.
const eventPart = "adk-event"

// authorUser is the author of the user's own events.
const authorUser = "user"

// toMessage returns the message of an event: its text, which is indexed and summarised, the calls and results of
// functions by the API's names, and the event as JSON in a text, which comes back byte for byte.
func toMessage(event *session.Event) (throughline.NewMessage, error) {
	text, err := json.Marshal(event)
	if err != nil {
		return throughline.NewMessage{}, fmt.Errorf("event %s: %w", event.ID, err)
	}
	m := throughline.NewMessage{ClientMessageID: event.ID, Role: roleOf(event), Content: textOf(event.Content)}
	if event.Content != nil {
		for _, part := range event.Content.Parts {
			switch {
			case part == nil:
			case part.FunctionCall != nil:
				m.Parts = append(m.Parts, throughline.Part{
					Type: "tool-call", ToolCallID: callID(part.FunctionCall.ID), ToolName: toolName(part.FunctionCall.Name),
					Input: object(part.FunctionCall.Args),
				})
			case part.FunctionResponse != nil:
				m.Parts = append(m.Parts, throughline.Part{
					Type: "tool-result", ToolCallID: callID(part.FunctionResponse.ID),
					ToolName: toolName(part.FunctionResponse.Name), Output: object(part.FunctionResponse.Response),
				})
			}
		}
	}
	m.Parts = append(m.Parts, throughline.Part{Type: "data", Name: eventPart, Data: string(text)})
	return m, nil
}

// roleOf returns the role of an event's message.
func roleOf(event *session.Event) string {
	if event.Content != nil && slices.ContainsFunc(event.Content.Parts, func(p *genai.Part) bool {
		return p != nil && p.FunctionCall == nil && p.FunctionResponse != nil
	}) {
		return "tool"
	}
	if event.Author == authorUser {
		return "user"
	}
	return "assistant"
}

// The API needs names of calls and tools, of at most 128 bytes.
func callID(id string) string     { return bounded(id, "call") }
func toolName(name string) string { return bounded(name, "tool") }

func bounded(text, other string) string {
	if text == "" {
		return other
	}
	return strings.ToValidUTF8(text[:min(len(text), 128)], "")
}

// object returns a value that is JSON, and no null.
func object(value map[string]any) any {
	if value == nil {
		return map[string]any{}
	}
	return value
}

// toEvent returns the event of a message. A message that another screen has stored is an event with its text. So is one
// with an event of another role than its own: the message says whose an event is.
func toEvent(m *throughline.Message) *session.Event {
	for _, part := range m.Parts {
		text, isText := part.Data.(string)
		if part.Type != "data" || part.Name != eventPart || !isText {
			continue
		}
		event := new(session.Event)
		if json.Unmarshal([]byte(text), event) == nil && roleOf(event) == m.Role {
			return event
		}
		slog.Warn("skip a part that is no event of its message", "message", m.MessageID)
	}
	event := &session.Event{ID: m.MessageID, Timestamp: m.Timestamp, Author: "model"}
	role := genai.Role(genai.RoleModel)
	if m.Role == "user" {
		event.Author, role = authorUser, genai.RoleUser
	}
	if m.Content != "" {
		event.Content = genai.NewContentFromText(m.Content, role)
	}
	return event
}

// textOf returns what a content says, without the model's thoughts.
func textOf(content *genai.Content) string {
	if content == nil {
		return ""
	}
	var texts []string
	for _, part := range content.Parts {
		if part != nil && part.Text != "" && !part.Thought {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}
