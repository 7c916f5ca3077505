package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
)

// uiMessage is a message in the form that the AI SDK's useChat holds (its type UIMessage).
type uiMessage struct {
	ID       string   `json:"id" doc:"The message's messageId."`
	Role     string   `json:"role" enum:"user,assistant,system" doc:"Who said it."`
	Metadata object   `json:"metadata" doc:"The message's metadata, and its timestamp if there is no other of this name."`
	Parts    []uiPart `json:"parts" doc:"The parts, or one with the content. A tool's result is in the part of its call."`
}

// uiPart is a part of a UI message: text, reasoning, file, tool- and the name of a tool, or data- and the name
// of a data part. The AI SDK has the parts of an app's own tools so while it streams them.
type uiPart struct {
	Type       string          `json:"type" doc:"text, reasoning, file, or tool- or data- and a name."`
	Text       string          `json:"text,omitempty" doc:"Of a text or reasoning part."`
	ToolCallID string          `json:"toolCallId,omitempty" doc:"Of a tool."`
	State      string          `json:"state,omitempty" doc:"Of a tool: input-available, output-available, output-error."`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	ErrorText  string          `json:"errorText,omitempty" doc:"The output of a tool that failed."`
	Data       json.RawMessage `json:"data,omitempty"`
	MediaType  string          `json:"mediaType,omitempty" doc:"Of a file."`
	Filename   string          `json:"filename,omitempty" doc:"Of a file."`
	URL        string          `json:"url,omitempty" doc:"Of a file: its address, or the app's own name of it."`
}

// The states of a tool's call in a UI message.
const (
	toolCalled   = "input-available"
	toolAnswered = "output-available"
	toolFailed   = "output-error"
)

func (m messages) registerUI(tag string) {
	registerDoc(m.server, op("GET /v1/sessions/{id}/ui-messages", "listUiMessages", tag,
		"List a session's messages for a chat page",
		"The messages in the form of the AI SDK's useChat, which takes them as its initial messages. With order "+
			"desc the newest come first. The results of tools are in the parts of their calls, also where the page ends "+
			"between them: a result is looked for in 200 messages after the page, of 1 MiB together. Messages of the "+
			"role tool are in no list of their own.",
	), m.listUI)
}

func (m messages) listUI(ctx context.Context, c Caller, in *messagesInput) (list[uiMessage], error) {
	found, err := listMessages(ctx, m, c, in, asIs)
	if err != nil {
		return list[uiMessage]{}, err
	}
	results, err := m.resultsOf(ctx, c.User, string(in.ID), found.Items)
	return list[uiMessage]{Items: toUIMessages(found.Items, results), NextCursor: found.NextCursor}, err
}

// toUIMessages returns the messages of a page as a chat page shows them, with the results of tools in their calls.
func toUIMessages(page []conversation.Message, results map[callKey]conversation.Part) []uiMessage {
	shown := make([]uiMessage, 0, len(page))
	for _, m := range page {
		if m.Role == conversation.RoleTool {
			continue
		}
		metadata := object{"timestamp": conversation.FormatTime(m.Timestamp)}
		maps.Copy(metadata, m.Metadata)
		shown = append(shown, uiMessage{ID: m.ID, Role: string(m.Role), Metadata: metadata, Parts: uiParts(m, results)})
	}
	return shown
}

// callKey names a call of a tool: apps may give calls of different messages the same id.
type callKey struct{ messageID, callID string }

// maxResultDistance is how many messages after a page are read for the results of its calls: as many as a page has.
const maxResultDistance = 200

// resultsOf returns the results of the calls on a page. What follows the page is read where a call has none on it.
func (m messages) resultsOf(
	ctx context.Context, user conversation.UserID, sessionID string, page []conversation.Message,
) (map[callKey]conversation.Part, error) {
	bySeq := func(a, b conversation.Message) int { return cmp.Compare(a.Seq, b.Seq) }
	ordered := slices.SortedFunc(slices.Values(page), bySeq)
	results, isOpen := pairResults(ordered)
	if !isOpen {
		return results, nil
	}
	session, err := m.sessions.Session(ctx, user, sessionID)
	if err != nil {
		return nil, err
	}
	last := ordered[len(ordered)-1]
	following, err := m.store.MessagesAfter(ctx, user, session,
		conversation.Watermark{Seq: last.Seq, At: last.Timestamp}, maxResultDistance)
	results, _ = pairResults(append(ordered, following...))
	return results, err
}

// pairResults returns the results of the calls in messages, and whether a call has none. The result of a call is the
// first after it, in a message of the assistant or a tool.
func pairResults(ordered []conversation.Message) (results map[callKey]conversation.Part, isOpen bool) {
	results, open := map[callKey]conversation.Part{}, map[string]callKey{}
	for _, m := range ordered {
		if m.Role != conversation.RoleAssistant && m.Role != conversation.RoleTool {
			continue
		}
		for _, p := range m.Parts {
			call, isOpen := open[p.ToolCallID]
			switch {
			case p.Type == conversation.ToolCallPart:
				open[p.ToolCallID] = callKey{m.ID, p.ToolCallID}
			case p.Type == conversation.ToolResultPart && isOpen:
				results[call] = p
				delete(open, p.ToolCallID)
			}
		}
	}
	return results, len(open) > 0
}

func uiParts(m conversation.Message, results map[callKey]conversation.Part) []uiPart {
	if len(m.Parts) == 0 {
		return []uiPart{{Type: "text", Text: m.Content}}
	}
	parts := make([]uiPart, 0, len(m.Parts))
	for _, p := range m.Parts {
		switch p.Type {
		case conversation.TextPart, conversation.ReasoningPart:
			parts = append(parts, uiPart{Type: string(p.Type), Text: p.Text})
		case conversation.DataPart:
			parts = append(parts, uiPart{Type: "data-" + p.Name, Data: p.Data})
		case conversation.FilePart:
			parts = append(parts, uiPart{
				Type: string(p.Type), MediaType: p.MediaType, Filename: p.Filename, URL: cmp.Or(p.URL, p.DataRef),
			})
		case conversation.ToolCallPart:
			parts = append(parts, uiTool(p, results[callKey{m.ID, p.ToolCallID}]))
		case conversation.ToolResultPart: // in the part of its call
		}
	}
	return parts
}

// uiTool returns the part of a tool's call with its result, if there is one.
func uiTool(call, result conversation.Part) uiPart {
	shown := uiPart{
		Type: "tool-" + call.ToolName, ToolCallID: call.ToolCallID, State: toolCalled,
		Input: call.Input,
	}
	switch {
	case result.Output == nil:
	case result.IsError:
		shown.State, shown.ErrorText = toolFailed, string(result.Output)
	default:
		shown.State, shown.Output = toolAnswered, result.Output
	}
	return shown
}

// listMessages returns a page of a session's messages in some form.
func listMessages[V any](
	ctx context.Context, m messages, c Caller, in *messagesInput, convert func(conversation.Message) V,
) (list[V], error) {
	return listed(m.server, c, in.ListInput, in.Order == "desc", convert,
		func(page conversation.Page) ([]conversation.Message, conversation.Position, error) {
			return m.store.Messages(ctx, c.User, string(in.ID), page)
		})
}
