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
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/storetest"
)

// TestAnErasureBeginsWhollyOrNotAtAll cuts the beginning of an erasure behind each of its remote calls: a prompt reads
// the same as every other read does.
func TestAnErasureBeginsWhollyOrNotAtAll(t *testing.T) {
	for made := range 3 {
		t.Run(fmt.Sprint("after ", made), func(t *testing.T) {
			table, calls := dynamotest.Table(t), 0
			plain := dynamotest.Open(t, table, atNow())
			if _, err := plain.Profiles.Put(t.Context(), alice, longterm.Profile{Name: "Ann"}); err != nil {
				t.Fatal(err)
			}
			ctx, die := context.WithCancel(t.Context())
			defer die()
			s := withSeam(t, table, seam{call: func(_ string, run func() error) error {
				if calls++; calls > made {
					die()
					return errCrash
				}
				return run()
			}}, atNow())
			_, held, err := s.Erasures.BeginErasure(ctx, alice, storetest.Now.Add(time.Minute))
			if held != (err == nil) || made == 0 && held {
				t.Errorf("held %v, %v", held, err)
			}
			_, err = plain.Profiles.Get(t.Context(), alice)
			snap, lookErr := plain.PromptSource.LongTerm(t.Context(), alice)
			if lookErr != nil || fault.Is(err, fault.NotFound) != (snap.Profile == nil) {
				t.Errorf("the profile reads %v, and %+v in a prompt, %v", err, snap.Profile, lookErr)
			}
		})
	}
}

// slowTable lists nothing under one prefix before the time of listing is over, and deletes only then.
type slowTable struct {
	dynamo.API
	prefix string
	once   sync.Once
	over   chan struct{}
}

func (s *slowTable) Query(ctx context.Context, in *dynamodb.QueryInput, options ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	for _, v := range in.ExpressionAttributeValues {
		if text, ok := v.(*types.AttributeValueMemberS); ok && strings.HasPrefix(text.Value, s.prefix) {
			<-ctx.Done()
			s.once.Do(func() { close(s.over) })
			return nil, ctx.Err()
		}
	}
	return s.API.Query(ctx, in, options...)
}

func (s *slowTable) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, options ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	<-s.over
	return s.API.DeleteItem(ctx, in, options...)
}

// TestErasingCountsWhatWasUnderWay lets the time of an erasure end while it lists one prefix and deletes under others:
// what it was deleting is deleted and counted, nothing else is begun, and that the time is over is no error.
func TestErasingCountsWhatWasUnderWay(t *testing.T) {
	table := dynamotest.Table(t)
	plain := dynamotest.Open(t, table, atNow())
	newSession(t, plain, alice, "workout_log", "a", "1", "2")
	newSession(t, plain, alice, "workout_log", "b")
	if _, held, err := plain.Erasures.BeginErasure(t.Context(), alice, storetest.Now); err != nil || !held {
		t.Fatalf("held %v, %v", held, err)
	}
	slow := &slowTable{API: dynamodbtest.Client(t), prefix: "conversation#", over: make(chan struct{})}
	got := map[string]int{}
	count := func(kind string, n int) { got[kind] += n }
	done, err := dynamo.NewErasureStore(dynamo.New(slow, table, atNow())).EraseRecords(t.Context(), alice, 1, storetest.Now.Add(2*time.Second), count)
	if err != nil || done {
		t.Errorf("done %v, %v", done, err)
	}
	if diff := cmp.Diff(map[string]int{"session": 2}, got); diff != "" {
		t.Errorf("deleted in time (-want +got):\n%s", diff)
	}
	if done, err = plain.Erasures.EraseRecords(t.Context(), alice, 1, storetest.Now.Add(time.Minute), count); err != nil || !done {
		t.Errorf("go on: done %v, %v", done, err)
	}
	if got["session"] != 2 || got["message"] != 2 {
		t.Errorf("deleted in all: %v", got)
	}
}

// TestErasingCountsBesideAFailure fails one deletion: those beside it are counted, and the error is told.
func TestErasingCountsBesideAFailure(t *testing.T) {
	table := dynamotest.Table(t)
	plain := dynamotest.Open(t, table, atNow())
	newSession(t, plain, alice, "workout_log", "a")
	newSession(t, plain, alice, "workout_log", "b")
	if _, held, err := plain.Erasures.BeginErasure(t.Context(), alice, storetest.Now); err != nil || !held {
		t.Fatalf("held %v, %v", held, err)
	}
	failing := &script{op: "DeleteItem", errs: []error{errNoAnswer}}
	var mu sync.Mutex
	s := withSeam(t, table, seam{call: func(op string, run func() error) error {
		mu.Lock()
		defer mu.Unlock()
		return failing.call(op, run)
	}}, atNow())
	got := map[string]int{}
	count := func(kind string, n int) { got[kind] += n }
	done, err := s.Erasures.EraseRecords(t.Context(), alice, 1, storetest.Now.Add(time.Minute), count)
	if done || !fault.Is(err, fault.Unavailable) {
		t.Errorf("done %v, %v", done, err)
	}
	if done, err = plain.Erasures.EraseRecords(t.Context(), alice, 1, storetest.Now.Add(time.Minute), count); err != nil || !done {
		t.Errorf("go on: done %v, %v", done, err)
	}
	if got["session"] != 2 {
		t.Errorf("deleted in all: %v", got)
	}
}
