package dynamotest

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/llm/metered"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/sweep"
)

// Stores are all stores of a table, one for each interface of the domain packages.
type Stores struct {
	Sessions conversation.SessionStore
	Messages *dynamo.MessageStore
	Turns    conversation.TurnStore

	Profiles      longterm.Singleton[longterm.Profile]
	Seeds         longterm.Singleton[longterm.Seed]
	UserSummaries longterm.Singleton[longterm.UserSummary]
	Preferences   longterm.Singleton[longterm.Preferences]
	Coaches       longterm.CoachStore
	Goals         longterm.Collection[longterm.Goal]
	CheckIns      longterm.Collection[longterm.CheckIn]
	Memories      longterm.Collection[longterm.Memory]
	Todos         longterm.Collection[longterm.Todo]
	Documents     *dynamo.DocumentStore
	// DrawnMemories and DrawnTodos are the same, and their deletions leave no trace.
	DrawnMemories longterm.Collection[longterm.Memory]
	DrawnTodos    longterm.Collection[longterm.Todo]

	Extraction   extraction.Store
	Corrector    *dynamo.MemoryHistory
	Summaries    dynamo.SummarySource
	Spines       *dynamo.SpineStore
	Quota        metered.Quota
	Indexing     indexing.Store
	Recall       recall.Store
	PromptSource gather.Store
	Prompts      *dynamo.PromptStore

	Deletion   *dynamo.DeletionStore
	Tombstones erasure.TombstoneStore
	Erasures   erasure.UserStore

	Due sweep.Store
}

// Sweep sweeps a queue with its visitor until nothing is due in it. It returns how many visits succeeded, and the
// failures of the others.
func (s Stores) Sweep(ctx context.Context, q sweep.Queue, v sweep.Visitor, now func() time.Time) (done int, err error) {
	var failures []error
	var mu sync.Mutex
	service := sweep.New(sweep.Deps{
		Store: s.Due, Works: []sweep.Work{{Queue: q, Visitor: v, FirstWait: time.Minute}}, Now: now,
		Random: func() float64 { return 0 }, NewOwner: rand.Text,
		Invoke: func(context.Context, sweep.Task) error { return errors.New("nobody takes over") },
		Report: func(_ context.Context, _ string, err error) {
			mu.Lock()
			defer mu.Unlock()
			failures = append(failures, err)
		},
	})
	swept, err := service.Sweep(ctx, sweep.Task{Shards: q.Shards()})
	return swept.Visited - swept.Failed, errors.Join(append(failures, err)...)
}

// Erasure returns an erasure service on the stores.
func (s Stores) Erasure(index erasure.Index, now func() time.Time) *erasure.Service {
	return erasure.New(erasure.Deps{
		Messages: s.Deletion, Sessions: s.Deletion, Prompts: s.Prompts, Tombstones: s.Tombstones,
		Users: s.Erasures, Sources: s.Deletion, Timeline: s.Messages, Memories: s.DrawnMemories, Todos: s.DrawnTodos,
		CheckIns:   s.CheckIns,
		Forgetting: s.Deletion, Summaries: s.Summaries, Cuts: s.Deletion,
		Index: index, Now: now, Backups: erasure.DefaultBackups,
	})
}

// NoIndex is the index of tests without vectors.
type NoIndex struct{}

// Delete deletes nothing.
func (NoIndex) Delete(context.Context, conversation.UserID, int64, []string) error { return nil }

// Drop deletes nothing.
func (NoIndex) Drop(context.Context, conversation.UserID, int64) (int, error) { return 0, nil }

// Now is the time at which the clock of a test begins.
var Now = time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)
