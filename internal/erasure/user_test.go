package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

func TestErase(t *testing.T) {
	s := newFixture(t)
	for i := range 3 {
		s.addMessages(ann, fmt.Sprint("s", i), fmt.Sprint("m", i), fmt.Sprint("n", i))
	}
	s.summarize(ann, "s0")
	s.remember(longterm.Seeded)
	s.savePrompt("s1")
	check.Got(s.store.Profiles.Put(t.Context(), ann, longterm.Profile{Name: "Ann"}))(t)
	check.Got(s.store.Preferences.Put(t.Context(), ann, longterm.Preferences{Timezone: "UTC"}))(t)
	s.addMessages(bob, "s0", "bob's")
	dynamotest.Put(t, s.table, ann, "workout#1", nil)
	dynamotest.Put(t, s.table, ann, "summary#the app's own", nil)
	dynamotest.Put(t, s.table, ann, "conversation#legacy", map[string]types.AttributeValue{
		"messages": &types.AttributeValueMemberL{},
	})
	session := check.Got(s.store.Sessions.Session(t.Context(), ann, "s1"))(t)
	vectors := len(s.vectors(ann, 0))
	got := check.Got(s.Erase(t.Context(), ann, s.Time().Add(20*time.Second)))(t)
	want := erasure.Receipt{BackupsUntil: s.Time().Add(erasure.DefaultBackups), Progress: erasure.Progress{
		Done: true, Vectors: vectors, ErasedAt: s.Time(), Generation: 1,
		Counts: map[string]int{
			"session": 4, "message": 6, "summary": 1, "memory": 1, "prompt": 1, "profile": 1, "control": 2, "idempotency": 6,
			"fresh": 3,
		},
		Left: map[string]int{"control#": 1, "summary#": 1, "workout#": 1},
	}}
	check.Same(t, want, got, "receipt")
	left := s.keys(ann)
	slices.Sort(left)
	check.Same(t, []string{"control#generation", "summary#the app's own", "workout#1"}, left, "left")
	messages, _, err := s.store.Messages.Messages(t.Context(), bob, "s0", conversation.Page{Limit: 9})
	if err != nil || len(messages) != 1 {
		t.Errorf("another user's messages: %v, %v", messages, err)
	}
	checkNothingComesBack(t, s, session)
}

// checkNothingComesBack repeats late writes of background workers after an erasure, and the user starts again.
func checkNothingComesBack(t *testing.T, s *fixture, old conversation.Session) {
	t.Helper()
	check.Fault(t, s.store.Summaries.SaveSummary(t.Context(), ann, old, s.summaryOf(old)), fault.NotFound,
		"a late summary")
	late := prompt.StoredPrompt{ID: "prompt_1770000000000_x", ExpiresAt: s.Time().Add(time.Hour)}
	check.Fault(t, s.store.Prompts.SavePrompt(t.Context(), ann, late), fault.Conflict, "a late prompt")
	if settled, err := s.store.Summaries.Settle(t.Context(), ann, old); settled || err != nil {
		t.Errorf("settled late: %v, %v", settled, err)
	}
	s.indexed(ann, 0, "late vector")
	back := s.addMessages(ann, "s1", "m1") // the same id, the same text, the same idempotency key
	if back[0].Generation != 1 || back[0].Seq != 1 {
		t.Errorf("who comes back gets %+v", back[0])
	}
	s.Advance(15 * time.Minute)
	if n, err := s.sweep(); err != nil || n != 1 {
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
	s := newFixture(t)
	for i := range 30 {
		s.addMessages(ann, "s", fmt.Sprint(i))
	}
	s.index.fail = errIndex
	for range 2 {
		out, err := s.Erase(t.Context(), ann, s.Time().Add(time.Minute))
		if !errors.Is(err, errIndex) || out.Done || out.Generation != 1 || out.Counts["message"] != 30 {
			t.Fatalf("erase without an index: %+v, %v", out, err)
		}
	}
	s.index.fail = nil
	out, err := s.Erase(t.Context(), ann, s.Time())
	if err != nil || out.Done || out.Generation != 1 || out.Counts["message"] != 30 {
		t.Fatalf("erase without time: %+v, %v", out, err)
	}
	// While one call holds the lease, another returns its progress.
	if _, held, err := s.store.Erasures.BeginErasure(t.Context(), ann, s.Time().Add(time.Minute)); err != nil || !held {
		t.Fatalf("held %v, %v", held, err)
	}
	out, err = s.Erase(t.Context(), ann, s.Time().Add(time.Minute))
	if err != nil || out.Done || out.Counts["message"] != 30 {
		t.Errorf("erase at the same time: %+v, %v", out, err)
	}
	s.Advance(2 * time.Minute)
	out, err = s.Erase(t.Context(), ann, s.Time().Add(time.Minute))
	if err != nil || !out.Done || out.Generation != 1 || out.Vectors != 30 || out.Counts["message"] != 30 {
		t.Errorf("erase to the end: %+v, %v", out, err)
	}
	out, err = s.Erase(t.Context(), ann, s.Time().Add(time.Minute))
	if err != nil || out.Generation != 2 || len(out.Counts) != 0 {
		t.Errorf("erase again: %+v, %v", out, err)
	}
}

// hangingIndex answers only when the caller gives up. timeLeft is how long the caller would have waited at most.
type hangingIndex struct {
	erasure.Index
	timeLeft time.Duration
}

func (i *hangingIndex) Drop(ctx context.Context, _ conversation.UserID, _ int64) (int, error) {
	end, _ := ctx.Deadline()
	i.timeLeft = time.Until(end)
	<-ctx.Done()
	return 0, ctx.Err()
}

// TestEraseStopsAtItsDeadline erases with an index that hangs. The erasure ends at its deadline, and what was deleted
// is saved.
func TestEraseStopsAtItsDeadline(t *testing.T) {
	s := newFixture(t)
	s.addMessages(ann, "s", "1", "2")
	hanging := &hangingIndex{}
	deps := s.Deps
	deps.Index, deps.Now = hanging, time.Now
	// The table's clock does not move, so only the erasure's own time passes.
	out, err := erasure.New(deps).Erase(t.Context(), ann, time.Now().Add(2*time.Second))
	if !errors.Is(err, context.DeadlineExceeded) || out.Done || out.Generation != 1 || out.Counts["message"] != 2 {
		t.Errorf("erase with an index that hangs: %+v, %v", out, err)
	}
	if hanging.timeLeft > 2*time.Second {
		t.Errorf("the index had %v left", hanging.timeLeft)
	}
	out, err = s.Erase(t.Context(), ann, s.Time().Add(time.Minute))
	if err != nil || !out.Done || out.Generation != 1 || out.Counts["message"] != 2 || out.Vectors != 2 {
		t.Errorf("erase with an index that answers: %+v, %v", out, err)
	}
}

// cancellingIndex ends the caller's context instead of dropping vectors.
type cancellingIndex struct {
	erasure.Index
	cancel context.CancelFunc
}

func (i cancellingIndex) Drop(ctx context.Context, _ conversation.UserID, _ int64) (int, error) {
	i.cancel()
	return 0, ctx.Err()
}

// TestEraseSavesProgressAfterCancel ends the context of an erasure. What was deleted is saved, and the next call can go
// on at once.
func TestEraseSavesProgressAfterCancel(t *testing.T) {
	s := newFixture(t)
	s.addMessages(ann, "s", "1", "2")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	deps := s.Deps
	deps.Index = cancellingIndex{cancel: cancel}
	out, err := erasure.New(deps).Erase(ctx, ann, s.Time().Add(time.Minute))
	if !errors.Is(err, context.Canceled) || out.Counts["message"] != 2 {
		t.Errorf("erase with a context that ends: %+v, %v", out, err)
	}
	out, err = s.Erase(t.Context(), ann, s.Time().Add(time.Minute))
	if err != nil || !out.Done || out.Counts["message"] != 2 {
		t.Errorf("erase again: %+v, %v", out, err)
	}
}

// failingStore fails to save the progress of an erasure.
type failingStore struct{ erasure.UserStore }

func (failingStore) SaveErasure(context.Context, conversation.UserID, erasure.Progress, time.Time) error {
	return errIndex
}

// TestEraseReportsOnlySavedProgress erases everything and fails to save that. The answer counts nothing, and the next
// call goes on.
func TestEraseReportsOnlySavedProgress(t *testing.T) {
	s := newFixture(t)
	s.addMessages(ann, "s", "1", "2")
	deps := s.Deps
	deps.Users = failingStore{deps.Users}
	out, err := erasure.New(deps).Erase(t.Context(), ann, s.Time().Add(time.Minute))
	if !errors.Is(err, errIndex) || out.Done || out.Generation != 1 || len(out.Counts) != 0 {
		t.Errorf("erase without saving: %+v, %v", out, err)
	}
	s.Advance(2 * time.Minute)
	if out, err = s.Erase(t.Context(), ann, s.Time().Add(time.Minute)); err != nil || !out.Done || out.Generation != 1 {
		t.Errorf("erase again: %+v, %v", out, err)
	}
}

// TestEraseWhileWriting erases while the user writes. What is acknowledged in a session that was created afterwards
// stays, and nothing from before is left.
func TestEraseWhileWriting(t *testing.T) {
	s := newFixture(t)
	s.addMessages(ann, "s", "before")
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
				message := conversation.NewMessage{Role: conversation.RoleUser, Content: fmt.Sprint(w, i)}
				in := conversation.Append{SessionID: "s", Messages: []conversation.NewMessage{message}}
				if _, err := s.store.Messages.Append(t.Context(), ann, in); err != nil && !fault.Is(err, fault.NotFound) {
					t.Errorf("append: %v", err)
				}
				another := conversation.NewSession{ID: fmt.Sprint(w, ".", i), Context: "workout_log", CoachID: "c"}
				_, err := s.store.Sessions.CreateSession(t.Context(), ann, another, conversation.Idempotency{})
				if err != nil {
					t.Errorf("create: %v", err)
				}
			}
		})
	}
	out, err := s.Erase(t.Context(), ann, s.Time().Add(time.Minute))
	close(stop)
	wg.Wait()
	if err != nil || !out.Done {
		t.Fatalf("erase: %+v, %v", out, err)
	}
	check.Equal(t, 0, count(s.keys(ann), "msg#"), "messages are left")
	page := conversation.Page{Limit: 200}
	sessions, _, err := s.store.Sessions.Sessions(t.Context(), ann, conversation.SessionFilter{}, page)
	check.OK(t, err)
	for _, x := range sessions {
		if x.Generation != 1 {
			t.Errorf("session %s is of generation %d", x.ID, x.Generation)
		}
	}
}
