// Package storetest is the conformance suite of the stores. It tests all that the domain packages require of a store,
// as their interfaces document it.
package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/llm/metered"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
)

// Stores are the stores under test, one for each interface of the domain packages.
type Stores struct {
	Sessions conversation.SessionStore
	Messages MessageStore
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
	Documents     DocumentStore
	// DrawnMemories and DrawnTodos are the same, and their deletions leave no trace.
	DrawnMemories longterm.Collection[longterm.Memory]
	DrawnTodos    longterm.Collection[longterm.Todo]

	Extraction   extraction.Store
	Summaries    summary.Store
	Spines       SpineStore
	Quota        metered.Quota
	Indexing     indexing.Store
	Recall       recall.Store
	PromptSource gather.Store
	Prompts      prompt.Archive

	MessageDeletion erasure.MessageStore
	SessionDeletion erasure.SessionStore
	Cuts            erasure.CutStore
	PromptDeletion  erasure.PromptStore
	Tombstones      erasure.TombstoneStore
	Erasures        erasure.UserStore
	Sources         erasure.SourceStore
	Forgetting      erasure.ForgettingStore

	Due sweep.Store
}

// SpineStore saves and lists spines.
type SpineStore interface {
	summary.SpineStore
	longterm.SpineReader
}

// MessageStore is the messages of a store that may be one of an app that migrates.
type MessageStore interface {
	conversation.MessageStore
	IsMigrated(ctx context.Context, user conversation.UserID) (bool, error)
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
		Messages: s.MessageDeletion, Sessions: s.SessionDeletion, Prompts: s.PromptDeletion, Tombstones: s.Tombstones,
		Users: s.Erasures, Sources: s.Sources, Timeline: s.Messages, Memories: s.DrawnMemories, Todos: s.DrawnTodos,
		Forgetting: s.Forgetting, Cuts: s.Cuts,
		Index: index, Now: now, Backups: erasure.DefaultBackups,
	})
}

// Subject is a set of empty stores that are safe for concurrent use, and a way to write beside them.
type Subject struct {
	Stores
	// AppRecord, if set, writes records of the app itself to the place where the store keeps a user's records, and returns
	// a function that reports whether they are still there. A store that shares no place with an app has none.
	AppRecord func(t *testing.T, user conversation.UserID) (there func() bool)

	// Adopted is what new sessions have of it.
	Adopted conversation.Adopted
}

// Now is the time at which the clock of each test begins.
var Now = time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)

// Run runs the suite. open returns empty stores that use now as their clock.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) Subject) {
	run(t, open, sessionTests, messageTests, turnTests, longtermTests, summaryTests, promptTests, deletionTests,
		erasureTests, dueTests, extractionTests, documentTests)
}

// RunConversations runs the tests of what a client does with sessions and messages that hold wherever the messages are.
func RunConversations(t *testing.T, open func(t *testing.T, now func() time.Time) Subject) {
	tests := map[string]func(*testing.T, *fixture){}
	for _, section := range []map[string]func(*testing.T, *fixture){
		sessionTests, messageTests, turnTests, deletionTests,
	} {
		for _, name := range conversationTests {
			if test, ok := section[name]; ok {
				tests[name] = test
			}
		}
	}
	run(t, open, tests)
}

// conversationTests are those that read nothing but sessions and their messages, and that take little time.
var conversationTests = []string{
	"Create", "CreateReplays", "CreateConflicts", "UpdateSession", "Append", "AppendTimes",
	"InvalidAppends", "AppendReplays", "AppendReplaysAfterEdits", "AppendReplaysAfterDeletion", "KeysExpire",
	"ConcurrentAppendsWithOneKey", "ContentRoundTrip", "Flags", "Parts", "ClientIDs", "ClientIDsReplay",
	"Turn", "TurnWithoutKey", "MessageByID",
	"Reopen", "ReopenAtOnce",
}

func run(t *testing.T, open func(t *testing.T, now func() time.Time) Subject,
	sections ...map[string]func(*testing.T, *fixture),
) {
	t.Helper()
	reducePropertyChecks(t)
	all := map[string]func(*testing.T, *fixture){}
	for _, section := range sections {
		maps.Copy(all, section)
	}
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &fixture{now: Now}
			s.Subject = open(t, s.clock)
			test(t, s)
		})
	}
}

// reducePropertyChecks lowers the number of checks of each property to a fifth of rapid's flag while the suite runs,
// because each check makes many remote calls.
func reducePropertyChecks(t *testing.T) {
	t.Helper()
	const name, part = "rapid.checks", 5
	asked := flag.Lookup(name).Value.String()
	n, err := strconv.Atoi(asked)
	if err == nil {
		err = flag.Set(name, strconv.Itoa(max(1, n/part)))
	}
	must(t, err)
	t.Cleanup(func() { _ = flag.Set(name, asked) })
}

var (
	sessionTests = map[string]func(*testing.T, *fixture){
		"Create":          testCreate,
		"CreateReplays":   testCreateReplays,
		"CreateConflicts": testCreateConflicts,
		"OtherUsersData":  testOtherUsersData,
		"ListSessions":    testListSessions,
		"UpdateSession":   testUpdateSession,
		"LeaveSession":    testLeaveSession,
	}
	messageTests = map[string]func(*testing.T, *fixture){
		"Append":                      testAppend,
		"AppendTimes":                 testAppendTimes,
		"InvalidAppends":              testInvalidAppends,
		"AppendReplays":               testAppendReplays,
		"AppendReplaysAfterEdits":     testAppendReplaysAfterEdits,
		"AppendReplaysAfterDeletion":  testAppendReplaysAfterDeletion,
		"KeysExpire":                  testKeysExpire,
		"ConcurrentAppendsWithOneKey": testConcurrentAppendsWithOneKey,
		"ConcurrentAppends":           testConcurrentAppends,
		"ContentRoundTrip":            testContentRoundTrip,
		"Flags":                       testFlags,
		"Parts":                       testParts,
		"ClientIDs":                   testClientIDs,
		"ClientIDsReplay":             testClientIDsReplay,
		"LargestCallWithClientIDs":    testLargestCallWithClientIDs,
		"ConcurrentClientIDs":         testConcurrentClientIDs,
		"DeletedClientID":             testDeletedClientID,
		"Truncate":                    testTruncate,
		"TruncateLong":                testTruncateLong,
		"Clear":                       testClear,
		"Paging":                      testPaging,
		"PagesAreBoundedInBytes":      testPagesAreBoundedInBytes,
		"PagingDuringWrites":          testPagingDuringWrites,
		"ListsDuringWrites":           testListsDuringWrites,
		"Timeline":                    testTimeline,
		"Reopen":                      testReopen,
		"ReopenAtOnce":                testReopenAtOnce,
	}
	turnTests = map[string]func(*testing.T, *fixture){
		"Turn":           testTurn,
		"TurnWithoutKey": testTurnWithoutKey,
		"PlannedAnswer":  testPlannedAnswer,
	}
	longtermTests = map[string]func(*testing.T, *fixture){
		"Singletons":              testSingletons,
		"PreferencesHaveDefaults": testPreferencesHaveDefaults,
		"Coaches":                 testCoaches,
		"Collections":             testCollections,
		"MemoryExpires":           testMemoryExpires,
		"CollectionPages":         testCollectionPages,
		"ConcurrentUpdates":       testConcurrentUpdates,
		"GoalsBecomePast":         testGoalsBecomePast,
		"TodosBecomePast":         testTodosBecomePast,
		"GoalsAtTheirCap":         testGoalsAtTheirCap,
		"TodosAtTheirCap":         testTodosAtTheirCap,
		"LatestCheckIn":           testLatestCheckIn,
		"LiveMemoriesAreCapped":   testLiveMemoriesAreCapped,
	}
	summaryTests = map[string]func(*testing.T, *fixture){
		"SaveSummary":             testSaveSummary,
		"SaveSummaryOfAttributes": testSaveSummaryOfAttributes,
		"SummariesOfOneSubject":   testSummariesOfOneSubject,
		"AttributesAreDue":        testAttributesAreDue,
		"LateSummaries":           testLateSummaries,
		"MarkIndexed":             testMarkIndexed,
		"ClaimIndexing":           testClaimIndexing,
		"SessionsAt":              testSessionsAt,
	}
	dueTests = map[string]func(*testing.T, *fixture){
		"Due":                       testDue,
		"DuePages":                  testDuePages,
		"Claims":                    testClaims,
		"ClaimsOfChangedRecords":    testClaimsOfChangedRecords,
		"ClaimSession":              testClaimSession,
		"EndClaim":                  testEndClaim,
		"Leases":                    testLeases,
		"SettleKeepsNewMessagesDue": testSettleKeepsNewMessagesDue,
		"TheLastWatermarkSettles":   testTheLastWatermarkSettles,
		"CompletedSessionsAreDue":   testCompletedSessionsAreDue,
		"RecordsAreDue":             testRecordsAreDue,
		"SummariesMakeSpinesDue":    testSummariesMakeSpinesDue,
		"SaveSpine":                 testSaveSpine,
		"UserSummaryOfSpines":       testUserSummaryOfSpines,
		"OldSpinesGo":               testOldSpinesGo,
		"DeletedRecordsAreDue":      testDeletedRecordsAreDue,
		"ErasuresAreDue":            testErasuresAreDue,
	}
	promptTests = map[string]func(*testing.T, *fixture){
		"Open":                     testOpen,
		"RecentSessions":           testRecentSessions,
		"CoachSessions":            testCoachSessions,
		"MessagesBefore":           testMessagesBefore,
		"MessagesAfter":            testMessagesAfter,
		"MessagesAfterADeletedOne": testMessagesAfterADeletedOne,
		"Resolve":                  testResolve,
		"SavedPrompts":             testSavedPrompts,
	}
	deletionTests = map[string]func(*testing.T, *fixture){
		"DeleteMessage":      testDeleteMessage,
		"MessageByID":        testMessageByID,
		"DeleteSession":      testDeleteSession,
		"DeletionResumes":    testDeletionResumes,
		"ClearedSpines":      testDeletionsClearSpines,
		"Tombstones":         testTombstones,
		"VectorTombstones":   testVectorTombstones,
		"ForgetPrompts":      testForgetPrompts,
		"SessionsOfMessages": testSessionsOfMessages,
	}
	erasureTests = map[string]func(*testing.T, *fixture){
		"Erase":                   testErase,
		"ErasureResumes":          testErasureResumes,
		"ErasedSpines":            testErasedSpines,
		"ErasedRecordsAreHidden":  testErasedRecordsAreHidden,
		"TimelineDuringErasure":   testTimelineDuringErasure,
		"SameIDDuringErasure":     testSameIDDuringErasure,
		"LateWritesAreRejected":   testLateWritesAreRejected,
		"KeysAreFreeAfterErasure": testKeysAreFreeAfterErasure,
	}
)
