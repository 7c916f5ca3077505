package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// MessageRemover deletes one message with what derives from it; the seq numbers of the others stay. Another user's
// message is NotFound.
type MessageRemover interface {
	DeleteMessage(ctx context.Context, user conversation.UserID, sessionID, messageID string) error
}

// Counter counts the tokens of a text as the target model's family does.
type Counter interface {
	Count(text string) int
}

// message is conversation.Message as the API shows it.
type message struct {
	MessageID string `json:"messageId"`
	Seq       int    `json:"seq" doc:"1 to n within the session."`
	SessionID string `json:"sessionId"`
	Context   string `json:"context"`
	CoachID   string `json:"coachId"`
	AgentID   string `json:"agentId,omitempty"`
	Role      string `json:"role" enum:"user,assistant,system"`
	Content   string `json:"content"`
	Timestamp stamp  `json:"timestamp" doc:"Increases strictly within the session."`
	Mode      string `json:"mode"`
	Metadata  object `json:"metadata,omitempty"`
}

func viewMessage(m conversation.Message) message {
	return message{
		MessageID: m.ID, Seq: m.Seq, SessionID: m.SessionID, Context: m.Context, CoachID: m.CoachID,
		AgentID: m.AgentID, Role: string(m.Role), Content: m.Content, Timestamp: stamp(m.Timestamp), Mode: m.Mode,
		Metadata: m.Metadata,
	}
}

type newMessage struct {
	Role      string `json:"role" enum:"user,assistant,system" doc:"Other roles than user need the scope throughline/app."`
	Content   string `json:"content" minLength:"1" doc:"1 byte to 256 KiB, stored and returned exactly."`
	Timestamp *stamp `json:"timestamp,omitempty" doc:"Now where absent; may lie in the past, at most 5 minutes ahead."`
	Mode      string `json:"mode,omitempty" minLength:"1" maxLength:"128" doc:"The session's where absent."`
	AgentID   string `json:"agentId,omitempty" minLength:"1" maxLength:"128" doc:"The part that the model plays."`
	Metadata  object `json:"metadata,omitempty" doc:"Of the app's own, at most 32 KiB; stored and returned."`
}

type newMessages struct {
	Messages []newMessage `json:"messages" minItems:"1" maxItems:"50" doc:"Stored all or none, in this order."`
}

type appended struct {
	Messages []message `json:"messages"`
	Session  session   `json:"session"`
}

type (
	newMessagesInput struct {
		SessionPath
		Keyed
		Body newMessages
	}
	messagesInput struct {
		SessionPath
		ListInput
		Order string `query:"order" enum:"asc,desc" default:"asc" doc:"By seq."`
	}
	messagePath struct {
		SessionPath
		MessageID string `path:"messageId" doc:"The message's id, percent-encoded; once or twice, since a gateway may decode a path before it reads it."`
	}
	timelineInput struct {
		ListInput
		From    stamp       `query:"from" doc:"The first time that counts."`
		To      stamp       `query:"to" doc:"The first time that no longer counts."`
		Context surfaceName `query:"context" doc:"Only messages of this context."`
		Order   string      `query:"order" enum:"asc,desc" default:"desc" doc:"By time."`
	}
)

// messages serves the messages of a session and the timeline over all of them.
type messages struct {
	*server
	store  conversation.MessageStore
	remove MessageRemover
	tokens Counter
}

func (m messages) register() {
	const tag = "Messages"
	register(m.server, operation{
		method: http.MethodPost, path: "/v1/sessions/{id}/messages", id: "appendMessages", tag: tag,
		status: http.StatusCreated, summary: "Append messages", errors: []int{http.StatusConflict},
		detail: "Stored all or none. A time that is not after the session's last is raised by the least that keeps " +
			"them increasing, and returned so; times that decrease within one call are invalid. The contents of one " +
			"call are at most 1 MiB together.",
	}, m.append)
	register(m.server, operation{
		method: http.MethodGet, path: "/v1/sessions/{id}/messages", id: "listMessages", tag: tag,
		summary: "List a session's messages", detail: "What a 201 acknowledged is there at once.",
	}, m.list)
	register(m.server, operation{
		method: http.MethodDelete, path: "/v1/sessions/{id}/messages/{messageId}", id: "deleteMessage", tag: tag,
		status: noContent, summary: "Delete a message",
	}, m.delete)
	register(m.server, operation{
		method: http.MethodGet, path: "/v1/messages", id: "listTimeline", tag: tag,
		summary: "List the timeline", detail: "The user's messages across all contexts.",
	}, m.timeline)
}

func (m messages) append(ctx context.Context, c Caller, in *newMessagesInput) (*created[appended], error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if err := check(c, in.Body.Messages); err != nil {
		return nil, err
	}
	idem, err := in.idempotency(in.Body)
	if err != nil {
		return nil, err
	}
	stored, err := m.store.Append(ctx, c.User, conversation.Append{
		SessionID: in.ID, Messages: m.counted(in.Body.Messages), Idempotency: idem,
	})
	if err != nil {
		return nil, err
	}
	out := appended{Messages: make([]message, len(stored.Messages)), Session: viewSession(stored.Session)}
	for i, message := range stored.Messages {
		out.Messages[i] = viewMessage(message)
	}
	return newCreated(out, pathOf("sessions", in.ID, "messages"), stored.Replayed), nil
}

// check sees that the caller may speak in these roles, and that every time is one. The rest of
// the rules are the domain's, which every store keeps.
func check(c Caller, given []newMessage) error {
	var wrong []fault.Field
	for i, g := range given {
		if g.Role != string(conversation.User) && !c.app() {
			return fault.Newf(fault.Forbidden, "messages[%d]: the role %s needs the scope %s", i, g.Role, ScopeApp)
		}
		wrong = append(wrong, g.Timestamp.check(fmt.Sprintf("messages[%d].timestamp", i))...)
	}
	return wrongOr(wrong)
}

// counted are the messages as the store takes them, with their tokens.
func (m messages) counted(given []newMessage) []conversation.NewMessage {
	out := make([]conversation.NewMessage, len(given))
	for i, g := range given {
		out[i] = conversation.NewMessage{
			Role: conversation.Role(g.Role), Content: g.Content, Timestamp: sent(g.Timestamp), Mode: g.Mode,
			AgentID: g.AgentID, Metadata: g.Metadata, Tokens: m.tokens.Count(g.Content),
		}
	}
	return out
}

func (m messages) list(ctx context.Context, c Caller, in *messagesInput) (*listOutput[message], error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	page, bound, err := m.page(c, in.ListInput, in.Order == "desc")
	if err != nil {
		return nil, err
	}
	found, next, err := m.store.Messages(ctx, c.User, in.ID, page)
	if err != nil {
		return nil, err
	}
	return listed(m.server, bound, found, next, viewMessage), nil
}

func (m messages) delete(ctx context.Context, c Caller, in *messagePath) (*empty, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	id := in.message(c)
	if !plausibleID(id) {
		return nil, fault.Missing("message")
	}
	return &empty{}, m.remove.DeleteMessage(ctx, c.User, in.ID, id)
}

// message is the id that the path names. It holds the user's id, and with that every character that one may, so it
// shows whether an escape in it is its own, or one that is left over: from a gateway that decodes nothing, or from a
// client that escapes twice, as it has to for a question mark where the gateway cuts a decoded path at one.
func (p messagePath) message(c Caller) string {
	id, err := url.PathUnescape(p.MessageID)
	if err != nil || strings.Contains(p.MessageID, "_"+string(c.User)+"_") {
		return p.MessageID
	}
	return id
}

func (m messages) timeline(ctx context.Context, c Caller, in *timelineInput) (*listOutput[message], error) {
	span := conversation.Range{From: in.From.time(), To: in.To.time(), Context: string(in.Context)}
	if !span.From.IsZero() && !span.To.IsZero() && span.To.Before(span.From) {
		return nil, fault.InvalidField("to", "lies before from")
	}
	page, bound, err := m.page(c, in.ListInput, in.Order == "desc")
	if err != nil {
		return nil, err
	}
	found, next, err := m.store.Timeline(ctx, c.User, span, page)
	if err != nil {
		return nil, err
	}
	return listed(m.server, bound, found, next, viewMessage), nil
}
