package adopt_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// arraySession is an app's session whose messages are in an array, and the way that it has gone before an append.
type arraySession struct {
	app  *appTable
	user conversation.UserID
	want []string
	// gaps says that entries that the app has dropped have left gaps in the seqs.
	gaps bool
}

// way is a sequence of placements.
type way []migration.Placement

const arraySK = "conversation#c"

// newArraySession puts an app's record of a session "c" with so many messages of a size, and moves it.
func (a *appTable) newArraySession(t *testing.T, user string, messages, bytes int, way ...migration.Placement,
) *arraySession {
	t.Helper()
	s := &arraySession{app: a, user: conversation.UserID(user)}
	var entries []any
	for i := range messages {
		s.want = append(s.want, fmt.Sprintf("%d %s", i, strings.Repeat("x", bytes)))
		entries = append(entries, map[string]any{"role": "user", "content": s.want[i]})
	}
	r := check.Got(attributevalue.MarshalMap(map[string]any{
		"pk": "user#" + user, "sk": arraySK, "attributes": map[string]any{"messages": entries},
	}))(t)
	a.put(t, r)
	for _, to := range way {
		if _, err := adopt.Move(t.Context(), a.db, s.user, "c", to); err != nil {
			t.Fatalf("move to %s: %v", to, err)
		}
	}
	return s
}

// inStage returns a process that knows the stage.
func (a *appTable) inStage(t *testing.T, stage migration.Stage, call func(string, func() error) error) *dynamo.DB {
	t.Helper()
	api := dynamotest.Intercept(dynamodbtest.Client(t), dynamotest.Interceptor{Call: call})
	return open(api, a.table, dynamotest.FixedClock(), adopt.WithInitialStage(stage))
}

// read returns the contents of the session's messages.
func (s *arraySession) read(t *testing.T, db *dynamo.DB) []string {
	t.Helper()
	page, _, err := dynamotest.StoresOf(db).Messages.Messages(t.Context(), s.user, "c", conversation.Page{Limit: 200})
	if err != nil {
		t.Fatalf("%s: %v", s.user, err)
	}
	var got []string
	for i, m := range page {
		if got = append(got, m.Content); m.Seq != i+1 && !s.gaps {
			t.Errorf("%s: message %d has seq %d", s.user, i+1, m.Seq)
		}
	}
	return got
}

// checkOnTheWay checks the messages where the session is, and in all placements that it can have.
func (s *arraySession) checkOnTheWay(t *testing.T, db *dynamo.DB, way ...migration.Placement) {
	t.Helper()
	for _, to := range append([]migration.Placement{""}, way...) {
		if to != "" {
			if _, err := adopt.Move(t.Context(), s.app.db, s.user, "c", to); err != nil {
				t.Fatalf("%s: move on to %s: %v", s.user, to, err)
			}
		}
		if got := s.read(t, db); !slices.Equal(s.want, got) {
			t.Fatalf("%s, then %q: got %d messages, want %d: %.50q", s.user, to, len(got), len(s.want), got)
		}
	}
	if stored := s.app.stored(t, string(s.user), arraySK); len(stored) != len(s.want) {
		t.Errorf("%s: the store has %d messages, want %d", s.user, len(stored), len(s.want))
	}
}

// TestAppendIsKilled ends the process of an append after each of its remote calls, or loses the answer of each, in all
// placements and stages. What is stored then is all or nothing. The client repeats the append with its key, and the
// message is stored once.
func TestAppendIsKilled(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	const e, d, s = migration.InArray, migration.InBoth, migration.InStore
	for name, c := range map[string]struct {
		stage    migration.Stage
		messages int
		bytes    int
		before   way
		after    way
	}{
		"embedded":                  {migration.Embedded, 3, 5, nil, way{d, s, e}},
		"back in embedded":          {migration.Embedded, 3, 5, way{s, e}, way{d, s}},
		"embedded to dual":          {migration.Dual, 3, 5, nil, way{d, s, e}},
		"back and to dual":          {migration.Dual, 3, 5, way{s, e}, way{d, s, e}},
		"dual":                      {migration.SharedRead, 3, 5, way{d}, way{s, e, s}},
		"dual to shared":            {migration.Shared, 3, 5, way{d}, way{s, e, s}},
		"embedded to shared":        {migration.Shared, 3, 5, nil, way{s, e, s}},
		"dual, back in embedded":    {migration.Embedded, 3, 5, way{d}, way{d, s}},
		"dual without room, shared": {migration.Dual, 39, 10_400, way{d}, nil},
	} {
		failures := []dynamotest.Failure{dynamotest.CrashAfter, dynamotest.AnswerLost}
		if !*everyAnswer {
			failures, c.after = failures[:1], c.after[:min(1, len(c.after))]
		}
		for _, how := range failures {
			t.Run(fmt.Sprint(name, how), func(t *testing.T) {
				t.Parallel()
				for at := 1; ; at++ {
					session := a.newArraySession(t, fmt.Sprint(name, how, at), c.messages, c.bytes, c.before...)
					n := session.appendKilled(t, c.stage, at, how)
					if n.calls < at {
						if at < 3 {
							t.Errorf("the append has %d calls only", n.calls)
						}
						return
					}
					if n.afterRead {
						continue
					}
					session.checkOnTheWay(t, a.inStage(t, c.stage, dynamotest.PassThrough), c.after...)
				}
			})
		}
	}
}

// appendKilled appends with a failure at one call, and repeats it in another process. It returns the
// calls of the first process.
func (s *arraySession) appendKilled(t *testing.T, stage migration.Stage, at int, how dynamotest.Failure,
) *killedNetwork {
	t.Helper()
	in := dynamotest.OneMessage("c", "later "+strings.Repeat("y", 100))
	in.Idempotency = conversation.Idempotency{Scope: "s", Key: "k", BodyHash: "h"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := &killedNetwork{at: at, how: how, cancel: cancel}
	killed := dynamotest.StoresOf(s.app.inStage(t, stage, n.call))
	_, killedErr := killed.Messages.Append(ctx, s.user, in)
	if n.afterRead {
		return n
	}
	writer := s.app.inStage(t, stage, dynamotest.PassThrough)
	before, after := s.want, append(slices.Clone(s.want), in.Messages[0].Content)
	if got := s.read(t, writer); !slices.Equal(got, after) && (killedErr == nil || !slices.Equal(got, before)) {
		t.Fatalf("%s: the append returned %v, and there are %d messages", s.user, killedErr, len(got))
	}
	s.want = after
	if _, err := dynamotest.StoresOf(writer).Messages.Append(t.Context(), s.user, in); err != nil {
		t.Fatalf("%s: the repeat: %v", s.user, err)
	}
	return n
}
