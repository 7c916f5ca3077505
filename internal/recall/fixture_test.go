package recall_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
	"github.com/throughline/throughline/internal/testing/pineconetest"
	"github.com/throughline/throughline/internal/vector"
)

const dimensions = 256

// fixture has the real engines of one test (a store, an index and the offline model) and the service on them.
type fixture struct {
	*recall.Service
	t       testing.TB
	now     time.Time
	store   dynamotest.Stores
	index   *faultyIndex
	embed   *faultyEmbedder
	indexer *indexing.Indexer
	// coach, or else "coach", and attributes are those of the sessions that are created next.
	coach      string
	attributes map[string]any
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	s := &fixture{t: t, now: time.Now().UTC().Truncate(time.Millisecond), store: dynamotest.New(t)}
	s.embed = &faultyEmbedder{Embedder: embedder(t)}
	s.index = &faultyIndex{Index: pineconetest.Client(t, dimensions)}
	s.indexer = indexing.NewIndexer(vector.Held{
		Index: s.index, Model: vector.Model{Embedder: s.embed, Version: "offline"},
	})
	s.Service = recall.New(s.store.Recall, s.embed, s.index, recall.Options{
		EmbedTimeout: 20 * time.Second, IndexTimeout: 20 * time.Second, Now: func() time.Time { return s.now },
	})
	return s
}

func embedder(t testing.TB) *openai.Client {
	t.Helper()
	server := httptest.NewServer(offlinemodel.Handler())
	t.Cleanup(server.Close)
	return openai.New(config.OpenAI{
		BaseURL: server.URL + "/v1", APIKey: "any", ChatModel: "gpt-4o-mini",
		Embedding: config.Embedding{Model: "text-embedding-3-small", Dimensions: dimensions},
	})
}

// faultyEmbedder and faultyIndex are the engines, with calls that can be made to fail or to hang.
type faultyEmbedder struct {
	vector.Embedder
	fault func(ctx context.Context) error
	calls atomic.Int32
}

func (f *faultyEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	f.calls.Add(1)
	if f.fault != nil {
		return nil, f.fault(ctx)
	}
	return f.Embedder.Embed(ctx, texts)
}

type faultyIndex struct {
	vector.Index
	fault   func(ctx context.Context) error
	refuses func(q vector.Query) bool
	lacks   func(id string) bool
	mu      sync.Mutex
	queries []vector.Query
}

func (f *faultyIndex) Query(
	ctx context.Context, user conversation.UserID, generation int64, q vector.Query,
) ([]vector.Match, error) {
	f.mu.Lock()
	f.queries = append(f.queries, q)
	f.mu.Unlock()
	if f.fault != nil {
		return nil, f.fault(ctx)
	}
	if f.refuses != nil && f.refuses(q) {
		return nil, errors.New("refused")
	}
	matches, err := f.Index.Query(ctx, user, generation, q)
	if f.lacks != nil {
		matches = slices.DeleteFunc(matches, func(m vector.Match) bool { return f.lacks(m.ID) })
	}
	return matches, err
}

// addIndexed stores messages in a session, which it creates if needed, and indexes them. Texts alternate between the
// user and the assistant. They are a minute apart, and the last one has the given age.
func (s *fixture) addIndexed(
	user conversation.UserID, context, session string, age time.Duration, texts ...string,
) []conversation.Message {
	s.t.Helper()
	stored := s.add(user, context, session, age, texts...)
	check.OK(s.t, s.indexer.IndexMessages(s.t.Context(), user, 0, stored))
	return stored
}

// add is addIndexed without the index.
func (s *fixture) add(
	user conversation.UserID, context, session string, age time.Duration, texts ...string,
) []conversation.Message {
	s.t.Helper()
	if _, err := s.store.Summaries.SessionIn(s.t.Context(), user, context, session); err != nil {
		in := conversation.NewSession{
			ID: session, Context: context, CoachID: cmp.Or(s.coach, "coach"), Attributes: s.attributes,
		}
		if _, err := s.store.Sessions.CreateSession(s.t.Context(), user, in, conversation.Idempotency{}); err != nil {
			s.t.Fatal(err)
		}
	}
	in := conversation.Append{SessionID: session}
	for i, text := range texts {
		role := []conversation.Role{conversation.RoleUser, conversation.RoleAssistant}[i%2]
		at := s.now.Add(-age - time.Duration(len(texts)-1-i)*time.Minute)
		in.Messages = append(in.Messages, conversation.NewMessage{
			Role: role, Content: text, Timestamp: at, Tokens: len(text) / 4,
		})
	}
	appended, err := s.store.Messages.Append(s.t.Context(), user, in)
	check.OK(s.t, err)
	return appended.Messages
}

// summarise stores a summary of a session, and indexes it unless lag is set.
func (s *fixture) summarise(user conversation.UserID, context, id, text string, lag bool) {
	s.t.Helper()
	session, err := s.store.Summaries.SessionIn(s.t.Context(), user, context, id)
	check.OK(s.t, err)
	session.Summary = &conversation.SessionSummary{
		Text: text, Kind: conversation.ByModel, CoveredThrough: session.LastSeq, UpdatedAt: s.now,
	}
	record, _ := summary.Of(session)
	check.OK(s.t, s.store.Summaries.SaveSummary(s.t.Context(), user, session, record))
	if lag {
		return
	}
	check.OK(s.t, s.indexer.IndexSummary(s.t.Context(), user, record))
}

// prefer sets a user's preferences to the defaults with a change.
func (s *fixture) prefer(user conversation.UserID, change func(p *preferences)) {
	s.t.Helper()
	p := defaults()
	change(&p)
	if _, err := s.store.Preferences.Put(s.t.Context(), user, p); err != nil {
		s.t.Fatal(err)
	}
}

func (s *fixture) recall(user conversation.UserID, q recall.MessageQuery) recall.Records {
	s.t.Helper()
	got, err := s.Messages(s.t.Context(), user, q)
	check.OK(s.t, err)
	return got
}

func (s *fixture) query(user conversation.UserID, q recall.ContextQuery) recall.Summaries {
	s.t.Helper()
	got, err := s.Query(s.t.Context(), user, q)
	check.OK(s.t, err)
	return got
}

func contents(found recall.Records) []string {
	out := []string{}
	for _, hit := range found.Records {
		out = append(out, hit.Message.Content)
	}
	return out
}

func sessions(s recall.Summaries) []string {
	out := []string{}
	for _, hit := range s.Summaries {
		out = append(out, hit.SessionID)
	}
	return out
}

func sources(d []recall.Degradation) []string {
	out := []string{}
	for _, one := range d {
		out = append(out, fmt.Sprint(one.Source, ": ", one.Reason))
	}
	return out
}

func sorted(in []string) []string { return slices.Sorted(slices.Values(in)) }
