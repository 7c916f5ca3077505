package adk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"google.golang.org/adk/v2/memory"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	throughline "github.com/throughline/throughline/clients/go"
)

// Memory is a memory.Service: everything that a user has said on any screen, and what is known of the user. It is safe
// for concurrent use.
type Memory struct{ sessions *Sessions }

var _ memory.Service = (*Memory)(nil)

// NewMemory returns the memory. Context and CoachID are needed where sessions of another service are added.
func NewMemory(o Options) *Memory { return &Memory{NewSessions(o)} }

// The messages in one call, each of which is two records by its clientMessageId, and their size in bytes. The API takes
// 98 records and 1 MiB.
const (
	mostMessages = 49
	mostBytes    = 1_000_000
)

// AddSessionToMemory stores the events of a session that another service keeps. Events that are stored already are not
// stored again. Those of Sessions are in the memory from the moment that they are appended.
func (m *Memory) AddSessionToMemory(ctx context.Context, s session.Session) error {
	if _, ok := s.(*Session); ok {
		return nil
	}
	create := &session.CreateRequest{AppName: s.AppName(), UserID: s.UserID(), SessionID: s.ID()}
	if _, err := m.sessions.Create(ctx, create); err != nil && !isStatus(err, http.StatusConflict) {
		return err
	}
	client, id := m.sessions.as(s.AppName(), s.UserID()), throughline.EncodeSessionID(s.ID())
	var batch []throughline.NewMessage
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if _, err := client.AppendMessages(ctx, id, throughline.NewMessages{Messages: batch}); err != nil {
			return fmt.Errorf("add session %s: %w", s.ID(), err)
		}
		batch, size = nil, 0
		return nil
	}
	for event := range s.Events().All() {
		message, err := toMessage(withoutTemp(event))
		if err != nil {
			return err
		}
		bytes := len(message.Content)
		for _, part := range message.Parts {
			text, _ := part.Data.(string)
			bytes += 2 * len(text)
		}
		if len(batch) == mostMessages || size+bytes > mostBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, size = append(batch, message), size+bytes
	}
	return flush()
}

// What is younger than unindexed may not be found by a search yet, so that the newest messages are read, too.
const (
	unindexed = time.Minute
	newest    = 20
)

// SearchMemory returns what is most relevant of the messages, summaries and facts of the user, on every screen. What
// was said in the last minute comes after it, because a message can be found some seconds after it was stored. While
// the memory is down it returns nothing and logs a warning, so that the agent answers without it.
func (m *Memory) SearchMemory(ctx context.Context, r *memory.SearchRequest) (*memory.SearchResponse, error) {
	if r.Query == "" {
		return &memory.SearchResponse{Memories: []memory.Entry{}}, nil
	}
	patient, cancel := context.WithTimeout(ctx, cmp.Or(m.sessions.Timeout, 1500*time.Millisecond))
	defer cancel()
	out, err := m.search(patient, r)
	if err != nil && ctx.Err() == nil && isOutage(err) {
		slog.WarnContext(ctx, "the agent goes on without memory", "error", err)
		return &memory.SearchResponse{Memories: []memory.Entry{}}, nil
	}
	return out, err
}

// isOutage reports whether an error says that the memory is down or busy, and not that the app has made a mistake.
func isOutage(err error) bool {
	var problem *throughline.ProblemError
	var lost *throughline.LostAnswerError
	return errors.As(err, &lost) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &problem) && (problem.Status == http.StatusTooManyRequests || problem.Status >= 500)
}

func (m *Memory) search(ctx context.Context, r *memory.SearchRequest) (*memory.SearchResponse, error) {
	out := &memory.SearchResponse{Memories: []memory.Entry{}}
	client := m.sessions.as(r.AppName, r.UserID)
	found, err := client.Search(ctx, throughline.SearchBody{
		Query: r.Query, Kinds: []string{"message", "summary", "memory"},
	})
	if err != nil {
		return nil, fmt.Errorf("search memory: %w", err)
	}
	known := map[string]bool{}
	for i := range found.Items {
		known[found.Items[i].MessageID] = true
		out.Memories = append(out.Memories, entry(&found.Items[i]))
	}
	query := throughline.ListTimelineQuery{From: time.Now().Add(-unindexed), Limit: newest, Order: "desc"}
	recent, err := client.ListTimeline(ctx, query).Page("")
	if err != nil {
		return nil, fmt.Errorf("read the newest messages: %w", err)
	}
	for _, message := range recent.Items {
		if !known[message.MessageID] && message.Content != "" {
			out.Memories = append(out.Memories, entry(&throughline.FoundRecord{
				Kind: "message", MessageID: message.MessageID, Role: message.Role, Content: message.Content,
				Timestamp: message.Timestamp,
			}))
		}
	}
	return out, nil
}

func entry(found *throughline.FoundRecord) memory.Entry {
	at := found.Timestamp
	if at.IsZero() { // a summary has the time of its end
		at, _ = time.Parse(time.RFC3339, found.OccurredAt)
	}
	for _, other := range []time.Time{found.SaidAt, found.UpdatedAt, found.CreatedAt} {
		if at.IsZero() {
			at = other
		}
	}
	role := genai.Role(genai.RoleModel)
	if found.Role == authorUser {
		role = genai.RoleUser
	}
	return memory.Entry{
		ID:             cmp.Or(found.MessageID, found.ID, found.SessionID),
		Content:        genai.NewContentFromText(cmp.Or(found.Content, found.Text), role),
		Author:         cmp.Or(found.Role, found.Kind),
		Timestamp:      at,
		CustomMetadata: map[string]any{"kind": found.Kind, "score": found.Score},
	}
}
