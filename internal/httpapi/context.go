package httpapi

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// Recaller finds summaries and messages across contexts.
type Recaller interface {
	Query(ctx context.Context, user conversation.UserID, q recall.ContextQuery) (recall.Summaries, error)
	Messages(ctx context.Context, user conversation.UserID, q recall.MessageQuery) (recall.Messages, error)
}

type contextBody struct {
	Context     contextName  `json:"context" doc:"The context that the user is in."`
	CoachID     id           `json:"coachId,omitempty" doc:"Only sessions with this coach."`
	SessionID   id           `json:"sessionId,omitempty" doc:"The current session, which is left out."`
	Query       string       `json:"query,omitempty" maxLength:"8192" doc:"Default: the newest summaries."`
	RecordTypes []recordType `json:"recordTypes,omitempty" maxItems:"20" doc:"Default: those that the context reads."`
	Within      age          `json:"within,omitempty" default:"48h"`
	Limit       *int         `json:"limit,omitempty" minimum:"1" maximum:"10" default:"3"`
	Filter      filter       `json:"filter,omitempty"`
}

type recallBody struct {
	Query            searchText    `json:"query"`
	SessionID        id            `json:"sessionId,omitempty" doc:"The current session."`
	ExcludeSessionID id            `json:"excludeSessionId,omitempty" doc:"Leaves this session out."`
	Contexts         []contextName `json:"contexts,omitempty" maxItems:"50" doc:"Only these contexts, and no check-ins."`
	From             *timestamp    `json:"from,omitempty" doc:"The earliest time."`
	To               *timestamp    `json:"to,omitempty" doc:"The first time after the span."`
	Limit            *int          `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"Default: 10 without tokens."`
	Tokens           *int          `json:"tokens,omitempty" minimum:"1" maximum:"1000000" doc:"The budget for all."`
}

// recalled is a message and its score.
type recalled struct {
	Message
	Score float64 `json:"score" doc:"The estimated probability that the message helps to answer the query."`
}

type recallAnswer struct {
	Messages []recalled           `json:"messages" doc:"The most relevant first."`
	Degraded []recall.Degradation `json:"degraded" doc:"The sources that did not answer."`
}

// contexts serves /v1/context/query and /v1/recall.
type contexts struct {
	*server
	recaller Recaller
}

func (s contexts) register() {
	const tag = "Context"
	register(s.server, operation{
		method: http.MethodPost, path: "/v1/context/query", id: "queryContext", tag: tag,
		summary: "Query summaries across contexts", errors: []int{http.StatusNotFound},
		detail: "Summaries of the user's other sessions, the most relevant to the query first. A sessionId that this " +
			"user does not have is not found.",
	}, s.query)
	register(s.server, operation{
		method: http.MethodPost, path: "/v1/recall", id: "recall", tag: tag, summary: "Recall messages",
		errors: []int{http.StatusNotFound},
		detail: "Messages of this user, of every role and age unless limited, the most relevant to the query first. A " +
			"check-in's note counts as a message of the user in the context check_in, without a session.",
	}, s.recall)
}

func (s contexts) query(
	ctx context.Context, c Caller, in *docInput[contextBody],
) (*docOutput[recall.Summaries], error) {
	b := in.Body
	found, err := s.recaller.Query(ctx, c.User, recall.ContextQuery{
		Context: string(b.Context), CoachID: string(b.CoachID), SessionID: string(b.SessionID), Query: b.Query,
		RecordTypes: toStrings(b.RecordTypes), Within: string(b.Within), Limit: b.Limit, Filter: b.Filter,
	})
	if err != nil {
		return nil, err
	}
	return &docOutput[recall.Summaries]{Body: found}, nil
}

func (s contexts) recall(ctx context.Context, c Caller, in *docInput[recallBody]) (*docOutput[recallAnswer], error) {
	b := in.Body
	from, to := exactTime(b.From), exactTime(b.To)
	if err := invalidFields(b.From.check("from"), b.To.check("to"), checkSpan(from, to)); err != nil {
		return nil, err
	}
	found, err := s.recaller.Messages(ctx, c.User, recall.MessageQuery{
		Query: string(b.Query), SessionID: string(b.SessionID), ExcludeSessionID: string(b.ExcludeSessionID),
		Contexts: toStrings(b.Contexts), From: from, To: to, Limit: b.Limit, Tokens: b.Tokens,
	})
	if err != nil {
		return nil, err
	}
	out := recallAnswer{Messages: make([]recalled, len(found.Messages)), Degraded: found.Degraded}
	for i, m := range found.Messages {
		out.Messages[i] = recalled{toMessage(m.Message), m.Score}
	}
	return &docOutput[recallAnswer]{Body: out}, nil
}
