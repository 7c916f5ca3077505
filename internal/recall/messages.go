package recall

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// The defaults and bounds of a recall (api 4).
const (
	DefaultMessages = 10
	MaxMessages     = 100
	maxTokens       = 1_000_000
)

// The table's newest messages are what a recall is left with when the index does not answer: so many pages.
const (
	fallbackPages = 3
	pageLength    = 200
)

// MessageQuery is the body of POST /v1/recall (api 4).
type MessageQuery struct {
	Query string `json:"query"`
	// SessionID is where the asker stands: its messages may be found whatever the preferences say of others.
	SessionID        string `json:"sessionId,omitempty"`
	ExcludeSessionID string `json:"excludeSessionId,omitempty"`
	// Contexts, From and To limit what is found; From is inclusive, To is not.
	Contexts []string  `json:"contexts,omitempty"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	// Limit is 1 to 100; 10 where it is not given, and 100 where Tokens bounds the answer instead.
	Limit *int `json:"limit,omitempty"`
	// Tokens is how many tokens the messages' contents may have together.
	Tokens *int `json:"tokens,omitempty"`
}

// ScoredMessage is a message with its likeness to the query. In JSON it is the message of api 2 with a score. A
// check-in's note stands among them as what the user said, in the context "check_in": it has the check-in's id, and no
// session, coach or seq.
type ScoredMessage struct {
	conversation.Message
	Score float64
}

// MarshalJSON writes the message as api 4 has it.
func (m ScoredMessage) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		MessageID string         `json:"messageId"`
		Seq       int            `json:"seq"`
		SessionID string         `json:"sessionId"`
		Context   string         `json:"context"`
		CoachID   string         `json:"coachId"`
		AgentID   string         `json:"agentId,omitempty"`
		Role      string         `json:"role"`
		Content   string         `json:"content"`
		Timestamp string         `json:"timestamp"`
		Mode      string         `json:"mode"`
		Metadata  map[string]any `json:"metadata,omitempty"`
		Score     float64        `json:"score"`
	}{
		m.ID, m.Seq, m.SessionID, m.Context, m.CoachID, m.AgentID, string(m.Role), m.Content,
		conversation.FormatTime(m.Timestamp), m.Mode, m.Metadata, m.Score,
	})
}

// Messages is the answer to a recall, most relevant first.
type Messages struct {
	Messages []ScoredMessage `json:"messages"`
	Degraded []Degradation   `json:"degraded"`
}

// Messages returns the user's messages and check-in notes that are most relevant to a query, of every role and age
// unless limited; limits to contexts leave the notes out. When the embedding or the index does not answer, the newest
// messages are ranked by their words and the answer says so.
// Its errors are Invalid, with the fields, NotFound for an unknown SessionID, and the store's.
func (s *Service) Messages(ctx context.Context, user conversation.UserID, q MessageQuery) (Messages, error) {
	search, err := q.search()
	if err != nil {
		return Messages{}, err
	}
	found, from, err := s.search(ctx, user, search)
	if err != nil {
		return Messages{}, err
	}
	if len(found.Degraded) > 0 && !from.seesNothing() {
		if found.Hits, err = s.recent(ctx, user, from); err != nil {
			return Messages{}, err
		}
	}
	return Messages{Messages: q.fit(found.Hits), Degraded: reported(found.Degraded)}, nil
}

// fit takes hits, best first, while they fit the budget; one that does not makes room for those behind it.
func (q MessageQuery) fit(hits []Hit) []ScoredMessage {
	out := make([]ScoredMessage, 0, len(hits))
	used := 0
	for _, h := range hits {
		m := h.said()
		if q.Tokens != nil && used+m.Tokens > *q.Tokens {
			continue
		}
		used += m.Tokens
		out = append(out, ScoredMessage{m, h.Value()})
	}
	return out
}

// said is a message that was found, or a check-in's note as one.
func (h Hit) said() conversation.Message {
	if h.Message != nil {
		return *h.Message
	}
	return conversation.Message{
		ID: h.CheckIn.ID, Context: vector.CheckInRecord, Role: conversation.User, Content: h.CheckIn.Note,
		Tokens: h.CheckIn.Tokens, Timestamp: h.CheckIn.Timestamp,
	}
}

// recent ranks the newest messages that may be seen by their words.
func (s *Service) recent(ctx context.Context, user conversation.UserID, from view) ([]Hit, error) {
	var hits []Hit
	var texts []string
	page := conversation.Page{Limit: pageLength, Descending: true}
	for range fallbackPages {
		messages, next, err := s.store.Timeline(ctx, user, from.span(), page)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			if h := (Hit{ID: m.ID, Message: &m}); from.sees(h) {
				hits, texts = append(hits, h), append(texts, messageText(m, m.Content, ""))
			}
		}
		if page.After = next; next == "" {
			break
		}
	}
	for i, score := range lexical(from.Text, texts) {
		hits[i].Score = score
	}
	hits = ranked(slices.DeleteFunc(hits, func(h Hit) bool { return h.Score == 0 }))
	return hits[:min(len(hits), from.Limit)], nil
}

// span is the part of the timeline that the search is about.
func (v view) span() conversation.Range {
	r := conversation.Range{From: v.From, To: v.To}
	if len(v.Contexts) == 1 {
		r.Context = v.Contexts[0]
	}
	return r
}

// search turns the query into a search of messages, or says what is wrong with it.
func (q MessageQuery) search() (Search, error) {
	limit := DefaultMessages
	var wrong []fault.Field
	if strings.TrimSpace(q.Query) == "" {
		wrong = append(wrong, fault.Field{Field: "query", Message: "must be a text to search for"})
	}
	if q.Tokens != nil {
		limit = MaxMessages
		wrong = append(wrong, outside("tokens", *q.Tokens, maxTokens)...)
	}
	if q.Limit != nil {
		limit = *q.Limit
		wrong = append(wrong, outside("limit", limit, MaxMessages)...)
	}
	for i, c := range q.Contexts {
		if _, err := conversation.SurfaceOf(c); err != nil {
			wrong = append(wrong, fault.Field{Field: fmt.Sprintf("contexts[%d]", i), Message: fault.From(err).Fields[0].Message})
		}
	}
	if !q.To.IsZero() && q.To.Before(q.From) {
		wrong = append(wrong, fault.Field{Field: "to", Message: "must not lie before from"})
	}
	wrong = append(wrong, badID("sessionId", q.SessionID)...)
	wrong = append(wrong, badID("excludeSessionId", q.ExcludeSessionID)...)
	if len(wrong) > 0 {
		return Search{}, fault.InvalidFields(wrong...)
	}
	return Search{
		Text: q.Query, RecordTypes: []string{vector.MessageRecord, vector.CheckInRecord}, Limit: limit, Rerank: true, Widely: true,
		SessionID: q.SessionID, ExcludeSessionID: q.ExcludeSessionID, Contexts: q.Contexts, From: q.From, To: q.To,
	}, nil
}
