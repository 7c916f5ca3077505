package dynamo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestWholePartition exports and erases a user in whose partition the app has conversations with ids that the API
// cannot name, and records of other kinds. The export has the conversations, and counts the rest. The
// erasure deletes them, and its receipt counts what it left.
func TestWholePartition(t *testing.T) {
	t.Parallel()
	table := dynamotest.Table(t)
	db := dynamo.New(dynamodbtest.Client(t), table, dynamotest.FixedClock())
	s := dynamotest.StoresOf(db)
	in := conversation.NewSession{ID: "a", Context: "coach_conversation", CoachID: "c1"}
	_, createErr := s.Sessions.CreateSession(t.Context(), alice, in, conversation.Idempotency{Scope: "s", Key: "k"})
	_, appendErr := s.Messages.Append(t.Context(), alice, dynamotest.OneMessage("a", "1"))
	d, putErr := document.Put{Namespace: document.Namespace{"a"}, Key: "k", Value: []byte(`{}`)}.Document(start)
	_, _, storeErr := s.Documents.PutDocument(t.Context(), alice, d) // is in a list of its own
	check.OK(t, errors.Join(createErr, appendErr, putErr, storeErr))
	unnamed := []string{"conversation#a b", "conversation#é", "workout_session#", "conversation#x#y"}
	for _, sk := range unnamed {
		dynamotest.Put(t, table, alice, sk, map[string]types.AttributeValue{
			"placement": &types.AttributeValueMemberS{Value: "gym"}, "generation": &types.AttributeValueMemberN{Value: "7"},
		})
	}
	for _, sk := range []string{"plan#1", "plan#2", "msg#the app's", "PROFILE"} {
		dynamotest.Put(t, table, alice, sk, nil)
	}
	left := map[string]int{"plan#": 2, "msg#": 1, "other": 1}
	checkHeld(t, db, unnamed, left)
	checkErased(t, s, unnamed, left)
	if keys := dynamotest.Keys(t, table, alice); len(keys) != 5 {
		t.Errorf("there are %q, want the app's own of other kinds and the generation", keys)
	}
}

// checkHeld reads an export's other records of alice, two at a time.
func checkHeld(t *testing.T, db *dynamo.DB, unnamed []string, left map[string]int) {
	t.Helper()
	conversations, kinds, others := map[string]bool{}, map[string]int{}, map[string]int{}
	for page := (conversation.Page{Limit: 2}); ; {
		found, next, err := dynamo.NewHeldStore(db).Held(t.Context(), alice, page)
		check.OK(t, err)
		for _, h := range found {
			switch {
			case h.Kind == "":
				others[h.Key]++
				continue
			case h.Kind == "appSession" && h.Record["placement"] == "gym":
				conversations[h.Key] = true
			}
			kinds[h.Kind]++
		}
		if page.After = next; next == "" {
			break
		}
	}
	for _, sk := range unnamed {
		if !conversations[sk] {
			t.Errorf("the export lacks %q", sk)
		}
	}
	if kinds["message"]+kinds["session"]+kinds["document"] > 0 || kinds["idempotency"] == 0 {
		t.Errorf("the export has %v", kinds)
	}
	check.Same(t, left, others, "the app's own")
}

func checkErased(t *testing.T, s dynamotest.Stores, unnamed []string, left map[string]int) {
	t.Helper()
	p, held, err := s.Erasures.BeginErasure(t.Context(), alice, start)
	if err != nil || !held {
		t.Fatal(held, err)
	}
	_, remaining, err := s.Erasures.Left(t.Context(), alice, p.Generation)
	if err != nil || remaining < len(unnamed)+3 {
		t.Errorf("before it, %d records remain, %v", remaining, err)
	}
	count := func(kind string, n int) { p.Counts[kind] += n }
	p.Done, err = s.Erasures.EraseRecords(t.Context(), alice, p.Generation, start.Add(time.Minute), count)
	if err != nil || !p.Done || p.Counts["session"] != 1+len(unnamed) {
		t.Fatalf("erased %v, done %v, %v", p.Counts, p.Done, err)
	}
	p.Left, remaining, err = s.Erasures.Left(t.Context(), alice, p.Generation)
	left["control#"] = 1 // the generation
	if diff := cmp.Diff(left, p.Left); diff != "" || remaining != 0 || err != nil {
		t.Errorf("%d remain, %v; left (-want +got):\n%s", remaining, err, diff)
	}
	check.OK(t, s.Erasures.SaveErasure(t.Context(), alice, p, start))
	again, err := s.Erasures.Erasure(t.Context(), alice)
	if diff := cmp.Diff(p, again); diff != "" || err != nil {
		t.Errorf("the stored receipt, %v (-want +got):\n%s", err, diff)
	}
}
