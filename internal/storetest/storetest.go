// Package storetest is the conformance suite of the stores: what every implementation has to keep of everything that
// the domain packages ask of a store, as api 1 to 3 and design 3 to 4.7 word it.
package storetest

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/memory"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/summary"
)

// Store is what the suite tests: everything that the domain packages ask of a store.
type Store interface {
	conversation.SessionStore
	conversation.MessageStore
	conversation.TurnStore
	longterm.CoachStore
	Profiles() longterm.Singleton[longterm.Profile]
	Seeds() longterm.Singleton[longterm.Seed]
	UserSummaries() longterm.Singleton[longterm.UserSummary]
	Preferences() longterm.Singleton[longterm.Preferences]
	Goals() longterm.Collection[longterm.Goal]
	CheckIns() longterm.Collection[longterm.CheckIn]
	Memories() longterm.Collection[longterm.Memory]
	Todos() longterm.Collection[longterm.Todo]
	summary.Store
	memory.Store
	recall.Store
	prompt.Store
	prompt.Archive
	erasure.Store
}

// Subject is an empty store, safe for parallel use, and what the suite has to do beside it.
type Subject struct {
	Store Store
	// AppRecord puts a record of the app's own where the store keeps what is a user's, and returns what tells whether
	// it is still there. A store with a place of its own has nothing to put, and returns what says yes.
	AppRecord func(t *testing.T, user conversation.UserID) (there func() bool)
}

// Now is the time at which the clocks of stores under test begin.
var Now = time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC)

// stand is a store under test with the clock that it goes by.
type stand struct {
	Store
	Subject
	mu  sync.Mutex
	now time.Time
}

// clock is what the store takes for the present.
func (s *stand) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *stand) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// Run runs the suite. open returns an empty store that takes now for the present.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) Subject) {
	fewerChecks(t)
	all := map[string]func(*testing.T, *stand){}
	for _, section := range []map[string]func(*testing.T, *stand){
		sessionTests, messageTests, turnTests, longtermTests, summaryTests, promptTests, deletionTests, erasureTests,
	} {
		maps.Copy(all, section)
	}
	for name, test := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stand{now: Now}
			s.Subject = open(t, s.clock)
			s.Store = s.Subject.Store
			test(t, s)
		})
	}
}

// fewerChecks has properties checked a fifth as often as rapid's flag asks for, while the suite runs: each check makes
// many remote calls.
func fewerChecks(t *testing.T) {
	t.Helper()
	const name, part = "rapid.checks", 5
	asked := flag.Lookup(name).Value.String()
	n, err := strconv.Atoi(asked)
	if err == nil {
		err = flag.Set(name, strconv.Itoa(max(1, n/part)))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set(name, asked) })
}

var (
	sessionTests = map[string]func(*testing.T, *stand){
		"Create":          testCreate,
		"CreateReplays":   testCreateReplays,
		"CreateConflicts": testCreateConflicts,
		"OtherUsers":      testOtherUsers,
		"List":            testList,
		"Edit":            testEdit,
		"Leave":           testLeave,
	}
	messageTests = map[string]func(*testing.T, *stand){
		"Append":                     testAppend,
		"AppendTimes":                testAppendTimes,
		"AppendRefuses":              testAppendRefuses,
		"AppendReplays":              testAppendReplays,
		"AppendReplaysAfterEdits":    testAppendReplaysAfterEdits,
		"AppendReplaysAfterDeletion": testAppendReplaysAfterDeletion,
		"AppendSameKeyAtOnce":        testAppendSameKeyAtOnce,
		"AppendManyWriters":          testAppendManyWriters,
		"ContentRoundTrip":           testContentRoundTrip,
		"Paging":                     testPaging,
		"PageBytes":                  testPageBytes,
		"PagingWhileWriting":         testPagingWhileWriting,
		"PagesWhileWriting":          testPagesWhileWriting,
		"Timeline":                   testTimeline,
	}
	turnTests = map[string]func(*testing.T, *stand){
		"Turn":           testTurn,
		"TurnWithoutKey": testTurnWithoutKey,
	}
	longtermTests = map[string]func(*testing.T, *stand){
		"Singletons":              testSingletons,
		"PreferencesHaveDefaults": testPreferencesHaveDefaults,
		"Coaches":                 testCoaches,
		"Collections":             testCollections,
		"CollectionPages":         testCollectionPages,
		"UpdatesAtOnce":           testUpdatesAtOnce,
		"GoalsBecomePast":         testGoalsBecomePast,
		"TodosBecomePast":         testTodosBecomePast,
		"CheckInsKeepTheLatest":   testCheckInsKeepTheLatest,
		"MemoriesMakeRoom":        testMemoriesMakeRoom,
	}
	summaryTests = map[string]func(*testing.T, *stand){
		"SaveSummary":             testSaveSummary,
		"LateSummaries":           testLateSummaries,
		"MarkIndexed":             testMarkIndexed,
		"Due":                     testDue,
		"SettleLetsAnAppendWin":   testSettleLetsAnAppendWin,
		"CompletedSessionsAreDue": testCompletedSessionsAreDue,
	}
	promptTests = map[string]func(*testing.T, *stand){
		"Open":           testOpen,
		"RecentSessions": testRecentSessions,
		"MessagesAfter":  testMessagesAfter,
		"Resolve":        testResolve,
		"Archive":        testArchive,
	}
	deletionTests = map[string]func(*testing.T, *stand){
		"DeleteMessage":     testDeleteMessage,
		"MessageOf":         testMessageOf,
		"DeleteSession":     testDeleteSession,
		"DeletionGoesOn":    testDeletionGoesOn,
		"Graves":            testGraves,
		"VectorGraves":      testVectorGraves,
		"ForgetPrompts":     testForgetPrompts,
		"SourcesOfMemories": testSourcesOfMemories,
	}
	erasureTests = map[string]func(*testing.T, *stand){
		"Erase":                   testErase,
		"EraseInSteps":            testEraseInSteps,
		"NothingOfBeforeIsRead":   testNothingOfBeforeIsRead,
		"TimelineWhileErasing":    testTimelineWhileErasing,
		"SameIDWhileErasing":      testSameIDWhileErasing,
		"LateWritersAreRefused":   testLateWritersAreRefused,
		"KeysAreFreeAfterErasing": testKeysAreFreeAfterErasing,
	}
)

const (
	alice = conversation.UserID("auth0|alice#1_2")
	bob   = conversation.UserID("bob")
	coach = "coach_conversation"
)

var noKey conversation.Idempotency

func second[T any](_ T, err error) error { return err }

func create(t *testing.T, s Store, user conversation.UserID, context, id string) conversation.Session {
	t.Helper()
	created, err := s.CreateSession(t.Context(), user, conversation.NewSession{ID: id, Context: context, CoachID: "c1"}, noKey)
	if err != nil {
		t.Fatalf("create session %s: %v", id, err)
	}
	return created.Session
}

func say(contents ...string) []conversation.NewMessage {
	messages := make([]conversation.NewMessage, len(contents))
	for i, c := range contents {
		messages[i] = conversation.NewMessage{Role: conversation.User, Content: c}
	}
	return messages
}

func add(t *testing.T, s Store, user conversation.UserID, id string, messages ...conversation.NewMessage) conversation.Appended {
	t.Helper()
	a, err := s.Append(t.Context(), user, conversation.Append{SessionID: id, Messages: messages})
	if err != nil {
		t.Fatalf("append to %s: %v", id, err)
	}
	return a
}

// talk makes alice's session with messages, and returns it as it stands.
func talk(t *testing.T, s Store, context, id string, contents ...string) (conversation.Session, []conversation.Message) {
	t.Helper()
	create(t, s, alice, context, id)
	if len(contents) == 0 {
		return read(t, s, id), nil
	}
	messages := add(t, s, alice, id, say(contents...)...).Messages
	return read(t, s, id), messages
}

// read returns alice's session.
func read(t *testing.T, s Store, id string) conversation.Session {
	t.Helper()
	session, err := s.Session(t.Context(), alice, id)
	if err != nil {
		t.Fatalf("read session %s: %v", id, err)
	}
	return session
}

// pages reads a list to its end.
func pages[T any](t *testing.T, page conversation.Page, list func(conversation.Page) ([]T, conversation.Position, error)) []T {
	t.Helper()
	var all []T
	for {
		some, next, err := list(page)
		if err != nil {
			t.Fatal(err)
		}
		if len(some) > page.Limit {
			t.Fatalf("a page of %d, at most %d were asked for", len(some), page.Limit)
		}
		all = append(all, some...)
		if page.After = next; next == "" {
			return all
		}
	}
}

// readAll pages through a session's messages.
func readAll(ctx context.Context, s conversation.MessageStore, user conversation.UserID, id string, page conversation.Page) ([]conversation.Message, error) {
	var all []conversation.Message
	for {
		messages, next, err := s.Messages(ctx, user, id, page)
		if err != nil {
			return nil, err
		}
		all = append(all, messages...)
		if next == "" {
			return all, nil
		}
		page.After = next
	}
}

// checkWhole fails unless the messages are seq 1..n in order with strictly increasing times.
func checkWhole(t *testing.T, messages []conversation.Message, n int) {
	t.Helper()
	if len(messages) != n {
		t.Errorf("read %d messages, want %d", len(messages), n)
	}
	for i, m := range messages {
		if m.Seq != i+1 {
			t.Fatalf("message %d has seq %d", i+1, m.Seq)
		}
		if i > 0 && !m.Timestamp.After(messages[i-1].Timestamp) {
			t.Fatalf("message %d at %v is not after %v", m.Seq, m.Timestamp, messages[i-1].Timestamp)
		}
	}
}

func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%d", prefix, i+1)
	}
	return out
}
