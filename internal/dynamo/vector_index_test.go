package dynamo_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/storetest"
)

// TestOneIndexForAUser assigns indexes from several processes at once. All of them go on with the same one.
func TestOneIndexForAUser(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	answers := make([]string, 4)
	var processes sync.WaitGroup
	for i := range answers {
		processes.Go(func() {
			d := dynamo.NewIndexDirectory(dynamo.New(dynamodbtest.Client(t), table))
			if p, err := d.Placement(t.Context(), alice); err != nil || p.Generation != 0 {
				t.Errorf("%+v, %v", p, err)
			}
			p, err := d.AssignIndex(t.Context(), alice, fmt.Sprint("index", i))
			if err != nil {
				t.Error(err)
			}
			answers[i] = p.Serving
		})
	}
	processes.Wait()
	p, err := dynamo.NewIndexDirectory(dynamo.New(dynamodbtest.Client(t), table)).Placement(t.Context(), alice)
	want := []string{p.Serving, p.Serving, p.Serving, p.Serving}
	if diff := cmp.Diff(want, answers); diff != "" || err != nil || p.Serving == "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestAnIndexStaysWithItsUser writes and erases around the record of the index.
func TestAnIndexStaysWithItsUser(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	s := dynamotest.Open(t, table, fixedClock())
	d := dynamo.NewIndexDirectory(dynamo.New(dynamodbtest.Client(t), table))
	if _, err := d.AssignIndex(t.Context(), alice, "b"); err != nil {
		t.Fatal(err)
	}
	create := func(id string) {
		t.Helper()
		in := conversation.NewSession{ID: id, Context: "coach_conversation", CoachID: "c"}
		if _, err := s.Sessions.CreateSession(t.Context(), alice, in, noKey); err != nil {
			t.Fatal(err)
		}
	}
	access := func(generation int64) {
		t.Helper()
		want := longterm.Access{Preferences: longterm.DefaultPreferences(), Generation: generation, Index: "b"}
		got, err := s.Recall.Access(t.Context(), alice)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("access: %v (-want +got)\n%s", err, diff)
		}
		_, opened, err := s.PromptSource.Open(t.Context(), alice, "coach_conversation", fmt.Sprint("s", generation))
		if diff := cmp.Diff(want, opened); diff != "" || err != nil {
			t.Errorf("opened: %v (-want +got)\n%s", err, diff)
		}
	}
	create("s0")
	access(0)
	p, _, err := s.Erasures.BeginErasure(t.Context(), alice, storetest.Now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	done, err := s.Erasures.EraseRecords(t.Context(), alice, p.Generation, storetest.Now.Add(time.Minute),
		func(string, int) {})
	if !done || err != nil {
		t.Fatalf("erased: %v, %v", done, err)
	}
	p.Done = true
	if err := s.Erasures.SaveErasure(t.Context(), alice, p, storetest.Now); err != nil {
		t.Fatal(err)
	}
	create("s1")
	access(1)
}
