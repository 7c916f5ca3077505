package reindex_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/infra/reindex"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
	"github.com/throughline/throughline/internal/testing/pineconetest"
	"github.com/throughline/throughline/internal/vector"
)

var noKey conversation.Idempotency

// The indexes of a stage that moves, and their models.
const current, next = "current", "next"

var (
	dimensions = map[string]int{current: 4, next: 6}
	versions   = map[string]string{current: "small", next: "large"}
)

var errModel = errors.New("no embedding")

// model gives each text a vector of its own.
type model struct {
	dimensions int
	fails      string // it fails for texts that have this
	mu         sync.Mutex
	texts      int
}

func (m *model) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.texts += len(texts)
	out := make([][]float32, len(texts))
	for i, text := range texts {
		if m.fails != "" && strings.Contains(text, m.fails) {
			return nil, errModel
		}
		h := fnv.New32a()
		h.Write([]byte(text))
		out[i] = make([]float32, m.dimensions)
		out[i][int(h.Sum32()%uint32(m.dimensions))] = 1
	}
	return out, nil
}

// fixture is a table, two indexes of different dimensions, and the services of the functions. They know of the next
// index from announce on.
type fixture struct {
	*dynamotest.Clock
	t        *testing.T
	table    string
	store    dynamotest.Stores
	db       *dynamo.DB
	indexes  map[string]*pinecone.Index
	nextHost string
	models   map[string]*model
	indexer  *indexing.Indexer
	messages *indexing.Service
	sweeper  *erasure.Sweeper
	full     atomic.Bool // whether the next index takes no vector
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{Clock: dynamotest.NewClock(), t: t, table: dynamotest.Table(t)}
	s.db = dynamo.New(dynamodbtest.Client(t), s.table, s.Option())
	s.store = dynamotest.StoresOf(s.db)
	s.nextHost = pineconetest.Host(t, dimensions[next], s.refuse)
	s.indexes = map[string]*pinecone.Index{
		current: pineconetest.Client(t, dimensions[current]), next: pineconetest.Dial(t, s.nextHost, 0),
	}
	s.models = map[string]*model{}
	for name, n := range dimensions {
		s.models[name] = &model{dimensions: n}
	}
	s.use(vector.Indexes{Serving: s.held(current)})
	return s
}

// held returns an index with its model.
func (s *fixture) held(name string) vector.Held {
	return vector.Held{Index: s.indexes[name], Model: vector.Model{Embedder: s.models[name], Version: versions[name]}}
}

// use makes the services of the functions on these indexes.
func (s *fixture) use(indexes vector.Indexes) {
	s.indexer = indexing.NewIndexer(indexes.All()...)
	s.messages = indexing.New(s.store.Indexing, s.indexer, s.Time)
	s.sweeper = erasure.NewSweeper(s.store.Erasure(indexes, s.Time), s.messages)
}

// announce gives the functions the next index.
func (s *fixture) announce() {
	besides := s.held(next)
	s.use(vector.Indexes{Serving: s.held(current), Besides: &besides})
}

// refuse is between the clients and the next index.
func (s *fixture) refuse(ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if s.full.Load() && info.FullMethod == "/VectorService/Upsert" {
		return nil, status.Error(codes.PermissionDenied, "You've reached the max storage allowed for project x.")
	}
	return next(ctx, r)
}

// deps are those of a reindex.
func (s *fixture) deps() reindex.Deps {
	return reindex.Deps{
		Store: reindex.NewTable(s.db, dynamodbtest.Client(s.t)), Messages: s.store.Indexing, Next: s.held(next),
		To: next, Dimensions: dimensions[next],
		WriteUnits: func(records []vector.Record, _ int) int64 { return int64(5 * len(records)) },
		Segments:   1, CountTokens: func(text string) int { return len(strings.Fields(text)) },
		Now: s.Time, Report: func(user conversation.UserID, err error) { s.t.Errorf("%s is left: %v", user, err) },
	}
}

// say appends a message to a session, which it creates if needed, and indexes what is missing.
func (s *fixture) say(user conversation.UserID, session, content string) conversation.Message {
	s.t.Helper()
	ctx := s.t.Context()
	in := conversation.NewSession{ID: session, Context: "coach_conversation", CoachID: "c"}
	if _, err := s.store.Sessions.Session(ctx, user, session); err != nil {
		_, err := s.store.Sessions.CreateSession(ctx, user, in, noKey)
		s.check(err)
	}
	a, err := s.store.Messages.Append(ctx, user, conversation.Append{
		SessionID: session, Messages: []conversation.NewMessage{{Role: conversation.RoleUser, Content: content}},
	})
	s.check(err)
	current, err := s.store.Sessions.Session(ctx, user, session)
	s.check(err)
	s.check(s.messages.Repair(ctx, user, current))
	return a.Messages[0]
}

func (s *fixture) summarize(user conversation.UserID, id, text string) {
	s.t.Helper()
	s.Advance(time.Second)
	session, err := s.store.Sessions.Session(s.t.Context(), user, id)
	s.check(err)
	sum := summary.Summary{
		RecordType: "conversation_summary", SubjectID: id, SessionID: id, Context: session.Context, CoachID: "c",
		Text: text, Kind: conversation.ByModel, CoveredThrough: session.LastSeq, CoveredAt: session.LastMessageAt,
		OccurredAt: session.LastMessageAt, UpdatedAt: s.Time(), Generation: session.Generation,
		SessionVersion: session.Version,
	}
	s.check(s.store.Summaries.SaveSummary(s.t.Context(), user, session, sum))
	s.check(s.indexer.IndexSummary(s.t.Context(), user, sum))
}

// remember creates a memory, or changes it if it has an id, and updates its vector as the stream does.
func (s *fixture) remember(user conversation.UserID, m longterm.Memory) longterm.Memory {
	s.t.Helper()
	ctx := s.t.Context()
	m.Type, m.Source = longterm.ProfileMemory, longterm.Seeded
	var err error
	if m.ID == "" {
		m, _, err = s.store.Memories.Create(ctx, user, m, noKey)
	} else {
		content, until := m.Content, m.ValidUntil
		m, err = s.store.Memories.Update(ctx, user, m.ID, func(stored *longterm.Memory) error {
			stored.Content, stored.ValidUntil = content, until
			return nil
		})
	}
	s.check(err)
	s.refresh(user, m.ID)
	return m
}

func (s *fixture) checkIn(user conversation.UserID, note string) {
	s.t.Helper()
	c, _, err := s.store.CheckIns.Create(s.t.Context(), user, longterm.CheckIn{Note: note, Timestamp: s.Time()}, noKey)
	s.check(err)
	s.refresh(user, c.ID)
}

// refresh updates the vector of a memory or check-in.
func (s *fixture) refresh(user conversation.UserID, id string) {
	s.t.Helper()
	change := conversation.Change{User: user, RecordID: id, Generation: s.generation(user)}
	_, err := s.messages.Consume(s.t.Context(), []conversation.Change{change})
	s.check(err)
}

func (s *fixture) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// populate gives a user two sessions, one with a long and a deleted message, a summary, memories and check-ins.
func (s *fixture) populate(user conversation.UserID) {
	s.t.Helper()
	who := string(user)
	s.say(user, "s1", who+" has a knee that hurts")
	gone := s.say(user, "s1", who+" says what is taken back")
	s.say(user, "s1", strings.Repeat(who+" tells a long story. ", 100))
	s.say(user, "s2", who+" plans a marathon")
	s.summarize(user, "s1", who+" talked of a knee")
	s.remember(user, longterm.Memory{Content: who + " is allergic to nuts"})
	old := s.remember(user, longterm.Memory{Content: who + " lives in Bonn"})
	old.ValidUntil = s.Time()
	s.Advance(time.Second)
	s.remember(user, old)
	s.checkIn(user, who+" slept well")
	s.checkIn(user, who+" slept badly")
	s.check(s.sweeper.DeleteMessage(s.t.Context(), user, "s1", gone.ID)) // and with it the summary
	s.summarize(user, "s2", who+" talked of a marathon")
}

// stored returns a metadata field of what an index has of a user's generation, by vector id.
func (s *fixture) stored(index string, user conversation.UserID, generation int64, field string) map[string]string {
	s.t.Helper()
	dense := slices.Repeat([]float32{1}, dimensions[index])
	matches, err := s.indexes[index].Query(s.t.Context(), user, generation, vector.Query{
		Dense: dense, TopK: 1000, Fields: []string{field},
	})
	s.check(err)
	out := map[string]string{}
	for _, m := range matches {
		out[m.ID], _ = m.Metadata[field].(string)
	}
	return out
}

// expected returns the texts of the vectors that a user should have, from the table.
func (s *fixture) expected(user conversation.UserID) (texts map[string]string, generation int64) {
	s.t.Helper()
	ctx := s.t.Context()
	store := reindex.NewTable(s.db, dynamodbtest.Client(s.t))
	texts = map[string]string{}
	page := reindex.Page{Next: "first"}
	for after := ""; page.Next != ""; after = page.Next {
		more, err := store.Records(ctx, user, after)
		s.check(err)
		more.Sessions, more.IDs = append(page.Sessions, more.Sessions...), append(page.IDs, more.IDs...)
		page = more
	}
	for _, session := range page.Sessions {
		messages, err := s.store.Indexing.MessagesAfter(ctx, user, session, conversation.Watermark{}, 1000)
		s.check(err)
		for _, m := range messages {
			rest := m.Content
			for _, id := range indexing.MessageVectorIDs(m) {
				part := rest
				if len(indexing.MessageVectorIDs(m)) > 1 { // the local index has only the part's own text
					part = s.stored(current, user, page.Generation, "text")[id]
					if part == "" || !strings.HasPrefix(rest, part) {
						s.t.Errorf("%s has a part %q", id, part)
					}
				}
				rest = strings.TrimPrefix(rest, part)
				texts[id] = part
			}
		}
	}
	hits, err := store.Resolve(ctx, user, page.Generation, page.IDs)
	s.check(err)
	for _, h := range hits {
		switch {
		case h.Summary != nil:
			texts[h.ID] = h.Summary.Text
		case h.Memory != nil:
			texts[h.ID] = h.Memory.Content
		case h.CheckIn != nil:
			texts[h.ID] = h.CheckIn.Note
		}
	}
	return texts, page.Generation
}

// memory returns the user's memory.
func (s *fixture) memory(user conversation.UserID) longterm.Memory {
	s.t.Helper()
	memories, _, err := s.store.Memories.List(s.t.Context(), user, conversation.Page{Limit: 10})
	s.check(err)
	return memories[0]
}

// firstMessage returns the first message of the user's session s1.
func (s *fixture) firstMessage(user conversation.UserID) conversation.Message {
	s.t.Helper()
	session, err := s.store.Sessions.Session(s.t.Context(), user, "s1")
	s.check(err)
	messages, err := s.store.Indexing.MessagesAfter(s.t.Context(), user, session, conversation.Watermark{}, 1)
	s.check(err)
	return messages[0]
}

func (s *fixture) generation(user conversation.UserID) int64 {
	s.t.Helper()
	page, err := reindex.NewTable(s.db, dynamodbtest.Client(s.t)).Records(s.t.Context(), user, "")
	s.check(err)
	return page.Generation
}

// sweep sweeps deletions after a time.
func (s *fixture) sweep(after time.Duration) {
	s.t.Helper()
	s.Advance(after)
	_, err := s.store.Sweep(s.t.Context(), sweep.Deletions, s.sweeper, s.Time)
	s.check(err)
}

// wantComplete checks that an index has exactly the vectors that the user should have.
func (s *fixture) wantComplete(index string, user conversation.UserID) {
	s.t.Helper()
	texts, generation := s.expected(user)
	got := s.stored(index, user, generation, "text")
	if !maps.Equal(texts, got) {
		s.t.Errorf("%s of %s:\n got %s\nwant %s", index, user, list(got), list(texts))
	}
	for id, v := range s.stored(index, user, generation, "embedding") {
		if v != versions[index] {
			s.t.Errorf("%s of %s has %s of the model %q", index, user, id, v)
		}
	}
	for id, text := range got {
		if !strings.Contains(text, string(user)) {
			s.t.Errorf("%s of %s has somebody else's %s: %s", index, user, id, text)
		}
	}
}

func list(texts map[string]string) string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(texts)) {
		out = append(out, fmt.Sprintf("%s=%.40q", id, texts[id]))
	}
	return strings.Join(out, ", ")
}
