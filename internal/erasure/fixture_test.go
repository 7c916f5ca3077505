package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
	"github.com/throughline/throughline/internal/testing/pineconetest"
	"github.com/throughline/throughline/internal/vector"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

const (
	ann = conversation.UserID("ann")
	bob = conversation.UserID("bob")
)

// fixture is a service on real engines, with a clock that the test moves.
type fixture struct {
	*erasure.Sweeper
	*dynamotest.Clock
	t        *testing.T
	table    string
	store    dynamotest.Stores
	records  *records
	index    *index
	embedded *embedder
}

// records is the real session store. Deletions of messages can be made to fail.
type records struct {
	erasure.SessionStore
	fail error
}

func (r *records) DeleteMessages(ctx context.Context, user conversation.UserID, messages []conversation.Message) error {
	if r.fail != nil {
		return r.fail
	}
	return r.SessionStore.DeleteMessages(ctx, user, messages)
}

// index is the real index. Deletions can be made to fail.
type index struct {
	vector.Indexes
	fail error
	// failures counts the deletions that failed. The sweep works on its shards side by side.
	failures atomic.Int32
}

func (i *index) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	if i.fail != nil {
		i.failures.Add(1)
		return i.fail
	}
	return i.Indexes.Delete(ctx, user, generation, ids)
}

func (i *index) Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error) {
	if i.fail != nil {
		return 0, i.fail
	}
	return i.Indexes.Drop(ctx, user, generation)
}

// faulty is the index of an indexer, whose deletions fail with the others.
type faulty struct {
	vector.Index
	index *index
}

func (f faulty) Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error {
	return f.index.Delete(ctx, user, generation, ids)
}

// embedder gives every text the same vector and records the texts.
type embedder struct {
	mu    sync.Mutex
	texts []string
}

func (e *embedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.texts = append(e.texts, texts...)
	return slices.Repeat([][]float32{{1, 0}}, len(texts)), nil
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{
		Clock: dynamotest.NewClock(), t: t, table: dynamotest.Table(t),
		index: &index{Indexes: vector.Indexes{Serving: vector.Held{Index: pineconetest.Client(t, 2)}}}, embedded: &embedder{},
	}
	s.store = dynamotest.Open(t, s.table, s.Option())
	s.records = &records{SessionStore: s.store.Deletion}
	deps := s.store.Erasure(s.index, s.Time).Deps
	deps.Sessions = s.records
	messages := indexing.New(s.store.Indexing, indexing.NewIndexer(vector.Held{
		Index: faulty{s.index.Serving.Index, s.index}, Model: vector.Model{Embedder: s.embedded, Version: "m"},
	}), s.Time)
	s.Sweeper = erasure.NewSweeper(erasure.New(deps), messages)
	return s
}

// sweep sweeps what is due and returns how many deletions it worked off.
func (s *fixture) sweep() (int, error) {
	return s.store.Sweep(s.t.Context(), sweep.Deletions, s.Sweeper, s.Time)
}

// addMessages stores messages and their vectors. It creates the session if there is none.
func (s *fixture) addMessages(user conversation.UserID, session string, contents ...string) []conversation.Message {
	s.t.Helper()
	in := conversation.NewSession{ID: session, Context: "coach_conversation", CoachID: "c"}
	if _, err := s.store.Sessions.Session(s.t.Context(), user, session); err != nil {
		if _, err := s.store.Sessions.CreateSession(s.t.Context(), user, in, conversation.Idempotency{}); err != nil {
			s.t.Fatal(err)
		}
	}
	var stored []conversation.Message
	for _, c := range contents {
		a, err := s.store.Messages.Append(s.t.Context(), user, conversation.Append{
			SessionID: session, Messages: []conversation.NewMessage{{Role: conversation.RoleUser, Content: c}},
			Idempotency: conversation.Idempotency{Scope: session, Key: fmt.Sprint(user, c), BodyHash: "h"},
		})
		check.OK(s.t, err)
		stored = append(stored, a.Messages...)
		s.indexed(user, a.Session.Generation, indexing.MessageVectorIDs(a.Messages[0])...)
	}
	return stored
}

func (s *fixture) indexed(user conversation.UserID, generation int64, ids ...string) {
	s.t.Helper()
	records := make([]vector.Record, len(ids))
	for i, id := range ids {
		records[i] = vector.Record{ID: id, Dense: []float32{1, 0}}
	}
	check.OK(s.t, s.index.Serving.Upsert(s.t.Context(), user, generation, records))
}

// summarize stores a summary of all messages of a session, and its vector.
func (s *fixture) summarize(user conversation.UserID, id string) summary.Summary {
	s.t.Helper()
	return s.summarizeAs(user, id, "sum")
}

// summarizeAs is summarize with a text.
func (s *fixture) summarizeAs(user conversation.UserID, id, text string) summary.Summary {
	s.t.Helper()
	session, err := s.store.Sessions.Session(s.t.Context(), user, id)
	check.OK(s.t, err)
	sum := s.summaryOf(session)
	sum.Text = text
	check.OK(s.t, s.store.Summaries.SaveSummary(s.t.Context(), user, session, sum))
	s.indexed(user, session.Generation, sum.ID())
	return sum
}

func (s *fixture) summaryOf(session conversation.Session) summary.Summary {
	return summary.Summary{
		RecordType: conversation.ConversationSummary, SubjectID: session.ID, SessionID: session.ID,
		Context: session.Context, Text: "sum", Kind: conversation.ByModel, InProgress: true,
		CoveredThrough: session.LastSeq, UpdatedAt: s.Time(),
	}
}

// vectors returns the ids of all vectors of a user's generation.
func (s *fixture) vectors(user conversation.UserID, generation int64) map[string]bool {
	s.t.Helper()
	matches, err := s.index.Query(s.t.Context(), user, generation, vector.Query{Dense: []float32{1, 0}, TopK: 1000})
	check.OK(s.t, err)
	ids := map[string]bool{}
	for _, m := range matches {
		ids[m.ID] = true
	}
	return ids
}

// keys returns the sort keys of all records of a user.
func (s *fixture) keys(user conversation.UserID) []string {
	s.t.Helper()
	return dynamotest.Keys(s.t, s.table, user)
}

var (
	errIndex = errors.New("no index")
	errTable = errors.New("no table")
)

// remember stores a memory of some messages, and its vector.
func (s *fixture) remember(source longterm.MemorySource, messages ...conversation.Message) longterm.Memory {
	s.t.Helper()
	m := longterm.Memory{Content: "fact", Source: source, CreatedAt: s.Time()}
	for _, x := range messages {
		m.MessageIDs = append(m.MessageIDs, x.ID)
	}
	stored, _, err := s.store.Memories.Create(s.t.Context(), ann, m, conversation.Idempotency{})
	check.OK(s.t, err)
	s.indexed(ann, 0, stored.ID)
	return stored
}

// rename gives a session another title. The store keeps the title before it, for calls that are repeated.
func (s *fixture) rename(user conversation.UserID, session string) {
	s.t.Helper()
	title := "another"
	_, err := s.store.Sessions.UpdateSession(s.t.Context(), user, session, conversation.SessionChange{Title: &title})
	check.OK(s.t, err)
}

// savePrompt stores a prompt of a session, with its text.
func (s *fixture) savePrompt(session string) (id string) {
	s.t.Helper()
	s.Advance(time.Millisecond)
	access, err := s.store.Recall.Access(s.t.Context(), ann)
	check.OK(s.t, err)
	of, err := s.store.Sessions.Session(s.t.Context(), ann, session)
	if err != nil && !fault.Is(err, fault.NotFound) {
		s.t.Fatal(err)
	}
	k := prompt.StoredPrompt{
		SessionCreatedAt: of.CreatedAt,
		ID:               fmt.Sprintf("prompt_%d_x", s.Time().UnixMilli()), SessionID: session, CreatedAt: s.Time(),
		ExpiresAt: s.Time().AddDate(0, 0, 7), Manifest: []byte{1}, Text: []byte("what was said"),
		Generation: access.Generation,
	}
	check.OK(s.t, s.store.Prompts.SavePrompt(s.t.Context(), ann, k))
	return k.ID
}

// quotes reports whether a stored prompt has its text.
func (s *fixture) quotes(id string) bool {
	s.t.Helper()
	k, err := s.store.Prompts.StoredPrompt(s.t.Context(), ann, id)
	if err != nil || len(k.Manifest) == 0 {
		s.t.Errorf("prompt %s: %v, a manifest of %d bytes", id, err, len(k.Manifest))
	}
	return len(k.Text) > 0
}

func count(keys []string, prefix string) int {
	n := 0
	for _, k := range keys {
		if strings.HasPrefix(k, prefix) {
			n++
		}
	}
	return n
}
