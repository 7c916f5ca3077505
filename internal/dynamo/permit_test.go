package dynamo_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// longestTurn and turnLease are how long a crashed turn has its permit, and its idempotency key.
const (
	longestTurn = 150 * time.Second
	turnLease   = 30 * time.Second
)

// permitCase is a table whose users may have some answers at once.
type permitCase struct {
	dynamotest.Stores
	db    *dynamo.DB
	table string
	calls dynamotest.CallCounter
	now   time.Time
}

func newSlotCase(t *testing.T, answers int) *permitCase {
	t.Helper()
	c := &permitCase{table: dynamotest.Table(t), now: start}
	c.db = c.open(t, answers)
	c.Stores = dynamotest.StoresOf(c.db)
	return c
}

// open returns one more instance.
func (c *permitCase) open(t *testing.T, answers int) *dynamo.DB {
	api := dynamotest.Intercept(dynamodbtest.Client(t), dynamotest.Interceptor{Call: c.calls.Call})
	return dynamo.New(api, c.table, dynamo.WithClock(func() time.Time { return c.now }),
		dynamo.WithAnswerLimit(answers, longestTurn))
}

// begin begins a turn in a session of its own, which has the key's name.
func (c *permitCase) begin(t *testing.T, user conversation.UserID, session, key string) (conversation.Turn, error) {
	t.Helper()
	in := conversation.NewSession{ID: session, Context: "coach_conversation", CoachID: "c"}
	_, err := c.Sessions.CreateSession(t.Context(), user, in, noKey)
	if err != nil && !fault.Is(err, fault.Conflict) {
		t.Fatal(err)
	}
	question := dynamotest.OneMessage(session, "q")
	question.Idempotency = conversation.Idempotency{Scope: "chat", Key: key, BodyHash: "h"}
	return c.Turns.BeginTurn(t.Context(), user, question, turnLease)
}

func (c *permitCase) mustBegin(t *testing.T, session, key string) conversation.Turn {
	t.Helper()
	turn, err := c.begin(t, alice, session, key)
	if err != nil {
		t.Fatalf("turn in %s: %v", session, err)
	}
	return turn
}

func (c *permitCase) mustBeBusy(t *testing.T, session, key string) {
	t.Helper()
	_, err := c.begin(t, alice, session, key)
	if !fault.Is(err, fault.RateLimited) || fault.From(err).RetryAfter != 2*time.Second {
		t.Errorf("turn in %s: %v, want rate limited", session, err)
	}
}

func (c *permitCase) finish(t *testing.T, turn conversation.Turn) {
	t.Helper()
	answer := conversation.NewMessage{Role: conversation.RoleAssistant, Content: "a"}
	if _, err := c.Turns.FinishTurn(t.Context(), alice, turn, answer); err != nil {
		t.Errorf("finish: %v", err)
	}
}

func TestAnswersAtOnce(t *testing.T) {
	t.Parallel()
	c := newSlotCase(t, 2)
	first := c.mustBegin(t, "a", "")
	c.mustBegin(t, "b", "kb")
	before := dynamotest.Keys(t, c.table, alice)
	c.mustBeBusy(t, "a", "kc")
	c.mustBeBusy(t, "a", "")
	if diff := cmp.Diff(before, dynamotest.Keys(t, c.table, alice)); diff != "" {
		t.Errorf("the refused turns stored something (-before +after)\n%s", diff)
	}
	checkFault(t, errorOf(c.begin(t, alice, "b", "kb")), fault.Conflict, "a repeat of a running turn")
	if _, err := c.begin(t, "bob", "a", ""); err != nil {
		t.Errorf("another user: %v", err)
	}
	c.finish(t, first)
	third := c.mustBegin(t, "a", "kc")
	c.mustBeBusy(t, "d", "")
	c.finish(t, third)
	c.mustBegin(t, "d", "")
	if again, err := c.begin(t, alice, "a", "kc"); err != nil || again.Answer == nil || again.Permit != "" {
		t.Errorf("a repeat of a finished turn, while all permits are taken: %+v, %v", again, err)
	}
}

// TestSlotsTakeNoCallFromATurn counts the calls of turns that follow each other.
func TestSlotsTakeNoCallFromATurn(t *testing.T) {
	t.Parallel()
	for _, answers := range []int{0, 4} {
		c := newSlotCase(t, answers)
		c.finish(t, c.mustBegin(t, "a", "first"))
		for i := range 8 {
			c.calls.Take()
			question := dynamotest.OneMessage("a", "q")
			question.Idempotency = conversation.Idempotency{Scope: "chat", Key: fmt.Sprint(i), BodyHash: "h"}
			turn := check.Got(c.Turns.BeginTurn(t.Context(), alice, question, turnLease))(t)
			c.finish(t, turn)
			want := []string{"TransactWriteItems", "TransactWriteItems"}
			check.Same(t, want, c.calls.Take(), "a turn with %d permits", answers)
		}
		check.Equal(t, (answers > 0), slices.Contains(dynamotest.Keys(t, c.table, alice), "control#slots"),
			"with %d permits there is a record", answers)
	}
}

// TestCrashedTurns begins turns that never end. Their permits lapse, and a repeat of a crashed turn has its permit
// before.
func TestCrashedTurns(t *testing.T) {
	t.Parallel()
	c := newSlotCase(t, 2)
	c.mustBegin(t, "a", "ka")
	c.now = c.now.Add(time.Second)
	c.mustBegin(t, "b", "")
	c.now = c.now.Add(turnLease)
	repeat := c.mustBegin(t, "a", "ka")
	c.mustBeBusy(t, "c", "")
	c.now = c.now.Add(longestTurn - turnLease + time.Millisecond)
	c.mustBegin(t, "c", "") // the permit of b has lapsed, that of the repeat has not
	c.mustBeBusy(t, "d", "")
	c.finish(t, repeat)
	c.mustBegin(t, "d", "")
}

// TestLateAnswers finishes a turn whose permit has lapsed and is another turn's.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	c := newSlotCase(t, 1)
	late := c.mustBegin(t, "a", "")
	c.now = c.now.Add(longestTurn + time.Millisecond)
	c.mustBegin(t, "b", "")
	c.finish(t, late)
	c.mustBeBusy(t, "c", "")
}

// TestReleasedTurns gives turns back that have no answer.
func TestReleasedTurns(t *testing.T) {
	t.Parallel()
	c := newSlotCase(t, 1)
	for _, key := range []string{"", "k", "k"} {
		turn := c.mustBegin(t, "a", key)
		c.mustBeBusy(t, "b", "")
		check.OK(t, c.Turns.RenewTurn(t.Context(), alice, turn, turnLease))
		c.mustBeBusy(t, "b", "")
		check.OK(t, c.Turns.ReleaseTurn(t.Context(), alice, turn))
	}
	c.mustBegin(t, "b", "")
}

// TestRacesForSlots begins many turns at once, at two instances, and then ends those that have begun. Each time as many
// begin as may.
func TestRacesForSlots(t *testing.T) {
	t.Parallel()
	const answers, turns = 3, 12
	c := newSlotCase(t, answers)
	instances := []conversation.TurnStore{c.Turns, dynamo.NewTurnStore(c.open(t, answers))}
	for i := range turns {
		in := conversation.NewSession{ID: fmt.Sprint(i), Context: "coach_conversation", CoachID: "c"}
		check.Got(c.Sessions.CreateSession(t.Context(), alice, in, noKey))(t)
	}
	for round := range 3 {
		var mu sync.Mutex
		var begun []conversation.Turn
		var racing sync.WaitGroup
		for i := range turns {
			racing.Go(func() {
				turn, err := instances[i%2].BeginTurn(t.Context(), alice, dynamotest.OneMessage(fmt.Sprint(i), "q"), turnLease)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					begun = append(begun, turn)
				} else {
					checkFault(t, err, fault.RateLimited, "round %d", round)
				}
			})
		}
		racing.Wait()
		if len(begun) != answers {
			t.Errorf("round %d: %d of %d turns have begun, want %d", round, len(begun), turns, answers)
		}
		for _, turn := range begun {
			racing.Go(func() { c.finish(t, turn) })
		}
		racing.Wait()
	}
}

func TestExportsAtOnce(t *testing.T) {
	t.Parallel()
	c := newSlotCase(t, 2)
	begin := func(user conversation.UserID) (func(context.Context) error, error) {
		ctx, cancel := context.WithDeadline(t.Context(), c.now.Add(24*365*time.Hour))
		defer cancel()
		return dynamo.NewExportLimit(c.db).BeginExport(ctx, user)
	}
	end := check.Got(begin(alice))(t)
	checkFault(t, errorOf(begin(alice)), fault.RateLimited, "a second export")
	if _, err := begin("bob"); err != nil {
		t.Errorf("another user's: %v", err)
	}
	c.mustBegin(t, "a", "")
	c.mustBegin(t, "b", "")
	if err := end(t.Context()); err != nil {
		t.Error(err)
	}
	crashed := check.Got(begin(alice))(t)
	c.now = c.now.Add(24*365*time.Hour + time.Millisecond)
	if _, err := begin(alice); err != nil {
		t.Errorf("after the deadline of a crashed export: %v", err)
	}
	if err := crashed(t.Context()); err != nil {
		t.Error(err)
	}
	checkFault(t, errorOf(begin(alice)), fault.RateLimited, "the crashed export gave back the permit of another")
	free := newSlotCase(t, 0)
	for range 3 {
		if _, err := dynamo.NewExportLimit(free.db).BeginExport(t.Context(), alice); err != nil {
			t.Error(err)
		}
	}
}

// TestAnExportWhoseAnswerIsLost begins an export whose first attempt is carried out and has no answer. The record of
// the permits lives an hour longer than the permit.
func TestAnExportWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	c := newSlotCase(t, 1)
	lost := &dynamotest.FailingCalls{Op: "UpdateItem", Errs: []error{dynamotest.ErrNoAnswer}, CarriedOut: true}
	db := dynamo.New(dynamotest.Intercept(dynamodbtest.Client(t), dynamotest.Interceptor{Call: lost.Call}), c.table,
		dynamo.WithClock(func() time.Time { return c.now }), dynamo.WithAnswerLimit(1, longestTurn))
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if _, err := dynamo.NewExportLimit(db).BeginExport(ctx, alice); err != nil || lost.Failed != 1 {
		t.Errorf("begin: %v, after %d lost answers", err, lost.Failed)
	}
	until, _ := ctx.Deadline()
	if got := expiry(t, c.table, "control#slots"); got != until.Add(time.Hour).Unix() {
		t.Errorf("the permits expire at %d, the export ends at %d", got, until.Unix())
	}
}

// expiry returns the time of a record of alice at which DynamoDB deletes it.
func expiry(t *testing.T, name, sk string) int64 {
	t.Helper()
	n, ok := record(t, name, sk)[table.TTLAttribute].(*types.AttributeValueMemberN)
	if !ok {
		t.Fatalf("%s never expires", sk)
	}
	return check.Got(strconv.ParseInt(n.Value, 10, 64))(t)
}

// record returns a record of alice as it is stored.
func record(t *testing.T, table, sk string) map[string]types.AttributeValue {
	t.Helper()
	out := check.Got(dynamodbtest.Client(t).GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &table, ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "user#" + string(alice)},
			"sk": &types.AttributeValueMemberS{Value: sk},
		},
	}))(t)
	return out.Item
}
