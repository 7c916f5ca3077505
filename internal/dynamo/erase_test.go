package dynamo_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestBeginErasureCrashes crashes at each remote call with which an erasure begins. A prompt then reads the same
// records as every other read.
func TestBeginErasureCrashes(t *testing.T) {
	t.Parallel()
	for done := range 3 {
		t.Run(fmt.Sprint("after call ", done), func(t *testing.T) {
			t.Parallel()
			table, calls := dynamotest.Table(t), 0
			reader := dynamotest.Open(t, table, dynamotest.FixedClock())
			check.Got(reader.Profiles.Put(t.Context(), alice, longterm.Profile{Name: "Ann"}))(t)
			ctx, crash := context.WithCancel(t.Context())
			defer crash()
			s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: func(_ string, run func() error) error {
				if calls++; calls > done {
					crash()
					return dynamotest.ErrCrash
				}
				return run()
			}}, dynamotest.FixedClock())
			_, held, err := s.Erasures.BeginErasure(ctx, alice, start.Add(time.Minute))
			if held != (err == nil) || done == 0 && held {
				t.Errorf("held %v, %v", held, err)
			}
			_, err = reader.Profiles.Get(t.Context(), alice)
			snap, snapErr := reader.PromptSource.LongTerm(t.Context(), alice)
			if snapErr != nil || fault.Is(err, fault.NotFound) != (snap.Profile == nil) {
				t.Errorf("the profile reads %v, and %+v in a prompt, %v", err, snap.Profile, snapErr)
			}
		})
	}
}

// slowTable answers no query for one prefix before the query's deadline, and deletes nothing before that.
type slowTable struct {
	table.API
	prefix  string
	once    sync.Once
	expired chan struct{}
}

func (s *slowTable) Query(ctx context.Context, in *dynamodb.QueryInput, options ...dynamotest.APIOption,
) (*dynamodb.QueryOutput, error) {
	for _, v := range in.ExpressionAttributeValues {
		if text, ok := v.(*types.AttributeValueMemberS); ok && strings.HasPrefix(text.Value, s.prefix) {
			<-ctx.Done()
			s.once.Do(func() { close(s.expired) })
			return nil, ctx.Err()
		}
	}
	return s.API.Query(ctx, in, options...)
}

func (s *slowTable) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, options ...dynamotest.APIOption,
) (*dynamodb.DeleteItemOutput, error) {
	<-s.expired
	return s.API.DeleteItem(ctx, in, options...)
}

// TestErasureDeadline reaches the deadline of an erasure while it lists one prefix and deletes under others. The
// deletions that have begun are carried out and counted, no others begin, and the call returns no error.
func TestErasureDeadline(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	reader := dynamotest.Open(t, table, dynamotest.FixedClock())
	dynamotest.NewSession(t, reader, alice, "workout_log", "a", "1", "2")
	dynamotest.NewSession(t, reader, alice, "workout_log", "b")
	if _, held, err := reader.Erasures.BeginErasure(t.Context(), alice, start); err != nil || !held {
		t.Fatalf("held %v, %v", held, err)
	}
	slow := &slowTable{API: dynamodbtest.Client(t), prefix: "conversation#", expired: make(chan struct{})}
	got := map[string]int{}
	count := func(kind string, n int) { got[kind] += n }
	store := dynamo.NewErasureStore(dynamo.New(slow, table, dynamotest.FixedClock()))
	done, err := store.EraseRecords(t.Context(), alice, 1, start.Add(2*time.Second), count)
	if err != nil || done {
		t.Errorf("done %v, %v", done, err)
	}
	check.Same(t, map[string]int{"session": 2}, got, "deleted before the deadline")
	done, err = reader.Erasures.EraseRecords(t.Context(), alice, 1, start.Add(time.Minute), count)
	if err != nil || !done {
		t.Errorf("continue: done %v, %v", done, err)
	}
	if got["session"] != 2 || got["message"] != 2 {
		t.Errorf("deleted in total: %v", got)
	}
}

// TestErasureCountsDespiteFailure fails one deletion. The others are counted, and the call returns the error.
func TestErasureCountsDespiteFailure(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	reader := dynamotest.Open(t, table, dynamotest.FixedClock())
	dynamotest.NewSession(t, reader, alice, "workout_log", "a")
	dynamotest.NewSession(t, reader, alice, "workout_log", "b")
	if _, held, err := reader.Erasures.BeginErasure(t.Context(), alice, start); err != nil || !held {
		t.Fatalf("held %v, %v", held, err)
	}
	failing := dynamotest.FailingCalls{Op: "DeleteItem", Errs: []error{&types.ResourceNotFoundException{}}}
	s := dynamotest.OpenIntercepted(t, table, dynamotest.Interceptor{Call: failing.Call}, dynamotest.FixedClock())
	got := map[string]int{}
	count := func(kind string, n int) { got[kind] += n }
	done, err := s.Erasures.EraseRecords(t.Context(), alice, 1, start.Add(time.Minute), count)
	if done || !fault.Is(err, fault.Internal) {
		t.Errorf("done %v, %v", done, err)
	}
	done, err = reader.Erasures.EraseRecords(t.Context(), alice, 1, start.Add(time.Minute), count)
	if err != nil || !done {
		t.Errorf("continue: done %v, %v", done, err)
	}
	if got["session"] != 2 {
		t.Errorf("deleted in total: %v", got)
	}
}

// TestWritesAfterErasureElsewhere writes in a process that does not know that another one has erased the user.
func TestWritesAfterErasureElsewhere(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	s, other := dynamotest.Open(t, table, dynamotest.FixedClock()), dynamotest.Open(t, table, dynamotest.FixedClock())
	write := func(id string) {
		t.Helper()
		dynamotest.NewSession(t, s, alice, "workout_log", id, "x")
		_, err := s.Profiles.Put(t.Context(), alice, longterm.Profile{Name: id})
		_, _, goalErr := s.Goals.Create(t.Context(), alice, longterm.Goal{Title: id, CreatedAt: start}, noKey)
		if err != nil || goalErr != nil {
			t.Errorf("profile: %v, goal: %v", err, goalErr)
		}
	}
	write("a")
	for generation := int64(1); generation <= 2; generation++ {
		p, held, err := other.Erasures.BeginErasure(t.Context(), alice, start)
		if err != nil || !held || p.Generation != generation {
			t.Fatalf("progress %+v, held %v, %v", p, held, err)
		}
		_, err = other.Erasures.EraseRecords(t.Context(), alice, p.Generation, start.Add(time.Minute),
			func(string, int) {})
		if err == nil {
			p.Done = true
			err = other.Erasures.SaveErasure(t.Context(), alice, p, start)
		}
		check.OK(t, err)
		write("a")
	}
}
