package dataset

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/conversation"
)

// Coach is the coach of all imported sessions.
const Coach = "coach"

// Importer imports conversations, each as one user, who is named by the conversation's id.
type Importer struct {
	API *client.Client
	// PerCall is how many messages one call appends: 2 for turns of a chat, at most 50.
	PerCall int
	// Appended is called after each call, with its number of messages, and Ended after each session.
	Appended func(messages int)
	Ended    func()
}

// Import imports a conversation and returns the ids that its messages have got, by their ids in the file. In the end
// the user leaves the last session. Importing the same conversation again changes nothing: every call carries an
// idempotency key.
func (i Importer) Import(ctx context.Context, c Conversation) (ids map[string]string, err error) {
	api, err := i.API.As(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	ids = make(map[string]string, c.Messages())
	for _, s := range c.Sessions {
		if err := i.importSession(ctx, api, s, ids); err != nil {
			return nil, fmt.Errorf("import %s of %s: %w", s.ID, c.ID, err)
		}
		i.Ended()
	}
	last := c.Sessions[len(c.Sessions)-1].ID
	return ids, api.Do(ctx, http.MethodPost, "/v1/sessions/"+last+"/leave", nil, nil)
}

func (i Importer) importSession(ctx context.Context, api *client.Client, s Session, ids map[string]string) error {
	create := map[string]any{"context": s.Context, "coachId": Coach, "sessionId": s.ID}
	if err := api.Do(ctx, http.MethodPost, "/v1/sessions", create, nil, client.Key(s.ID)); err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	for from := 0; from < len(s.Messages); from += i.PerCall {
		messages := s.Messages[from:min(from+i.PerCall, len(s.Messages))]
		key := client.Key(fmt.Sprintf("%s-%d", s.ID, from))
		var answer struct {
			Messages []struct{ MessageID string }
		}
		if err := api.Do(ctx, http.MethodPost, "/v1/sessions/"+s.ID+"/messages", body(messages), &answer, key); err != nil {
			return fmt.Errorf("append %d messages after %d: %w", len(messages), from, err)
		}
		for n, m := range answer.Messages {
			ids[messages[n].ID] = m.MessageID
		}
		i.Appended(len(messages))
	}
	return nil
}

func body(messages []Message) map[string]any {
	out := make([]map[string]any, len(messages))
	for i, m := range messages {
		out[i] = map[string]any{
			"role": m.Role, "content": m.Content, "timestamp": conversation.FormatTime(m.Timestamp),
		}
	}
	return map[string]any{"messages": out}
}

// Summaries returns the summaries of a user's sessions by the sessions' ids.
func Summaries(ctx context.Context, api *client.Client, user string) (map[string]string, error) {
	api, err := api.As(ctx, user)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			SessionID string
			Summary   *struct{ Text string }
		}
	}
	if err := api.Do(ctx, http.MethodGet, "/v1/sessions?limit=200", nil, &list); err != nil {
		return nil, fmt.Errorf("list sessions of %s: %w", user, err)
	}
	out := map[string]string{}
	for _, s := range list.Items {
		if s.Summary != nil {
			out[s.SessionID] = s.Summary.Text
		}
	}
	return out, nil
}

// Settled says how far the background work of a stack is.
type Settled struct {
	Settled bool
	Records int
	Pending int
}

// Settle waits until everything that was imported is summarised and indexed, or the time is over.
func Settle(ctx context.Context, api *client.Client, limit time.Duration) (Settled, error) {
	var s Settled
	for end := time.Now().Add(limit); ; {
		part := min(time.Until(end), time.Minute) // the client gives one call three minutes
		err := api.Do(ctx, http.MethodPost, "/dev/settle", map[string]any{"timeoutMs": part.Milliseconds()}, &s)
		if err != nil {
			return s, fmt.Errorf("settle: %w", err)
		}
		if s.Settled || time.Until(end) < time.Second {
			return s, nil
		}
	}
}
