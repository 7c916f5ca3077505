package httpapi_test

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	appdata "github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/provider"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/recall"
)

// fakePrompts builds the same prompt for every request and remembers the request.
type fakePrompts struct {
	got  prompt.Request
	user conversation.UserID
}

func (l *fakePrompts) Build(_ context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error) {
	l.user, l.got = user, r
	if r.SessionID == "gone" {
		return prompt.Prompt{}, fault.Missing("session")
	}
	built := prompt.Prompt{
		ID: "prm_1", SessionID: r.SessionID, Recipe: "unified", System: "You are a coach.",
		Messages: []prompt.Message{{Role: "user", Content: r.Message}},
		Tools:    []llm.Tool{{Name: "search_conversations", Description: "d", Parameters: []byte(`{"type":"object"}`)}},
		Tokens:   prompt.Tokens{Total: 10, Budget: 4000}, Manifest: manifest(),
	}
	built.Forms = provider.New(r.Format, built.ModelMessages(), built.Tools)
	return built, nil
}

func manifest() prompt.Manifest {
	return prompt.Manifest{
		Blocks: []prompt.Block{{Name: "role", Tokens: 4, Chars: 16, Cap: "150 tokens", Items: []prompt.Item{
			{Kind: "role", ID: "r", Tokens: 4, Decision: pack.Included, Reason: "always"},
		}}},
		Degraded: []recall.Degradation{
			{Source: "profile", Reason: "missing"},
		}, Warnings: []string{}, Timings: map[string]float64{"records": 1.5},
	}
}

func (l *fakePrompts) Get(_ context.Context, user conversation.UserID, id string) (prompt.Record, error) {
	if user != "ann" || id != "prm_1" {
		return prompt.Record{}, fault.Missing("prompt")
	}
	m, system := manifest(), "You are a coach."
	r := l.record()
	r.Manifest, r.System, r.Text = &m, &system, system
	r.Messages = []prompt.Message{{Role: "system", Content: system}}
	return r, nil
}

func (l *fakePrompts) record() prompt.Record {
	return prompt.Record{
		ID: "prm_1", SessionID: "s1", Recipe: "unified", CreatedAt: conversation.FormatTime(noon()),
		ExpiresAt: conversation.FormatTime(
			noon().AddDate(0, 0, 7),
		), SHA256: "00", Tokens: prompt.Tokens{Total: 10, Budget: 4000},
	}
}

func (l *fakePrompts) List(
	_ context.Context, user conversation.UserID, sessionID string, page conversation.Page,
) ([]prompt.Record, conversation.Position, error) {
	if user != "ann" || (sessionID != "" && sessionID != "s1") {
		return nil, "", nil
	}
	return paged([]prompt.Record{l.record()}, page)
}

func (l *fakePrompts) ListFull(
	_ context.Context, user conversation.UserID, page conversation.Page,
) ([]prompt.Record, conversation.Position, error) {
	whole, err := l.Get(context.Background(), user, l.record().ID)
	if err != nil {
		return nil, "", nil //nolint:nilerr // another user's list is empty
	}
	return paged([]prompt.Record{whole}, page)
}

// usage is what every user has spent.
// held are what an export finds beside the lists.
type held []conversation.Held

func (h held) Held(context.Context, conversation.UserID, conversation.Page,
) ([]conversation.Held, conversation.Position, error) {
	return h, "", nil
}

type usage []conversation.DayUsage

func (u usage) Usage(context.Context, conversation.UserID) ([]conversation.DayUsage, error) {
	return u, nil
}

// fakeRecaller finds one summary, one message and one memory, and remembers the queries.
type fakeRecaller struct {
	query    recall.ContextQuery
	messages recall.MessageQuery
	memories recall.MemoryQuery
	records  recall.RecordQuery
	many     recall.Records // what the query "all" finds
}

// Records finds what the other methods do.
func (f *fakeRecaller) Records(
	ctx context.Context, user conversation.UserID, q recall.RecordQuery,
) (recall.Records, error) {
	f.records = q
	if q.Query == "all" {
		return f.many, nil
	}
	messages, _ := f.Messages(ctx, user, recall.MessageQuery{})
	summaries, _ := f.Query(ctx, user, recall.ContextQuery{})
	memories, _ := f.Memories(ctx, user, recall.MemoryQuery{})
	documents, _ := f.Documents(ctx, user, recall.DocumentQuery{})
	return recall.Records{
		Records: []recall.Record{
			{Score: 0.75, Message: messages.Records[0].Message},
			{Score: 0.5, Summary: &summaries.Summaries[0]},
			{Score: 0.25, Memory: memories.Records[0].Memory},
			{Score: 0.125, Document: documents.Records[0].Document},
		},
		Degraded: messages.Degraded,
	}, nil
}

// Documents finds one document, which has the query.
func (f *fakeRecaller) Documents(_ context.Context, _ conversation.UserID, q recall.DocumentQuery,
) (recall.Records, error) {
	return recall.Records{
		Records: []recall.Record{{Document: &appdata.Document{
			Namespace: appdata.Namespace{"a"}, Key: "k", Value: []byte(`{"query":"` + q.Query + `"}`),
			CreatedAt: noon(), UpdatedAt: noon(),
		}, Score: 0.5}},
		Degraded: []recall.Degradation{{Source: "pinecone", Reason: "x"}},
	}, nil
}

func (f *fakeRecaller) Memories(
	_ context.Context, _ conversation.UserID, q recall.MemoryQuery,
) (recall.Records, error) {
	f.memories = q
	return recall.Records{
		Records: []recall.Record{{Memory: &longterm.Memory{
			ID: "memory_1", Type: longterm.ProfileMemory, Content: "x", Source: longterm.Seeded, CreatedAt: noon(),
			UpdatedAt: noon(),
		}, Score: 0.5}},
		Degraded: []recall.Degradation{},
	}, nil
}

func (f *fakeRecaller) Query(
	_ context.Context, _ conversation.UserID, q recall.ContextQuery,
) (recall.Summaries, error) {
	f.query = q
	return recall.Summaries{
		Summaries: []recall.SummaryHit{{
			RecordType: "conversation_summary", Context: "coach_conversation", SessionID: "s1", CoachID: "c1", Text: "t",
			OccurredAt: conversation.FormatTime(noon()), AgeLabel: "just now", Score: 0.5,
			Fields: map[string]any{"workoutName": "Fran"},
		}},
		Degraded: []recall.Degradation{},
	}, nil
}

func (f *fakeRecaller) Messages(
	_ context.Context, _ conversation.UserID, q recall.MessageQuery,
) (recall.Records, error) {
	f.messages = q
	if q.Query == "all" {
		return f.many, nil
	}
	return recall.Records{
		Records: []recall.Record{{Message: &conversation.Message{
			ID: "m1", Seq: 1, SessionID: "s1", Context: "coach_conversation", CoachID: "c1", Role: conversation.RoleUser,
			Content:   "x",
			Timestamp: noon(), Mode: "chat",
		}, Score: 1}},
		Degraded: []recall.Degradation{{Source: "pinecone", Reason: "is not available at the moment"}},
	}, nil
}

// spines are the spines of every user, with the user's preferences, or an error.
type spines struct {
	preferences longterm.Preferences
	fail        error
}

func (s spines) Spines(context.Context, conversation.UserID) ([]longterm.Spine, longterm.Preferences, error) {
	return []longterm.Spine{{
		CoachID: "c1", Text: "so far", Wins: []string{"ran"}, Contexts: []string{"workout_log"}, CoveredTo: noon(),
	}}, s.preferences, s.fail
}

// Today is a quota that is half spent.
func (u usage) Today(context.Context, conversation.UserID) (conversation.Quota, error) {
	return conversation.Quota{Used: 500, Limit: 1000, ResetsAt: noon().Add(12 * time.Hour)}, nil
}

// noQuota is that of a table whose users have no quota.
type noQuota struct{}

func (noQuota) Today(context.Context, conversation.UserID) (conversation.Quota, error) {
	return conversation.Quota{ResetsAt: noon().Add(12 * time.Hour)}, nil
}
