package dynamo_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// joins is how many answers a user may join at once.
const joins = 2

// joining is a turn that one instance answers, and others join.
type joining struct {
	*bounded
	t               *testing.T
	answers, others *dynamo.TurnStore
	turn            conversation.Turn
}

func newJoining(t *testing.T) *joining {
	j := &joining{bounded: newBounded(t), t: t}
	j.answers = dynamo.NewTurnStore(j.db)
	j.others = dynamo.NewTurnStore(j.open(t, joins))
	j.turn = j.mustBegin(t, "a", "k")
	return j
}

func (j *joining) join() conversation.Joined {
	j.t.Helper()
	joined, err := j.others.JoinTurn(j.t.Context(), alice, "a", longestTurn)
	check.OK(j.t, err)
	return joined
}

func (j *joining) follow(joined conversation.Joined) (conversation.Progress, error) {
	return j.others.FollowTurn(j.t.Context(), alice, joined)
}

func (j *joining) hasNoMark() {
	j.t.Helper()
	for _, sk := range dynamotest.Keys(j.t, j.table, alice) {
		if strings.HasPrefix(sk, "answer#") {
			j.t.Errorf("the turn has ended, and there is %s", sk)
		}
	}
}

// TestJoinTurn joins a turn of another instance, from the question to the answer.
func TestJoinTurn(t *testing.T) {
	t.Parallel()
	j := newJoining(t)
	if wanted, err := j.answers.CheckTurn(t.Context(), alice, j.turn); err != nil || wanted {
		t.Errorf("before anybody joined: %t, %v", wanted, err)
	}
	joined := j.join()
	if joined.End == nil {
		t.Fatal("nothing to join")
	}
	if wanted, err := j.answers.CheckTurn(t.Context(), alice, j.turn); err != nil || !wanted {
		t.Errorf("somebody has joined: %t, %v", wanted, err)
	}
	said := conversation.Progress{PromptID: "prompt_1", Text: "Rest "}
	check.OK(t, j.answers.SaveProgress(t.Context(), alice, j.turn, said))
	p, err := j.follow(joined)
	if err != nil || p.Text != "Rest " || p.PromptID != "prompt_1" || p.QuestionID != j.turn.Message.ID ||
		p.AnswerID != j.turn.AnswerID || p.Answer != nil || p.Ended {
		t.Errorf("while it is generated: %+v, %v", p, err)
	}
	checkFault(t, errorOf(j.others.JoinTurn(t.Context(), bob, "a", longestTurn)), fault.NotFound, "another user joins")
	j.finish(t, j.turn)
	if p, err = j.follow(joined); err != nil || p.Answer == nil || p.Answer.ID != j.turn.AnswerID || p.Text != "" {
		t.Errorf("afterwards: %+v, %v", p, err)
	}
	if err := j.answers.SaveProgress(t.Context(), alice, j.turn, said); err != nil {
		t.Errorf("a late save: %v", err)
	}
	j.hasNoMark()
	if again := j.join(); again.End != nil {
		t.Error("an answer that is stored was joined")
	}
}

// TestJoinedTurnEnds ends a turn that somebody has joined in every other way. None leaves its text.
func TestJoinedTurnEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(*joining) error
		want fault.Code
	}{
		"released": {func(j *joining) error { return j.answers.ReleaseTurn(j.t.Context(), alice, j.turn) }, ""},
		"deleted": {func(j *joining) error {
			return errorOf(j.Deletion.DeleteSession(j.t.Context(), alice, "a", j.now))
		}, fault.NotFound},
		"erased": {func(j *joining) error { j.erase(j.t); return nil }, fault.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJoining(t)
			joined := j.join()
			said := conversation.Progress{PromptID: "prompt_1", Text: "a secret"}
			check.OK(t, j.answers.SaveProgress(t.Context(), alice, j.turn, said))
			check.OK(t, tc.end(j))
			if err := j.answers.SaveProgress(t.Context(), alice, j.turn, said); err != nil {
				t.Errorf("a late save: %v", err)
			}
			p, err := j.follow(joined)
			if tc.want == "" && (err != nil || !p.Ended || p.Text != "") || tc.want != "" && !fault.Is(err, tc.want) {
				t.Errorf("%+v, %v", p, err)
			}
			j.hasNoMark()
		})
	}
}

// TestJoinedTurnLapses joins a turn whose process is gone.
func TestJoinedTurnLapses(t *testing.T) {
	t.Parallel()
	j := newJoining(t)
	joined := j.join()
	j.now = j.now.Add(turnLease + time.Second)
	if p, err := j.follow(joined); err != nil || !p.Ended {
		t.Errorf("%+v, %v", p, err)
	}
	if late := j.join(); late.End != nil {
		t.Error("a turn that nobody answers was joined")
	}
	taken := j.mustBegin(t, "a", "k")
	if p, err := j.follow(joined); err != nil || !p.Ended {
		t.Errorf("after it was taken over: %+v, %v", p, err)
	}
	if again := j.join(); again.End == nil || again.Lease != taken.Lease {
		t.Errorf("the turn that was taken over: %+v", again)
	}
}

// TestJoinsAreBounded joins an answer more often than a user may, and again after one has left.
func TestJoinsAreBounded(t *testing.T) {
	t.Parallel()
	j := newJoining(t)
	first := j.join()
	for range joins - 1 {
		j.join()
	}
	checkFault(t, errorOf(j.others.JoinTurn(t.Context(), alice, "a", longestTurn)), fault.RateLimited, "one too many")
	check.OK(t, first.End(context.WithoutCancel(t.Context())))
	j.join()
}

// TestJoinOfTwoTurns answers two questions of a session at once. The last one is joined, and the end of the other
// leaves its mark.
func TestJoinOfTwoTurns(t *testing.T) {
	t.Parallel()
	j := newJoining(t)
	second := j.mustBegin(t, "a", "k2")
	j.finish(t, j.turn)
	joined := j.join()
	if joined.End == nil || joined.Lease != second.Lease {
		t.Fatalf("joined %+v", joined)
	}
	j.finish(t, second)
	if p, err := j.follow(joined); err != nil || p.Answer == nil {
		t.Errorf("%+v, %v", p, err)
	}
}
