package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/recall"
)

// MessageRemover deletes one message and what derives from it. The seq numbers of the other messages stay. It returns
// NotFound for another user's message.
type MessageRemover interface {
	DeleteMessage(ctx context.Context, user conversation.UserID, sessionID, messageID string) error
	// Quotes returns the messages that quote a message. They stay when it is deleted.
	Quotes(ctx context.Context, user conversation.UserID, sessionID, messageID string) (erasure.Quotes, error)
	// DeleteWithQuotes deletes a message and what Quotes returns.
	DeleteWithQuotes(ctx context.Context, user conversation.UserID, sessionID, messageID string) (erasure.Quotes, error)
}

// Message is conversation.Message as the API shows it. It is exported so that huma finds its fields in recalled.
type Message struct {
	ID              string              `json:"messageId" doc:"The id of the message."`
	Seq             int                 `json:"seq" doc:"1 to n within the session."`
	SessionID       string              `json:"sessionId" doc:"The id of the session."`
	Context         string              `json:"context" doc:"The context of the session."`
	CoachID         string              `json:"coachId" doc:"The id of the coach."`
	AgentID         string              `json:"agentId,omitempty" doc:"The part that the model played; absent for messages without one."`
	Role            string              `json:"role" enum:"user,assistant,system,tool" doc:"Who said it."`
	Content         string              `json:"content" doc:"What is indexed and summarised. Empty where the parts have no text."`
	Parts           []conversation.Part `json:"parts,omitempty" doc:"What the message has beside its content, as it was sent."`
	ClientMessageID string              `json:"clientMessageId,omitempty" doc:"The client's own id of the message."`
	Duplicate       bool                `json:"duplicate,omitempty" doc:"An earlier call has stored it under its clientMessageId."`
	Timestamp       timestamp           `json:"timestamp" doc:"Increases strictly within the session."`
	Mode            string              `json:"mode" doc:"The mode of the conversation, a word of the app's own."`
	Metadata        object              `json:"metadata,omitempty"`
	Forgotten       bool                `json:"forgotten,omitempty" doc:"The user asked to forget it: nothing is drawn from it."`
	Index           *bool               `json:"index,omitempty" from:"-" doc:"Absent for true."`
	Extract         *bool               `json:"extract,omitempty" from:"-" doc:"Absent for true."`
}

func (m *Message) complete(of conversation.Message) {
	m.Index, m.Extract = falseIf(of.NoIndex), falseIf(of.NoExtract)
}

// falseIf is false where something is refused, and nil where the default holds.
func falseIf(refused bool) *bool {
	if !refused {
		return nil
	}
	return new(bool)
}

// isFalse reports whether a field says false. Without it the default holds.
func isFalse(given *bool) bool { return given != nil && !*given }

type newMessage struct {
	Role            string              `json:"role" enum:"user,assistant,system,tool" doc:"All but user need throughline/app."`
	Content         string              `json:"content,omitempty" doc:"At most 256 KiB. With parts, the default is their texts."`
	Parts           []conversation.Part `json:"parts,omitempty" maxItems:"200" doc:"At most 256 KiB together with the content. All but text and file need throughline/app."`
	ClientMessageID string              `json:"clientMessageId,omitempty" minLength:"1" maxLength:"128" doc:"The client's own id, stored once."`
	Timestamp       *timestamp          `json:"timestamp,omitempty" from:"-" doc:"Default: now. At most 5 minutes ahead."`
	Mode            string              `json:"mode,omitempty" minLength:"1" maxLength:"128" doc:"Default: the session's mode."`
	AgentID         string              `json:"agentId,omitempty" minLength:"1" maxLength:"128" doc:"The part that the model plays."`
	Metadata        object              `json:"metadata,omitempty" doc:"The app's own data, at most 32 KiB."`
	Index           *bool               `json:"index,omitempty" from:"-" default:"true" doc:"false: no search finds it; a summary may tell it."`
	Extract         *bool               `json:"extract,omitempty" from:"-" default:"true" doc:"false: no summary or memory is made of it."`
}

// message returns the message for the domain, with its exact time and the tokens of what it says. Without tokens, the
// domain counts them.
func (g newMessage) message(tokens llm.Counter) conversation.NewMessage {
	m := filled[conversation.NewMessage](g)
	m.Timestamp, m.NoIndex, m.NoExtract = exactTime(g.Timestamp), isFalse(g.Index), isFalse(g.Extract)
	if tokens != nil {
		m.Tokens = tokens.Count(cmp.Or(m.Content, conversation.TextOf(m.Parts)))
	}
	return m
}

type newMessages struct {
	Messages []newMessage `json:"messages" minItems:"1" maxItems:"50" doc:"The messages, in order."`
}

type appended struct {
	Messages []Message `json:"messages" doc:"The messages, oldest first."`
	Session  session   `json:"session"`
}

type (
	newMessagesInput struct {
		SessionPath
		Idempotent
		Body newMessages
	}
	messagesInput struct {
		SessionPath
		ListInput
		Order string `query:"order" enum:"asc,desc" default:"asc" doc:"By seq."`
	}
	// MessagePath is exported so that huma finds its fields where it is embedded.
	MessagePath struct {
		SessionPath
		MessageID string `path:"messageId" doc:"The message's id, percent-encoded once or twice."`
	}
	timelineInput struct {
		ListInput
		From    timestamp   `query:"from" doc:"The earliest time."`
		To      timestamp   `query:"to" doc:"The first time after the span."`
		Context contextName `query:"context" doc:"Only messages of this context."`
		Order   string      `query:"order" enum:"asc,desc" default:"desc" doc:"By time."`
	}
)

// MessageStore stores messages, reads what follows one, and says whether the shared store has all of a user's.
type MessageStore interface {
	conversation.MessageStore
	IsMigrated(ctx context.Context, user conversation.UserID) (bool, error)
	// MessagesAfter reads at most limit of a session's messages after a watermark, and at most a page's bytes.
	MessagesAfter(ctx context.Context, user conversation.UserID, session conversation.Session,
		after conversation.Watermark, limit int) ([]conversation.Message, error)
}

// timelinePage is a page of the timeline.
type timelinePage struct {
	Items      []Message            `json:"items" doc:"The items of the page, which ends at the limit or at 1 MiB."`
	NextCursor string               `json:"nextCursor,omitempty" doc:"The next page's cursor; absent on the last page."`
	Degraded   []recall.Degradation `json:"degraded,omitempty" doc:"What the timeline lacks: messages not_migrated."`
}

// messages serves the messages of a session and the timeline over all of them.
type messages struct {
	*server
	sessions conversation.SessionReader
	store    MessageStore
	remove   MessageRemover
	cut      SessionCutter
}

func (m messages) register() {
	const tag = "Messages"
	register(m.server, op("POST /v1/sessions/{id}/messages", "appendMessages", tag, "Append messages",
		"Stores all messages or none. A time that is not after the session's last time is raised to the next "+
			"millisecond. Times that decrease within one call are invalid. The contents of one call have at most 1 MiB "+
			"together. A completed session is active again when a message of the user follows its completion.",
	).answers(http.StatusCreated).or(http.StatusConflict), m.append)
	registerDoc(m.server, op("GET /v1/sessions/{id}/messages", "listMessages", tag, "List a session's messages",
		"Messages that a 201 acknowledged are listed at once.",
	), m.list)
	m.registerUI(tag)
	m.registerQuotes(tag)
	m.registerCuts(tag)
	registerDoc(m.server, op("GET /v1/messages", "listTimeline", tag, "List the timeline",
		"The user's messages across all contexts.",
	), m.timeline)
}

func (m messages) append(ctx context.Context, c Caller, in *newMessagesInput) (*created[appended], error) {
	given, err := m.newMessages(c, in.Body.Messages, "messages")
	if err != nil {
		return nil, err
	}
	if err := m.charge(ctx, c, (len(in.Body.Messages)-1)/messagesPerWeight); err != nil {
		return nil, err
	}
	stored, err := m.store.Append(ctx, c.User, conversation.Append{
		SessionID: string(in.ID), Messages: given, Idempotency: in.idempotency(in.Body),
	})
	if err != nil {
		return nil, err
	}
	out := appended{Messages: converted(stored.Messages, shown[Message]), Session: shown[session](stored.Session)}
	return newCreated(out, pathOf("sessions", string(in.ID), "messages"), stored.Replayed), nil
}

// newMessages returns the messages of a field for the store. It checks that the caller may use their roles and the
// types of their parts: frameworks take what models, tools and apps have said from the other types. The domain checks
// the other rules.
func (s *server) newMessages(c Caller, given []newMessage, field string) ([]conversation.NewMessage, error) {
	for i, g := range given {
		if g.Role != string(conversation.RoleUser) && !c.isApp() {
			return nil, fault.Newf(fault.Forbidden, "%s[%d]: the role %s needs the scope %s", field, i, g.Role, ScopeApp)
		}
		for n, p := range g.Parts {
			if p.Type != conversation.TextPart && p.Type != conversation.FilePart && !c.isApp() {
				return nil, fault.Newf(fault.Forbidden, "%s[%d].parts[%d]: the type %s needs the scope %s",
					field, i, n, p.Type, ScopeApp)
			}
		}
	}
	return converted(given, func(g newMessage) conversation.NewMessage { return g.message(s.tokens) }), nil
}

func (m messages) list(ctx context.Context, c Caller, in *messagesInput) (list[Message], error) {
	return listMessages(ctx, m, c, in, shown[Message])
}

// unescapedID returns the message id of the path. The id may still be escaped: some gateways do not decode paths, and a
// client has to escape a question mark twice for a gateway that decodes the path before it looks for the query. The id
// contains the user's id. If the user's id appears in it as it is, then the id is not escaped.
func (p MessagePath) unescapedID(c Caller) string {
	id, err := url.PathUnescape(p.MessageID)
	if err != nil || strings.Contains(p.MessageID, "_"+string(c.User)+"_") {
		return p.MessageID
	}
	return id
}

func (m messages) timeline(ctx context.Context, c Caller, in *timelineInput) (timelinePage, error) {
	span := conversation.Range{From: in.From.time(), To: in.To.time(), Context: string(in.Context)}
	if err := checkSpan(span.From, span.To); err != nil {
		return timelinePage{}, err
	}
	found, err := listed(m.server, c, in.ListInput, in.Order == "desc", shown[Message],
		func(page conversation.Page) ([]conversation.Message, conversation.Position, error) {
			return m.store.Timeline(ctx, c.User, span, page)
		})
	if err != nil {
		return timelinePage{}, err
	}
	out := timelinePage{Items: found.Items, NextCursor: found.NextCursor}
	migrated, err := m.store.IsMigrated(ctx, c.User)
	if !migrated {
		out.Degraded = []recall.Degradation{recall.NotMigrated}
	}
	return out, err
}
