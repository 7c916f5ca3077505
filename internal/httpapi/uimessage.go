package httpapi

import (
	"context"
	"maps"
	"net/http"

	"github.com/throughline/throughline/internal/conversation"
)

// uiMessage is a message in the form that the AI SDK's useChat holds (its type UIMessage).
type uiMessage struct {
	ID       string   `json:"id" doc:"The message's messageId."`
	Role     string   `json:"role" enum:"user,assistant,system"`
	Metadata object   `json:"metadata" doc:"The message's metadata, and its timestamp if there is no other of this name."`
	Parts    []uiPart `json:"parts" doc:"One part with the content."`
}

// uiPart is a text part of a UI message.
type uiPart struct {
	Type string `json:"type" enum:"text"`
	Text string `json:"text"`
}

func toUIMessage(m conversation.Message) uiMessage {
	metadata := object{"timestamp": conversation.FormatTime(m.Timestamp)}
	maps.Copy(metadata, m.Metadata)
	return uiMessage{
		ID: m.ID, Role: string(m.Role), Metadata: metadata, Parts: []uiPart{{Type: "text", Text: m.Content}},
	}
}

func (m messages) registerUI(tag string) {
	register(m.server, operation{
		method: http.MethodGet, path: "/v1/sessions/{id}/ui-messages", id: "listUiMessages", tag: tag,
		summary: "List a session's messages for a chat page",
		detail: "The messages in the form of the AI SDK's useChat, which takes them as its initial messages. With order " +
			"desc the newest come first.",
	}, m.listUI)
}

func (m messages) listUI(ctx context.Context, c Caller, in *messagesInput) (*listOutput[uiMessage], error) {
	return listMessages(ctx, m, c, in, toUIMessage)
}

// listMessages returns a page of a session's messages in some form.
func listMessages[V any](
	ctx context.Context, m messages, c Caller, in *messagesInput, convert func(conversation.Message) V,
) (*listOutput[V], error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	page, scope, err := m.page(c, in.ListInput, in.Order == "desc")
	if err != nil {
		return nil, err
	}
	found, next, err := m.store.Messages(ctx, c.User, in.ID, page)
	if err != nil {
		return nil, err
	}
	return newList(m.server, scope, found, next, convert), nil
}
