package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// memory is the stores of a test, with the service that deletes from them.
type memory struct {
	conversation.SessionStore
	*dynamo.MessageStore
	*erasure.Service
	records   httpapi.LongTerm
	documents *dynamo.DocumentStore
	// fail is the error of listing sessions, if set.
	fail error
}

// ids is one counter for all tests, because the engine takes a client token once, whichever the table.
var ids dynamotest.Counter

func newMemory(t testing.TB, now func() time.Time) *memory {
	t.Helper()
	all := dynamotest.StoresOf(dynamo.New(
		dynamodbtest.Client(t), dynamotest.Table(t), dynamo.WithClock(now), dynamo.WithRandom(&ids),
	))
	return &memory{
		SessionStore: all.Sessions, MessageStore: all.Messages, Service: all.Erasure(dynamotest.NoIndex{}, now),
		records: longTermOf(all), documents: all.Documents,
	}
}

// stores returns the stores of all functions, with an eraser of the test's.
func (m *memory) stores(eraser httpapi.Eraser) stores {
	return stores{m, m, m, eraser, m.records}
}

// erasable returns the stores of all functions, with an eraser that has no time at first.
func (m *memory) erasable() stores { return m.stores(&slowEraser{Eraser: m.Service}) }

// slowEraser gives the first call no time, so that it reports progress.
type slowEraser struct {
	httpapi.Eraser
	called bool
}

func (h *slowEraser) Erase(ctx context.Context, user conversation.UserID, until time.Time) (erasure.Receipt, error) {
	if !h.called {
		h.called, until = true, noon()
	}
	return h.Eraser.Erase(ctx, user, until)
}

func longTermOf(all dynamotest.Stores) httpapi.LongTerm {
	return httpapi.LongTerm{
		Profile: all.Profiles, Seed: all.Seeds, UserSummary: all.UserSummaries, Preferences: all.Preferences,
		Coaches: all.Coaches, Goals: all.Goals, CheckIns: all.CheckIns, Memories: all.Memories, Todos: all.Todos,
		Corrector: all.Corrector,
	}
}

func (m *memory) Sessions(ctx context.Context, user conversation.UserID, f conversation.SessionFilter,
	page conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	if m.fail != nil {
		return nil, "", m.fail
	}
	return m.SessionStore.Sessions(ctx, user, f, page)
}

// IsMigrated reports whether a user's messages have moved to the store: those of one have not.
func (m *memory) IsMigrated(_ context.Context, user conversation.UserID) (bool, error) {
	return user != "unmoved", nil
}

// said counts the messages of a user.
func (m *memory) said(t *testing.T, user conversation.UserID) int {
	t.Helper()
	messages, _, err := m.Timeline(t.Context(), user, conversation.Range{}, conversation.Page{Limit: 200})
	check.OK(t, err)
	return len(messages)
}
