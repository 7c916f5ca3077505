package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/memstore"
	"github.com/throughline/throughline/internal/memstore/memstoretest"
	"github.com/throughline/throughline/internal/storetest"
	"github.com/throughline/throughline/internal/vectortest"
)

// memory is the stores of a test, in memory, with the service that deletes from them.
type memory struct {
	conversation.SessionStore
	storetest.MessageStore
	*erasure.Service
	records   httpapi.LongTerm
	documents storetest.DocumentStore
	// fail is the error of listing sessions, if set.
	fail error
}

func newMemory(now func() time.Time) *memory {
	all := memstoretest.New(memstore.Options{Now: now})
	return &memory{
		SessionStore: all.Sessions, MessageStore: all.Messages, Service: all.Erasure(vectortest.NewRouter(nil, "first"), now),
		records: longTermOf(all), documents: all.Documents,
	}
}

// stores returns the stores of all functions, with an eraser of the test's.
func (m *memory) stores(eraser httpapi.Eraser) stores {
	return stores{m, m, m, eraser, m.records}
}

func longTermOf(all storetest.Stores) httpapi.LongTerm {
	return httpapi.LongTerm{
		Profile: all.Profiles, Seed: all.Seeds, UserSummary: all.UserSummaries, Preferences: all.Preferences,
		Coaches: all.Coaches, Goals: all.Goals, CheckIns: all.CheckIns, Memories: all.Memories, Todos: all.Todos,
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
	if err != nil {
		t.Fatal(err)
	}
	return len(messages)
}
