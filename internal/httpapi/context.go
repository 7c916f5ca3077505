package httpapi

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/recall"
)

// Recaller finds what matters across contexts.
type Recaller interface {
	Query(ctx context.Context, user conversation.UserID, q recall.ContextQuery) (recall.Summaries, error)
	Messages(ctx context.Context, user conversation.UserID, q recall.MessageQuery) (recall.Messages, error)
}

type contextBody struct {
	Context     surfaceName  `json:"context" doc:"The surface on which the user stands."`
	CoachID     id           `json:"coachId,omitempty" doc:"Only summaries of sessions with this coach."`
	SessionID   id           `json:"sessionId,omitempty" doc:"Where the user stands: its own summary never comes."`
	Query       string       `json:"query,omitempty" maxLength:"8192" doc:"The newest come where it is absent."`
	RecordTypes []recordType `json:"recordTypes,omitempty" maxItems:"20" doc:"Those that the context's registry entry reads where absent."`
	Within      string       `json:"within,omitempty" minLength:"1" maxLength:"32" default:"48h" doc:"How old a summary may be: days, hours, minutes and seconds as 2d, 48h or 90m."`
	Limit       *int         `json:"limit,omitempty" minimum:"1" maximum:"10" default:"3"`
}

type recallBody struct {
	Query            string        `json:"query" minLength:"1" maxLength:"8192"`
	SessionID        id            `json:"sessionId,omitempty" doc:"Where the user stands: preferences decide what is seen from there."`
	ExcludeSessionID id            `json:"excludeSessionId,omitempty" doc:"Leaves this session's messages out."`
	Contexts         []surfaceName `json:"contexts,omitempty" maxItems:"50" doc:"Only messages of these contexts; check-in notes are of none."`
	From             *stamp        `json:"from,omitempty" doc:"The first time that counts."`
	To               *stamp        `json:"to,omitempty" doc:"The first time that no longer counts."`
	Limit            *int          `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"10 where absent; bounded by tokens alone where only those are given."`
	Tokens           *int          `json:"tokens,omitempty" minimum:"1" maximum:"1000000" doc:"As many messages as fit this budget."`
}

// recordType is a record type that some context writes.
type recordType string

// recalled is a message with its likeness to the query.
type recalled struct {
	MessageID string  `json:"messageId"`
	Seq       int     `json:"seq"`
	SessionID string  `json:"sessionId"`
	Context   string  `json:"context"`
	CoachID   string  `json:"coachId"`
	AgentID   string  `json:"agentId,omitempty"`
	Role      string  `json:"role" enum:"user,assistant,system"`
	Content   string  `json:"content"`
	Timestamp stamp   `json:"timestamp"`
	Mode      string  `json:"mode"`
	Metadata  object  `json:"metadata,omitempty"`
	Score     float64 `json:"score" doc:"Likeness to the query; the higher the more relevant."`
}

type recallAnswer struct {
	Messages []recalled           `json:"messages" doc:"The most relevant first."`
	Degraded []recall.Degradation `json:"degraded" doc:"The sources that did not answer."`
}

// contexts serves the context query and the recall.
type contexts struct {
	*server
	recaller Recaller
}

func (s contexts) register() {
	const tag = "Context"
	register(s.server, operation{
		method: http.MethodPost, path: "/v1/context/query", id: "queryContext", tag: tag,
		summary: "Query summaries across contexts", errors: []int{http.StatusNotFound},
		detail: "What the user's other sessions came to, most relevant to the query first. A sessionId that this user does not have is not found.",
	}, s.query)
	register(s.server, operation{
		method: http.MethodPost, path: "/v1/recall", id: "recall", tag: tag, summary: "Recall messages",
		errors: []int{http.StatusNotFound},
		detail: "Messages of this user, of every role and age unless limited, most relevant to the query first. A " +
			"check-in's note is among them as what the user said, in the context check_in and in no session.",
	}, s.recall)
}

func (s contexts) query(ctx context.Context, c Caller, in *docInput[contextBody]) (*docOutput[recall.Summaries], error) {
	b := in.Body
	found, err := s.recaller.Query(ctx, c.User, recall.ContextQuery{
		Context: string(b.Context), CoachID: string(b.CoachID), SessionID: string(b.SessionID), Query: b.Query,
		RecordTypes: texts(b.RecordTypes), Within: b.Within, Limit: b.Limit,
	})
	if err != nil {
		return nil, err
	}
	return &docOutput[recall.Summaries]{Body: found}, nil
}

func (s contexts) recall(ctx context.Context, c Caller, in *docInput[recallBody]) (*docOutput[recallAnswer], error) {
	b := in.Body
	if err := wrongOr(b.From.check("from"), b.To.check("to"), b.checkSpan()); err != nil {
		return nil, err
	}
	found, err := s.recaller.Messages(ctx, c.User, recall.MessageQuery{
		Query: b.Query, SessionID: string(b.SessionID), ExcludeSessionID: string(b.ExcludeSessionID),
		Contexts: texts(b.Contexts), From: sent(b.From), To: sent(b.To), Limit: b.Limit, Tokens: b.Tokens,
	})
	if err != nil {
		return nil, err
	}
	out := recallAnswer{Messages: make([]recalled, len(found.Messages)), Degraded: found.Degraded}
	for i, m := range found.Messages {
		v := viewMessage(m.Message)
		out.Messages[i] = recalled{
			v.MessageID, v.Seq, v.SessionID, v.Context, v.CoachID, v.AgentID, v.Role, v.Content, v.Timestamp, v.Mode,
			v.Metadata, m.Score,
		}
	}
	return &docOutput[recallAnswer]{Body: out}, nil
}

func (b recallBody) checkSpan() []fault.Field {
	if b.From == nil || b.To == nil || !b.To.time().Before(b.From.time()) {
		return nil
	}
	return []fault.Field{{Field: "to", Message: "lies before from"}}
}

// texts are named texts as plain ones.
func texts[T ~string](named []T) []string {
	if named == nil {
		return nil
	}
	out := make([]string, len(named))
	for i, t := range named {
		out[i] = string(t)
	}
	return out
}
