package mcp

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/secret"
	"github.com/throughline/throughline/internal/untrusted"
)

// The resources. That of one session's messages is a template.
const (
	sessionsURI    = "throughline://sessions"
	summaryURI     = "throughline://user-summary"
	messagesPrefix = sessionsURI + "/"
	messagesSuffix = "/messages"
)

// jsonType is the media type of all resources.
const jsonType = "application/json"

const (
	// maxSessions and maxMessages are how many of the newest a resource has. Paging is left to the HTTP API.
	maxSessions = 50
	maxMessages = 50
)

type session struct {
	SessionID     string `json:"sessionId"`
	Context       string `json:"context"`
	Title         string `json:"title,omitempty"`
	Status        string `json:"status"`
	MessageCount  int    `json:"messageCount"`
	LastMessageAt string `json:"lastMessageAt,omitempty"`
	Summary       string `json:"summary,omitempty"`
	// Messages is the URI of the session's messages.
	Messages string `json:"messages"`
}

type message struct {
	MessageID string `json:"messageId"`
	Seq       int    `json:"seq"`
	Role      string `json:"role"`
	Content   string `json:"content"`
	Truncated bool   `json:"truncated,omitempty"`
	Timestamp string `json:"timestamp"`
}

// items is the body of a resource that is a list.
type items[T any] struct {
	Notice string `json:"notice"`
	Items  []T    `json:"items"`
	// More says that there are older ones, which the HTTP API lists.
	More bool `json:"more"`
}

type userSummary struct {
	Notice    string   `json:"notice"`
	Patterns  []string `json:"patterns"`
	Wins      []string `json:"wins"`
	Struggles []string `json:"struggles"`
	UpdatedAt string   `json:"updatedAt,omitempty"`
}

func (h *handler) addResources(s *sdk.Server) {
	s.AddResource(&sdk.Resource{
		URI: sessionsURI, Name: "sessions", Title: "Sessions", MIMEType: jsonType,
		Description: "The user's 50 latest sessions on all surfaces, with their summaries.",
	}, h.resource(h.readSessions))
	s.AddResource(&sdk.Resource{
		URI: summaryURI, Name: "user-summary", Title: "User summary", MIMEType: jsonType,
		Description: "The patterns, wins and struggles of the user.",
	}, h.resource(h.readSummary))
	s.AddResourceTemplate(&sdk.ResourceTemplate{
		URITemplate: messagesPrefix + "{sessionId}" + messagesSuffix, Name: "messages", Title: "Messages of a session",
		MIMEType: jsonType, Description: "The last 50 messages of one session, in order.",
	}, h.resource(h.readMessages))
}

// resource makes a handler of a function that returns a resource's body.
func (h *handler) resource(read func(ctx context.Context, c Caller, uri string) (any, error)) sdk.ResourceHandler {
	return func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		uri := r.Params.URI
		body, err := read(ctx, callOf(ctx).Caller, uri)
		if fault.Is(err, fault.NotFound) {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		if err != nil {
			return nil, h.explain(ctx, "resource", err)
		}
		text, err := json.Marshal(body)
		if err != nil {
			return nil, h.explain(ctx, "resource", err)
		}
		return &sdk.ReadResourceResult{
			Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: jsonType, Text: string(text)}},
		}, nil
	}
}

func (h *handler) readSessions(ctx context.Context, c Caller, _ string) (any, error) {
	stored, next, err := h.Sessions.Sessions(ctx, c.User, conversation.SessionFilter{},
		conversation.Page{Limit: maxSessions, Descending: true})
	if err != nil {
		return nil, err
	}
	out := items[session]{Notice: notice, Items: make([]session, len(stored)), More: next != ""}
	for i, s := range stored {
		out.Items[i] = session{
			SessionID: s.ID, Context: s.Context, Title: secret.Redact(untrusted.OneLine(s.Title)), Status: string(s.Status),
			MessageCount: s.MessageCount, LastMessageAt: formatted(s.LastMessageAt),
			Messages: messagesPrefix + url.QueryEscape(s.ID) + messagesSuffix,
		}
		if s.Summary != nil && !secret.Has(s.Summary.Text) {
			out.Items[i].Summary, _ = shown(s.Summary.Text)
		}
	}
	return out, nil
}

func (h *handler) readMessages(ctx context.Context, c Caller, uri string) (any, error) {
	escaped := strings.TrimSuffix(strings.TrimPrefix(uri, messagesPrefix), messagesSuffix)
	id, err := url.PathUnescape(escaped)
	if err != nil || !conversation.ValidID(id) {
		return nil, fault.Missing("session")
	}
	stored, next, err := h.Messages.Messages(ctx, c.User, id, conversation.Page{Limit: maxMessages, Descending: true})
	if err != nil {
		return nil, err
	}
	stored = secret.Without(stored, func(m conversation.Message) string { return m.Content })
	out := items[message]{Notice: notice, Items: make([]message, len(stored)), More: next != ""}
	for i, m := range stored {
		text, isCut := shown(m.Content)
		out.Items[len(stored)-1-i] = message{
			MessageID: m.ID, Seq: m.Seq, Role: string(m.Role), Content: text, Truncated: isCut,
			Timestamp: conversation.FormatTime(m.Timestamp),
		}
	}
	return out, nil
}

func (h *handler) readSummary(ctx context.Context, c Caller, _ string) (any, error) {
	stored, err := h.Summary.Get(ctx, c.User)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	return userSummary{
		Notice: notice, Patterns: cleaned(stored.Patterns), Wins: cleaned(stored.Wins), Struggles: cleaned(stored.Struggles),
		UpdatedAt: formatted(stored.LastUpdated),
	}, nil
}

// cleaned returns the texts that have no secret, as an answer has them.
func cleaned(texts []string) []string {
	texts = secret.Without(texts, untrusted.Clean)
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = untrusted.Clean(text)
	}
	return out
}
