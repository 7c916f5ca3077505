package dynamo_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/testing/check"
)

func turnWithKey(key string) conversation.Append {
	question := userMessages("how was it?")
	question[0].AwaitsAnswer = true
	return conversation.Append{
		SessionID: "t", Messages: question,
		Idempotency: conversation.Idempotency{Scope: "POST /v1/chat", Key: key, BodyHash: "h"},
	}
}

func testTurn(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "t")
	begun, err := s.Turns.BeginTurn(t.Context(), alice, turnWithKey("k"), time.Minute)
	if err != nil || begun.Lease == "" || begun.Message.Seq != 1 || begun.Session.LastSeq != 1 || begun.Answer != nil {
		t.Fatalf("begin: %+v, %v", begun, err)
	}
	_, err = s.Turns.BeginTurn(t.Context(), alice, turnWithKey("k"), time.Minute)
	if !fault.Is(err, fault.Conflict) || fault.From(err).RetryAfter <= 0 {
		t.Errorf("a repeat while the turn runs: %v", err)
	}
	check.OK(t, s.Turns.RenewTurn(t.Context(), alice, begun, -time.Second))
	taken, err := s.Turns.BeginTurn(t.Context(), alice, turnWithKey("k"), time.Minute)
	if err != nil || taken.Lease == begun.Lease {
		t.Fatalf("a repeat after the lease lapsed: %+v, %v", taken, err)
	}
	sameMessages(t, begun.Message, taken.Message, "the message taken over")
	checkFault(t, s.Turns.RenewTurn(t.Context(), alice, begun, time.Minute), fault.Conflict, "renew a lost lease")
	taken = releaseAndTake(t, s, taken)
	answer := conversation.NewMessage{Role: conversation.RoleAssistant, Content: "fine"}
	done, err := s.Turns.FinishTurn(t.Context(), alice, taken, answer)
	if err != nil || done.Seq != 2 {
		t.Fatalf("finish: %+v, %v", done, err)
	}
	if begun.AnswerID == "" || taken.AnswerID == begun.AnswerID || done.ID != taken.AnswerID {
		t.Errorf("planned %s, after the turn was taken %s; stored as %s", begun.AnswerID, taken.AnswerID, done.ID)
	}
	answer.Content = "late"
	late, err := s.Turns.FinishTurn(t.Context(), alice, begun, answer)
	check.OK(t, err)
	sameMessages(t, done, late, "the second FinishTurn returns")
	checkFinished(t, s, begun.Message, done)
}

// releaseAndTake releases a turn and takes it again. A renewal that was on its way meanwhile must not reserve the turn.
func releaseAndTake(t *testing.T, s *fixture, turn conversation.Turn) conversation.Turn {
	t.Helper()
	check.OK(t, s.Turns.ReleaseTurn(t.Context(), alice, turn))
	checkFault(t, s.Turns.RenewTurn(t.Context(), alice, turn, time.Minute), fault.Conflict,
		"a renewal after the release")
	again, err := s.Turns.BeginTurn(t.Context(), alice, turnWithKey("k"), time.Minute)
	if err != nil || again.Lease == turn.Lease {
		t.Fatalf("a repeat after the release: %+v, %v", again, err)
	}
	return again
}

func checkFinished(t *testing.T, s *fixture, asked, answered conversation.Message) {
	t.Helper()
	replay, err := s.Turns.BeginTurn(t.Context(), alice, turnWithKey("k"), time.Minute)
	if err != nil || replay.Answer == nil {
		t.Fatalf("a repeat afterwards: %+v, %v", replay, err)
	}
	first, again := []conversation.Message{asked, answered}, []conversation.Message{replay.Message, *replay.Answer}
	sameMessages(t, first, again, "the replayed turn")
	other := turnWithKey("k")
	other.Idempotency.BodyHash = "h2"
	checkFault(t, errorOf(s.Turns.BeginTurn(t.Context(), alice, other, time.Minute)), fault.IdempotencyMismatch,
		"another body")
	got := allMessages(t, s, alice, "t", conversation.Page{Limit: 50})
	checkComplete(t, got, 2)
}

// TestPlannedAnswer appends a message between a question and its answer. The answer follows it, with an id of its own.
func TestPlannedAnswer(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "t")
	for i, between := range []int{0, 1, 0} {
		begun, err := s.Turns.BeginTurn(t.Context(), alice, turnWithKey(fmt.Sprint("k", i)), time.Minute)
		check.OK(t, err)
		for range between {
			check.Got(s.Messages.Append(t.Context(), alice, newAppend("t", "by the way")))(t)
		}
		s.advance(time.Second)
		done, err := s.Turns.FinishTurn(t.Context(), alice, begun, conversation.NewMessage{
			Role: conversation.RoleAssistant, Content: "fine",
		})
		if err != nil || done.Seq != begun.Message.Seq+1+between {
			t.Fatalf("finish: %+v, %v", done, err)
		}
		if (done.ID == begun.AnswerID) != (between == 0) {
			t.Errorf("with %d messages between, %s was planned, and %s stored", between, begun.AnswerID, done.ID)
		}
		if since := done.Timestamp.Sub(begun.Message.Timestamp); since <= 0 || since > time.Second {
			t.Errorf("the answer is %v after the question", since)
		}
	}
}

// TestAnswerToADeletedMessage takes a message out of its session while its answer is generated, as a client does that
// stops an answer and edits its question. The answer is not stored, and the turn does not begin again.
func TestAnswerToADeletedMessage(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	other := conversation.NewMessage{Role: conversation.RoleUser, Content: "edited"}
	cut := func(m conversation.Message, with ...conversation.NewMessage) error {
		_, _, err := s.Deletion.Truncate(t.Context(), alice, conversation.Truncation{
			SessionID: m.SessionID, AfterSeq: new(m.Seq - 1), Replacement: with,
		}, indexing.MessageVectorIDs, start)
		return err
	}
	for name, remove := range map[string]func(m conversation.Message) error{
		"cut":    func(m conversation.Message) error { return cut(m) },
		"edited": func(m conversation.Message) error { return cut(m, other) },
		"deleted": func(m conversation.Message) error {
			return errorOf(s.Deletion.DeleteMessage(t.Context(), alice, m, nil, start))
		},
	} {
		for _, key := range []string{"", "k"} {
			in := turnWithKey(key)
			if in.SessionID = name + key; key != "" {
				in.Idempotency.Key = in.SessionID
			}
			createSession(t, s, alice, coach, in.SessionID)
			begun := check.Got(s.Turns.BeginTurn(t.Context(), alice, in, time.Minute))(t)
			check.OK(t, remove(begun.Message))
			_, err := s.Turns.(conversation.TurnWatcher).CheckTurn(t.Context(), alice, begun)
			checkFault(t, err, fault.Conflict, "%s: the turn is checked", in.SessionID)
			_, err = s.Turns.FinishTurn(t.Context(), alice, begun, conversation.NewMessage{
				Role: conversation.RoleAssistant, Content: "late",
			})
			checkFault(t, err, fault.Conflict, "%s: the turn ends", in.SessionID)
			want := 0
			if name == "edited" {
				want = 1
			}
			if got := allMessages(t, s, alice, in.SessionID, conversation.Page{Limit: 50}); len(got) != want {
				t.Errorf("%s: the session has %+v", in.SessionID, got)
			}
			if key == "" {
				continue
			}
			check.OK(t, s.Turns.ReleaseTurn(t.Context(), alice, begun))
			for range 2 {
				err := errorOf(s.Turns.BeginTurn(t.Context(), alice, in, time.Minute))
				checkFault(t, err, fault.NotFound, "%s: the turn is repeated", in.SessionID)
			}
		}
	}
}

func testTurnWithoutKey(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "t")
	in := turnWithKey("")
	begun, err := s.Turns.BeginTurn(t.Context(), alice, in, time.Minute)
	if err != nil || begun.Lease != "" {
		t.Fatalf("begin: %+v, %v", begun, err)
	}
	check.OK(t, s.Turns.RenewTurn(t.Context(), alice, begun, time.Minute))
	check.Got(s.Turns.FinishTurn(t.Context(), alice, begun, userMessages("fine")[0]))(t)
	in.Messages = userMessages("two", "at once")
	if two, err := s.Turns.BeginTurn(t.Context(), alice, in, time.Minute); err != nil || two.Message.Content != "at once" {
		t.Errorf("two messages: %+v, %v", two, err)
	}
	// Of many concurrent calls with one key, exactly one gets the lease.
	var successes atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_, err := s.Turns.BeginTurn(t.Context(), alice, turnWithKey("race"), time.Minute)
			if err == nil {
				successes.Add(1)
			} else {
				checkFault(t, err, fault.Conflict, "a concurrent turn")
			}
		})
	}
	wg.Wait()
	if successes.Load() != 1 {
		t.Errorf("%d of 20 concurrent turns began, want 1", successes.Load())
	}
}
