package erasure_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

var errIndex = errors.New("no index")

// remember stores a memory drawn from messages, and its vector.
func (s *stand) remember(source longterm.MemorySource, messages ...conversation.Message) longterm.Memory {
	s.t.Helper()
	m := longterm.Memory{Content: "fact", Source: source, CreatedAt: s.clock()}
	for _, x := range messages {
		m.MessageIDs = append(m.MessageIDs, x.ID)
	}
	stored, _, err := s.store.Memories().Create(s.t.Context(), ann, m, conversation.Idempotency{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.indexed(ann, 0, stored.ID)
	return stored
}

func (s *stand) keepPrompt(session string) {
	s.t.Helper()
	s.advance(time.Millisecond)
	k := prompt.Kept{
		ID: fmt.Sprintf("prompt_%d_x", s.clock().UnixMilli()), SessionID: session, CreatedAt: s.clock(),
		ExpiresAt: s.clock().Add(time.Hour), Manifest: []byte{1},
	}
	if err := s.store.Keep(s.t.Context(), ann, k); err != nil {
		s.t.Fatal(err)
	}
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

func TestDeleteSession(t *testing.T) {
	s := newStand(t)
	gone, kept := s.say(ann, "gone", "a1", "a2", strings.Repeat("long ", 3000)), []conversation.Message{}
	kept = append(kept, s.say(ann, "kept", "b1")...)
	gone = append(gone, s.say(ann, "gone", "a4")...) // the other session's message lies in between
	other := s.summarize(ann, "kept")
	dead := s.summarize(ann, "gone")
	only := s.remember(longterm.Extracted, gone[0], gone[1])
	both := s.remember(longterm.Extracted, gone[0], kept[0])
	byHand := s.remember(longterm.Seeded, gone[0])
	s.keepPrompt("gone")
	s.keepPrompt("kept")
	if err := s.DeleteSession(t.Context(), ann, "gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Session(t.Context(), ann, "gone"); !fault.Is(err, fault.NotFound) {
		t.Errorf("the session after it was deleted: %v", err)
	}
	line, _, err := s.store.Timeline(t.Context(), ann, conversation.Range{}, conversation.Page{Limit: 50})
	if err != nil || len(line) != 1 || line[0].ID != kept[0].ID {
		t.Errorf("timeline %v, %v", line, err)
	}
	want := map[string]bool{kept[0].ID: true, other.ID(): true, both.ID: true, byHand.ID: true}
	if diff := cmp.Diff(want, s.vectors(ann, 0)); diff != "" {
		t.Errorf("vectors (-want +got), deleted %s, %s:\n%s", only.ID, dead.ID(), diff)
	}
	if _, err := s.store.Memories().Get(t.Context(), ann, only.ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("a fact drawn only from it: %v", err)
	}
	keys := s.keys(ann)
	if count(keys, "summary#") != 1 || count(keys, "prompt#") != 1 || count(keys, "conversation#") != 1 {
		t.Errorf("left are %v", keys)
	}
	if err := s.DeleteSession(t.Context(), ann, "gone"); !fault.Is(err, fault.NotFound) {
		t.Errorf("delete it again: %v", err)
	}
	checkRoundsOfGraves(t, s, gone[0])
	if again := s.say(ann, "gone", "new"); again[0].Seq != 1 {
		t.Errorf("a new session of the same id begins with seq %d", again[0].Seq)
	}
}

// checkRoundsOfGraves lets a late worker bring a vector back, twice, and the sweeps take it away again.
func checkRoundsOfGraves(t *testing.T, s *stand, m conversation.Message) {
	t.Helper()
	for _, wait := range []time.Duration{15 * time.Minute, 25 * time.Hour} {
		s.indexed(ann, 0, recall.MessageVectorIDs(m)...)
		if n, err := s.Sweep(t.Context(), 10); err != nil || n != 0 {
			t.Errorf("swept %d too early, %v", n, err)
		}
		s.advance(wait)
		if n, err := s.Sweep(t.Context(), 10); err != nil || n != 1 {
			t.Errorf("swept %d, %v", n, err)
		}
		if s.vectors(ann, 0)[m.ID] {
			t.Error("a vector that came late is still there")
		}
	}
	if count(s.keys(ann), "control#grave#") != 0 {
		t.Error("a grave is still there after its rounds")
	}
}

func TestDeleteSessionGoesOnAfterAFailure(t *testing.T) {
	for _, how := range []string{"repeat", "sweep"} {
		t.Run(how, func(t *testing.T) {
			s := newStand(t)
			s.say(ann, "s", "1", "2")
			s.index.fail = errIndex
			if err := s.DeleteSession(t.Context(), ann, "s"); !errors.Is(err, errIndex) {
				t.Fatalf("delete without an index: %v", err)
			}
			if _, err := s.store.Append(t.Context(), ann, conversation.Append{
				SessionID: "s", Messages: []conversation.NewMessage{{Role: conversation.User, Content: "x"}},
			}); !fault.Is(err, fault.NotFound) {
				t.Errorf("append while it is deleted: %v", err)
			}
			s.index.fail = nil
			if how == "repeat" {
				if err := s.DeleteSession(t.Context(), ann, "s"); err != nil {
					t.Fatal(err)
				}
			} else {
				s.advance(time.Hour)
				if n, err := s.Sweep(t.Context(), 10); err != nil || n != 1 {
					t.Fatalf("swept %d, %v", n, err)
				}
			}
			if left := count(s.keys(ann), "msg#"); left != 0 || len(s.vectors(ann, 0)) != 0 {
				t.Errorf("%d messages and vectors %v are left", left, s.vectors(ann, 0))
			}
		})
	}
}

func TestDeleteMessage(t *testing.T) {
	s := newStand(t)
	m := s.say(ann, "s", "1", "2", "3")
	s.summarize(ann, "s")
	fact := s.remember(longterm.Extracted, m[1])
	s.keepPrompt("s")
	if err := s.DeleteMessage(t.Context(), ann, "other", m[1].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("delete it from another session: %v", err)
	}
	if err := s.DeleteMessage(t.Context(), bob, "s", m[1].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("delete another user's: %v", err)
	}
	before, err := s.store.Session(t.Context(), ann, "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteMessage(t.Context(), ann, "s", m[1].ID); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteMessage(t.Context(), ann, "s", m[1].ID); !fault.Is(err, fault.NotFound) {
		t.Errorf("delete it again: %v", err)
	}
	session, messages := s.read("s")
	if session.MessageCount != 2 || session.LastSeq != 3 || session.Summary != nil || session.SummarizedSeq != 0 || session.DueAt.After(s.clock()) {
		t.Errorf("session after: %+v", session)
	}
	if len(messages) != 2 || messages[1].Seq != 3 {
		t.Errorf("messages after: %v", messages)
	}
	if diff := cmp.Diff(map[string]bool{m[0].ID: true, m[2].ID: true}, s.vectors(ann, 0)); diff != "" {
		t.Errorf("vectors (-want +got), without %s:\n%s", fact.ID, diff)
	}
	if keys := s.keys(ann); count(keys, "summary#")+count(keys, "prompt#")+count(keys, "ltm#memory#") != 0 {
		t.Errorf("left are %v", keys)
	}
	// A summariser that had read the message before it was deleted comes too late.
	late := s.summaryOf(before)
	if err := s.store.SaveSummary(t.Context(), ann, before, late); !fault.Is(err, fault.Conflict) {
		t.Errorf("save a summary made of a deleted message: %v", err)
	}
	checkRoundsOfGraves(t, s, m[1])
}

func (s *stand) read(id string) (conversation.Session, []conversation.Message) {
	s.t.Helper()
	session, err := s.store.Session(s.t.Context(), ann, id)
	if err != nil {
		s.t.Fatal(err)
	}
	messages, _, err := s.store.Messages(s.t.Context(), ann, id, conversation.Page{Limit: 200})
	if err != nil {
		s.t.Fatal(err)
	}
	return session, messages
}

func TestDeleteMessagesAtTheEnds(t *testing.T) {
	s := newStand(t)
	var m []conversation.Message
	for range 4 {
		m = append(m, s.say(ann, "s", fmt.Sprint("m", len(m)))...)
		s.advance(time.Hour)
	}
	for _, step := range []struct{ delete, first, last int }{{0, 1, 3}, {3, 1, 2}, {1, 2, 2}} {
		if err := s.DeleteMessage(t.Context(), ann, "s", m[step.delete].ID); err != nil {
			t.Fatal(err)
		}
		session, messages := s.read("s")
		if !session.StartedAt.Equal(m[step.first].Timestamp) || !session.LastMessageAt.Equal(m[step.last].Timestamp) {
			t.Errorf("without %d the session goes from %v to %v", step.delete, session.StartedAt, session.LastMessageAt)
		}
		if len(messages) != session.MessageCount {
			t.Errorf("without %d: %d messages, the session counts %d", step.delete, len(messages), session.MessageCount)
		}
	}
	if err := s.DeleteMessage(t.Context(), ann, "s", m[2].ID); err != nil {
		t.Fatal(err)
	}
	session, messages := s.read("s")
	if len(messages) != 0 || session.MessageCount != 0 || !session.StartedAt.IsZero() || session.SummarizedSeq != session.LastSeq {
		t.Errorf("without any: %v, %+v", messages, session)
	}
	if more := s.say(ann, "s", "more"); more[0].Seq != 5 {
		t.Errorf("the next message has seq %d, want 5", more[0].Seq)
	}
}

func TestDeleteMessagesWhileAppending(t *testing.T) {
	s := newStand(t)
	m := s.say(ann, "s", "1", "2", "3", "4", "5", "6", "7", "8")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := s.DeleteMessage(t.Context(), ann, "s", m[i].ID); err != nil {
				t.Errorf("delete %d: %v", i, err)
			}
		})
		wg.Go(func() { s.say(ann, "s", fmt.Sprint("more", i)) })
	}
	wg.Wait()
	session, messages := s.read("s")
	if session.MessageCount != 8 || session.LastSeq != 16 || len(messages) != 8 || len(session.Deleted) != 1 {
		t.Errorf("%d messages, session %+v", len(messages), session)
	}
}

func TestErase(t *testing.T) {
	s := newStand(t)
	for i := range 3 {
		s.say(ann, fmt.Sprint("s", i), fmt.Sprint("m", i), fmt.Sprint("n", i))
	}
	s.summarize(ann, "s0")
	s.remember(longterm.Seeded)
	s.keepPrompt("s1")
	if _, err := s.store.Profiles().Put(t.Context(), ann, longterm.Profile{Name: "Ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Preferences().Put(t.Context(), ann, longterm.Preferences{Timezone: "UTC"}); err != nil {
		t.Fatal(err)
	}
	s.say(bob, "s0", "bob's")
	dynamotest.Put(t, s.table, ann, "workout#1", nil)
	dynamotest.Put(t, s.table, ann, "summary#the app's own", nil)
	dynamotest.Put(t, s.table, ann, "conversation#legacy", map[string]types.AttributeValue{"messages": &types.AttributeValueMemberL{}})
	session, err := s.store.Session(t.Context(), ann, "s1")
	if err != nil {
		t.Fatal(err)
	}
	vectors := len(s.vectors(ann, 0))
	got, err := s.Erase(t.Context(), ann, s.clock().Add(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	want := erasure.Receipt{
		Done: true, Vectors: vectors, ErasedAt: s.clock(), Generation: 1, BackupsUntil: s.clock().Add(erasure.DefaultBackups),
		Counts: map[string]int{
			"session": 4, "message": 6, "summary": 1, "memory": 1, "prompt": 1, "profile": 1, "control": 1, "idempotency": 6, "fresh": 3,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	left := s.keys(ann)
	slices.Sort(left)
	if diff := cmp.Diff([]string{"control#generation", "summary#the app's own", "workout#1"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if messages, _, err := s.store.Messages(t.Context(), bob, "s0", conversation.Page{Limit: 9}); err != nil || len(messages) != 1 {
		t.Errorf("another user's messages: %v, %v", messages, err)
	}
	checkNothingComesBack(t, s, session)
}

// checkNothingComesBack lets workers that were late write, and the user come back.
func checkNothingComesBack(t *testing.T, s *stand, old conversation.Session) {
	t.Helper()
	if err := s.store.SaveSummary(t.Context(), ann, old, s.summaryOf(old)); !fault.Is(err, fault.NotFound) {
		t.Errorf("a late summary: %v", err)
	}
	late := prompt.Kept{ID: "prompt_1770000000000_x", ExpiresAt: s.clock().Add(time.Hour)}
	if err := s.store.Keep(t.Context(), ann, late); !fault.Is(err, fault.Conflict) {
		t.Errorf("a late prompt: %v", err)
	}
	for op, err := range map[string]error{
		"rearm": s.store.Rearm(t.Context(), ann, old, s.clock()), "settle": s.store.Settle(t.Context(), ann, old),
	} {
		if err != nil && !fault.Is(err, fault.NotFound) {
			t.Errorf("a late %s: %v", op, err)
		}
	}
	s.indexed(ann, 0, "late vector")
	back := s.say(ann, "s1", "m1") // the same id, the same text, the same idempotency key
	if back[0].Generation != 1 || back[0].Seq != 1 {
		t.Errorf("who comes back gets %+v", back[0])
	}
	s.advance(15 * time.Minute)
	if n, err := s.Sweep(t.Context(), 10); err != nil || n != 1 {
		t.Errorf("swept %d, %v", n, err)
	}
	if old, now := s.vectors(ann, 0), s.vectors(ann, 1); len(old) != 0 || len(now) != 1 {
		t.Errorf("vectors of before %v, of now %v", old, now)
	}
	if session, messages := s.read("s1"); len(messages) != 1 || session.Generation != 1 {
		t.Errorf("what was stored since: %v", messages)
	}
}

func TestEraseInSteps(t *testing.T) {
	s := newStand(t)
	for i := range 30 {
		s.say(ann, "s", fmt.Sprint(i))
	}
	s.index.fail = errIndex
	if _, err := s.Erase(t.Context(), ann, s.clock().Add(time.Minute)); !errors.Is(err, errIndex) {
		t.Fatalf("erase without an index: %v", err)
	}
	s.index.fail = nil
	out, err := s.Erase(t.Context(), ann, s.clock())
	if err != nil || out.Done || out.Generation != 1 || out.Counts["message"] != 30 {
		t.Fatalf("erase without time: %+v, %v", out, err)
	}
	// While one call has the user, another tells how far it is.
	if _, held, err := s.store.BeginErasure(t.Context(), ann, s.clock().Add(time.Minute)); err != nil || !held {
		t.Fatalf("held %v, %v", held, err)
	}
	if out, err = s.Erase(t.Context(), ann, s.clock().Add(time.Minute)); err != nil || out.Done || out.Counts["message"] != 30 {
		t.Errorf("erase at the same time: %+v, %v", out, err)
	}
	s.advance(2 * time.Minute)
	out, err = s.Erase(t.Context(), ann, s.clock().Add(time.Minute))
	if err != nil || !out.Done || out.Generation != 1 || out.Vectors != 30 || out.Counts["message"] != 30 {
		t.Errorf("erase to the end: %+v, %v", out, err)
	}
	if out, err = s.Erase(t.Context(), ann, s.clock().Add(time.Minute)); err != nil || out.Generation != 2 || len(out.Counts) != 0 {
		t.Errorf("erase again: %+v, %v", out, err)
	}
}

// TestEraseWhileWriting erases while the user writes: what is acknowledged in a session made afterwards stays, and
// nothing of before is left.
func TestEraseWhileWriting(t *testing.T) {
	s := newStand(t)
	s.say(ann, "s", "before")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				in := conversation.Append{SessionID: "s", Messages: []conversation.NewMessage{{Role: conversation.User, Content: fmt.Sprint(w, i)}}}
				if _, err := s.store.Append(t.Context(), ann, in); err != nil && !fault.Is(err, fault.NotFound) {
					t.Errorf("append: %v", err)
				}
				_, err := s.store.CreateSession(t.Context(), ann, conversation.NewSession{ID: fmt.Sprint(w, ".", i), Context: "workout_log", CoachID: "c"}, conversation.Idempotency{})
				if err != nil {
					t.Errorf("create: %v", err)
				}
			}
		})
	}
	out, err := s.Erase(t.Context(), ann, s.clock().Add(time.Minute))
	close(stop)
	wg.Wait()
	if err != nil || !out.Done {
		t.Fatalf("erase: %+v, %v", out, err)
	}
	if n := count(s.keys(ann), "msg#"); n != 0 {
		t.Errorf("%d messages are left", n)
	}
	sessions, _, err := s.store.Sessions(t.Context(), ann, conversation.SessionFilter{}, conversation.Page{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range sessions {
		if x.Generation != 1 {
			t.Errorf("session %s is of generation %d", x.ID, x.Generation)
		}
	}
}
