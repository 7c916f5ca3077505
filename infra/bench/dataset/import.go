package dataset

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/conversation"
)

// Coach is the coach of all sessions.
const Coach = "coach"

// perCall is how many messages one call appends.
const perCall = 20

// Import imports a conversation as one user, who is named by the conversation's id, and returns the ids that its
// messages have got, by their ids in the file. In the end the user leaves the last session. Importing the same
// conversation again changes nothing: every call carries an idempotency key.
func Import(ctx context.Context, api *client.Client, c Conversation) (ids map[string]string, err error) {
	if api, err = api.As(ctx, c.ID); err != nil {
		return nil, err
	}
	ids = make(map[string]string, c.Messages())
	for _, s := range c.Sessions {
		if err := importSession(ctx, api, s, ids); err != nil {
			return nil, fmt.Errorf("import %s of %s: %w", s.ID, c.ID, err)
		}
	}
	last := c.Sessions[len(c.Sessions)-1].ID
	return ids, api.Do(ctx, http.MethodPost, "/v1/sessions/"+last+"/leave", nil, nil)
}

// Open opens a session in a context.
func Open(ctx context.Context, api *client.Client, appContext, session string) error {
	return api.Open(ctx, appContext, Coach, session, client.Key(session))
}

func importSession(ctx context.Context, api *client.Client, s Session, ids map[string]string) error {
	if err := Open(ctx, api, s.Context, s.ID); err != nil {
		return err
	}
	from := 0
	for messages := range slices.Chunk(s.Messages, perCall) {
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
		from += len(messages)
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

// Settle waits until everything that was imported is summarised and indexed. It is an error when the time is over
// first.
func Settle(ctx context.Context, api *client.Client, limit time.Duration) error {
	for end := time.Now().Add(limit); ; {
		var s struct {
			Settled bool
			Pending int
		}
		part := min(time.Until(end), time.Minute) // the client gives one call three minutes
		err := api.Do(ctx, http.MethodPost, "/dev/settle", map[string]any{"timeoutMs": part.Milliseconds()}, &s)
		if err != nil {
			return fmt.Errorf("settle: %w", err)
		}
		if s.Settled {
			return nil
		}
		if time.Until(end) < time.Second {
			return fmt.Errorf("%d records are still not indexed after %v", s.Pending, limit)
		}
	}
}
