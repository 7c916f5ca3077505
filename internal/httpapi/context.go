package httpapi

import (
	"context"
	"net/http"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/recall"
)

// Recaller finds summaries, messages and memories across contexts.
type Recaller interface {
	Query(ctx context.Context, user conversation.UserID, q recall.ContextQuery) (recall.Summaries, error)
	Messages(ctx context.Context, user conversation.UserID, q recall.MessageQuery) (recall.Records, error)
	Searcher
}

// Searcher finds memories, documents, and records of all kinds in one order.
type Searcher interface {
	Memories(ctx context.Context, user conversation.UserID, q recall.MemoryQuery) (recall.Records, error)
	Records(ctx context.Context, user conversation.UserID, q recall.RecordQuery) (recall.Records, error)
	Documents(ctx context.Context, user conversation.UserID, q recall.DocumentQuery) (recall.Records, error)
}

type contextBody struct {
	Context     contextName  `json:"context" doc:"The context that the user is in."`
	CoachID     id           `json:"coachId,omitempty" doc:"Only sessions with this coach."`
	SessionID   id           `json:"sessionId,omitempty" doc:"The current session, which is left out."`
	Query       string       `json:"query,omitempty" maxLength:"8192" doc:"Default: the newest summaries."`
	RecordTypes []recordType `json:"recordTypes,omitempty" maxItems:"20" doc:"Default: those that the context reads."`
	Within      age          `json:"within,omitempty" default:"48h"`
	Limit       *int         `json:"limit,omitempty" minimum:"1" maximum:"10" default:"3" doc:"The greatest number of items."`
	Filter      filter       `json:"filter,omitempty"`
}

type recallBody struct {
	Query            searchText `json:"query" doc:"The text to search for."`
	SessionID        id         `json:"sessionId,omitempty" doc:"The current session."`
	ExcludeSessionID id         `json:"excludeSessionId,omitempty" doc:"Leaves this session out."`
	SearchLimits
}

// SearchLimits limit what a search finds. It is exported so that huma finds its fields where it is embedded.
type SearchLimits struct {
	Contexts []contextName `json:"contexts,omitempty" maxItems:"50" doc:"Only these. Memories and check-ins have none."`
	From     *timestamp    `json:"from,omitempty" from:"-" doc:"The earliest time."`
	To       *timestamp    `json:"to,omitempty" from:"-" doc:"The first time after the span."`
	Limit    *int          `json:"limit,omitempty" minimum:"1" maximum:"100" doc:"Default: 10 without tokens."`
	Tokens   *int          `json:"tokens,omitempty" minimum:"1" maximum:"1000000" doc:"The budget for all."`
}

// query returns the query of a body that has these limits, or an error for a span that ends before it begins.
func (l SearchLimits) query(body any) (recall.MessageQuery, error) {
	q := filled[recall.MessageQuery](body)
	q.From, q.To = exactTime(l.From), exactTime(l.To)
	return q, checkSpan(q.From, q.To)
}

// recalled is a message and its score.
type recalled struct {
	Message
	Score float64 `json:"score" doc:"The estimated probability that the message helps to answer the query."`
}

// RecallAnswer is the answer of POST /v1/recall, and of a recall by direct invocation.
type RecallAnswer struct {
	Messages []recalled           `json:"messages" doc:"The most relevant first."`
	Degraded []recall.Degradation `json:"degraded" doc:"The sources that did not answer."`
}

// Recalled returns the answer with the messages that were found.
func Recalled(found recall.Records) RecallAnswer {
	scored := func(r recall.Record) recalled { return recalled{shown[Message](*r.Message), r.Score} }
	messages, degraded := fittingFound(converted(found.Records, scored), found.Degraded)
	return RecallAnswer{Messages: messages, Degraded: degraded}
}

type memorySearchBody struct {
	Query        searchText   `json:"query" doc:"The text to search for."`
	Types        []memoryType `json:"types,omitempty" maxItems:"12" doc:"Only facts of these types."`
	Limit        *int         `json:"limit,omitempty" minimum:"1" maximum:"100" default:"10" doc:"The greatest number of items."`
	AsOf         *timestamp   `json:"asOf,omitempty" doc:"What was known and held at that time. Default: now."`
	IncludeEnded bool         `json:"includeEnded,omitempty" doc:"Facts that held no longer, too."`
}

// foundMemory is a memory and its score.
type foundMemory struct {
	Memory
	Score float64 `json:"score" doc:"What the order follows, from 0 to 1. Compare it within one answer."`
}

type memorySearchAnswer struct {
	Items    []foundMemory        `json:"items" doc:"The most relevant first."`
	Degraded []recall.Degradation `json:"degraded" doc:"The sources that did not answer."`
}

// contexts serves /v1/context/query, /v1/recall, /v1/search and /v1/memories/search.
type contexts struct {
	*server
	recaller Recaller
}

func (s contexts) register() {
	const tag = "Context"
	registerDoc(s.server, op("POST /v1/context/query", "queryContext", tag, "Query summaries across contexts",
		"Summaries of the user's other sessions, the most relevant to the query first. A sessionId that this "+
			"user does not have is not found.",
	).or(http.StatusNotFound), s.query)
	registerDoc(s.server, op("POST /v1/recall", "recall", tag, "Recall messages",
		"Messages of this user, of every role and age unless limited, the most relevant to the query first. A "+
			"check-in's note counts as a message of the user in the context check_in, without a session.",
	).or(http.StatusNotFound), s.recall)
	registerDoc(s.server, op("POST /v1/memories/search", "searchMemories", longTermTag, "Search memories",
		"The facts about this user that are most relevant to the query, by the ranking of recall. asOf asks what "+
			"was known and held at a time. Extracted facts are left out while memory is off.",
	), s.searchMemories)
	registerDoc(s.server, op("POST /v1/search", "search", tag, "Search everything",
		"Messages, summaries and memories in one order, the most relevant to the query first. Each item has its "+
			"kind, its score and the fields of a message, a summary or a memory. A check-in's note counts as a message.",
	), s.search)
}

func (s contexts) query(ctx context.Context, c Caller, in *docInput[contextBody]) (recall.Summaries, error) {
	return s.recaller.Query(ctx, c.User, filled[recall.ContextQuery](in.Body))
}

func (s contexts) recall(ctx context.Context, c Caller, in *docInput[recallBody]) (RecallAnswer, error) {
	q, err := in.Body.query(in.Body)
	if err != nil {
		return RecallAnswer{}, err
	}
	found, err := s.recaller.Messages(ctx, c.User, q)
	return Recalled(found), err
}

func (s contexts) searchMemories(
	ctx context.Context, c Caller, in *docInput[memorySearchBody],
) (memorySearchAnswer, error) {
	q := filled[recall.MemoryQuery](in.Body)
	q.AsOf = exactTime(in.Body.AsOf)
	found, err := s.recaller.Memories(ctx, c.User, q)
	scored := func(r recall.Record) foundMemory { return foundMemory{shown[Memory](*r.Memory), r.Score} }
	items, degraded := fittingFound(converted(found.Records, scored), found.Degraded)
	return memorySearchAnswer{Items: items, Degraded: degraded}, err
}
