package recall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/secret"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// The defaults and limits of a recall.
const (
	DefaultMessages = 10
	MaxMessages     = 100
	maxTokens       = 1_000_000
)

// When the index does not answer, a recall reads this many pages of the newest messages from the table.
const (
	fallbackPages = 3
	fallbackLimit = 200
)

// MessageQuery asks for the messages that help to answer a text. Its JSON is the body of POST /v1/recall.
type MessageQuery struct {
	Query string `json:"query"`
	// SessionID is the session that asks. Its own messages may be found whatever the preferences say about others. Those
	// that are secret to it are left out. Without it, the app's server asks and finds all.
	SessionID        string `json:"sessionId,omitempty"`
	ExcludeSessionID string `json:"excludeSessionId,omitempty"`
	// Contexts, From and To limit what is found; From is inclusive, To is exclusive.
	Contexts []string  `json:"contexts,omitempty"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	// Limit is 1 to 100. Without it the limit is 10, or 100 where Tokens is given.
	Limit *int `json:"limit,omitempty"`
	// Tokens is the maximum number of tokens in the texts of all records together. Records are taken by their value for
	// their tokens.
	Tokens *int `json:"tokens,omitempty"`
}

// Messages returns the user's messages and check-in notes that are most relevant to a query, of every role and age
// unless the query limits them. A limit to contexts leaves out the notes. When the embedding or the index does not
// answer, the newest messages are ranked by their words and the answer is degraded.
// Its errors are Invalid, with the fields, NotFound for an unknown SessionID, and those of the store.
func (s *Service) Messages(ctx context.Context, user conversation.UserID, q MessageQuery) (Records, error) {
	search, err := q.search()
	if err != nil {
		return Records{}, err
	}
	found, visible, err := s.search(ctx, user, search)
	if err != nil {
		return Records{}, err
	}
	if len(found.Degraded) > 0 && !visible.allowsNothing() {
		if found.Hits, err = s.newestMessages(ctx, user, visible); err != nil {
			return Records{}, err
		}
	}
	return visible.answer(fit(found.Hits, q.Tokens), visible.degradations(found.Degraded)), nil
}

// fit takes the hits that fit a token budget, if there is one. The budget is filled by what hits are worth for their
// tokens, so that one of 900 tokens does not keep out ten of 20 that are nearly as likely. The hits stay in their
// order, best first.
func fit(hits []Hit, budget *int) []Hit {
	if budget == nil {
		return hits
	}
	order := make([]int, len(hits))
	for i := range order {
		order[i] = i
	}
	value := func(i int) float64 { return rank.Value(hits[i].Value(), hits[i].tokens()) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value(b), value(a)) })
	taken, used := order[:0], 0
	for _, i := range order {
		if tokens := hits[i].tokens(); used+tokens <= *budget {
			used += tokens
			taken = append(taken, i)
		}
	}
	slices.Sort(taken)
	out := make([]Hit, len(taken))
	for n, i := range taken {
		out[n] = hits[i]
	}
	return out
}

// message is the message that was found, or the note of a check-in as a message.
func (h Hit) message() conversation.Message {
	if h.Message != nil {
		return *h.Message
	}
	return conversation.Message{
		ID: h.CheckIn.ID, Context: vector.CheckInRecord, Role: conversation.RoleUser, Content: h.CheckIn.Note,
		Tokens: h.CheckIn.Tokens, Timestamp: h.CheckIn.Timestamp,
	}
}

// IsSecretTo reports whether a message, or a note as one, has a secret that was given outside a session.
func IsSecretTo(sessionID string, m conversation.Message) bool {
	return m.SessionID != sessionID && secret.HasStored(m.Content, m.CleanBy)
}

// newestMessages ranks the newest messages that may be seen, without the index. The words that a message shares with
// the query replace both likenesses. A message that shares none is left out.
func (s *Service) newestMessages(ctx context.Context, user conversation.UserID, visible visibility) ([]Hit, error) {
	var hits []Hit
	page := conversation.Page{Limit: fallbackLimit, Descending: true}
	for range fallbackPages {
		messages, next, err := s.store.Timeline(ctx, user, visible.timeRange(), page)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			if h := (Hit{ID: m.ID, Message: &m}); visible.allows(h) {
				text := truncate.Bytes(vector.MessageText(m, m.Content, ""), vector.MaxEmbeddedBytes)
				h.Score = visible.sparse.Dot(vector.Encode(text))
				hits = append(hits, h)
			}
		}
		if page.After = next; next == "" {
			break
		}
	}
	found := slices.DeleteFunc(s.rankHits(hits, visible.asked), func(h Hit) bool { return h.Score <= 0 })
	return found[:min(len(found), visible.Limit)], nil
}

// timeRange is the part of the timeline that the search is about.
func (v visibility) timeRange() conversation.Range {
	r := conversation.Range{From: v.From, To: v.To}
	if len(v.Contexts) == 1 {
		r.Context = v.Contexts[0]
	}
	return r
}

// search converts the query to a search of messages, or returns an Invalid error.
func (q MessageQuery) search() (Search, error) {
	limit := DefaultMessages
	var wrong fault.Problems
	wrong.If(strings.TrimSpace(q.Query) == "", "query", "must be a text to search for")
	if q.Tokens != nil {
		limit = MaxMessages
		checkBound(&wrong, "tokens", *q.Tokens, maxTokens)
	}
	if q.Limit != nil {
		limit = *q.Limit
		checkBound(&wrong, "limit", limit, MaxMessages)
	}
	for i, c := range q.Contexts {
		if _, err := conversation.AppContextOf(c); err != nil {
			wrong.Add(fmt.Sprintf("contexts[%d]", i), fault.From(err).Fields[0].Message)
		}
	}
	wrong.If(!q.To.IsZero() && q.To.Before(q.From), "to", "must not lie before from")
	checkID(&wrong, "sessionId", q.SessionID)
	checkID(&wrong, "excludeSessionId", q.ExcludeSessionID)
	return Search{
		Text: q.Query, RecordTypes: []string{vector.MessageRecord, vector.CheckInRecord}, Limit: limit,
		Ranked: true, SessionID: q.SessionID, ExcludeSessionID: q.ExcludeSessionID,
		Contexts: q.Contexts, From: q.From, To: q.To, hidesSecrets: q.SessionID != "",
	}, wrong.Err()
}
