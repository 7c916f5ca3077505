package adopt_test

import (
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestGoneSessions has an app delete the record of a session. The sweep gets a tombstone where the store has messages
// of it, because nobody else would delete them, and they would be recalled for good.
func TestGoneSessions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		way []migration.Placement
		// meanwhile is what happens before the change is read.
		meanwhile func(t *testing.T, a *appTable, record appRecord)
		want      bool
	}{
		"embedded":                      {},
		"dual":                          {way: way{migration.InBoth}, want: true},
		"shared":                        {way: way{migration.InStore}, want: true},
		"back in embedded, with copies": {way: way{migration.InBoth, migration.InArray}, want: true},
		"there again": {way: way{migration.InBoth}, meanwhile: func(t *testing.T, a *appTable, record appRecord) {
			t.Helper()
			a.put(t, record)
		}},
		"of a user who was erased": {way: way{migration.InBoth}, meanwhile: func(t *testing.T, a *appTable, _ appRecord) {
			t.Helper()
			_, _, err := dynamotest.StoresOf(a.db).Erasures.BeginErasure(t.Context(), "u", dynamotest.Now.Add(time.Minute))
			check.OK(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAppTable(t)
			s := a.newArraySession(t, "u", 3, 5, c.way...)
			stores, record := dynamotest.StoresOf(a.db), a.get(t, "user#u", arraySK)
			session := check.Got(stores.Sessions.Session(t.Context(), s.user, "c"))(t)
			check.Got(a.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
				TableName: &a.table, Key: appRecord{"pk": record["pk"], "sk": record["sk"]},
			}))(t)
			if c.meanwhile != nil {
				c.meanwhile(t, a, record)
			}
			change := conversation.Change{User: s.user, Gone: &session}
			for range 2 { // the stream may deliver it again
				check.Got(adopt.NewArrivalMover(a.db, consumer{1, nil}).Consume(t.Context(), []conversation.Change{change}))(t)
			}
			tombstone, err := stores.Deletion.UnfinishedDeletion(t.Context(), s.user, "c")
			if got := err == nil; got != c.want || err != nil && !fault.Is(err, fault.NotFound) {
				t.Fatalf("there is a tombstone: %t, %v; want %t", got, err, c.want)
			}
			if !c.want {
				return
			}
			left, _, err := stores.Deletion.RemainingMessages(t.Context(), tombstone, conversation.Page{Limit: 10})
			check.OK(t, err)
			check.Same(t, 3, len(left), "messages that the tombstone names")
		})
	}
}

// TestGoneIsDecoded decodes the deletion of an app's own record and of one that is in both places.
func TestGoneIsDecoded(t *testing.T) {
	t.Parallel()
	for placement, isMigrated := range map[string]bool{"": false, "dual": true} {
		image := map[string]events.DynamoDBAttributeValue{
			"pk": events.NewStringAttribute("user#u"), "sk": events.NewStringAttribute("conversation#c"),
		}
		if placement != "" {
			image["placement"] = events.NewStringAttribute(placement)
		}
		c, ok, err := open(nil, "").DecodeChange(events.DynamoDBEventRecord{
			EventName: "REMOVE",
			Change:    events.DynamoDBStreamRecord{Keys: image, OldImage: image},
		})
		if err != nil || !ok || c.Gone == nil || c.Gone.ID != "c" || c.Gone.IsMigrated() != isMigrated || c.After != nil {
			t.Errorf("%q: decoded %+v, %v, %v", placement, c, ok, err)
		}
	}
}

// TestGoneSessionOfAnErasedUser deletes a record that the app has put over the one of a session in both places, of a
// user who was erased before. The record says nothing of the user's generation.
func TestGoneSessionOfAnErasedUser(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	stores := dynamotest.StoresOf(a.db)
	erased, _, err := stores.Erasures.BeginErasure(t.Context(), "u", dynamotest.Now.Add(time.Minute))
	check.OK(t, err)
	erased.Done = true
	check.OK(t, stores.Erasures.SaveErasure(t.Context(), "u", erased, dynamotest.Now.Add(time.Hour)))
	s := a.newArraySession(t, "u", 3, 5)
	record := a.get(t, "user#u", arraySK)
	a.move(t, legacy.Session{User: "u", ID: "c"}, migration.InBoth)
	a.put(t, record)
	own := check.Got(stores.Sessions.Session(t.Context(), s.user, "c"))(t)
	own.Generation = 0 // as the stream has it
	check.Got(a.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: &a.table, Key: appRecord{"pk": record["pk"], "sk": record["sk"]},
	}))(t)
	change := conversation.Change{User: s.user, Gone: &own}
	check.Got(adopt.NewArrivalMover(a.db, consumer{1, nil}).Consume(t.Context(), []conversation.Change{change}))(t)
	check.Got(stores.Deletion.UnfinishedDeletion(t.Context(), s.user, "c"))(t)
}

// TestGoneSessionLeavesNothing looks for what a deleted session has beside its messages: the array of the time before
// it was shared, and its share of the spine.
func TestGoneSessionLeavesNothing(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	s := a.newArraySession(t, "u", 3, 5, migration.InBoth, migration.InStore)
	stores := dynamotest.StoresOf(a.db)
	check.OK(t, stores.Spines.SaveSpine(t.Context(), s.user, 0, longterm.Spine{CoachID: "kim", Text: "Kept a secret."}))
	session := check.Got(stores.Sessions.Session(t.Context(), s.user, "c"))(t)
	session.CoachID, session.Summary = "kim", &conversation.SessionSummary{Text: "Kept a secret."}
	told := func() int {
		spines, _, err := stores.Spines.Spines(t.Context(), s.user)
		check.OK(t, err)
		return len(spines)
	}
	check.Equal(t, 1, told(), "spines before")
	const parked = table.ParkedPrefix + arraySK
	check.Equal(t, false, a.get(t, "user#u", parked) == nil, "without a parked array")
	check.Got(a.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: &a.table, Key: appRecord{"pk": str("user#u"), "sk": str(arraySK)},
	}))(t)
	change := conversation.Change{User: s.user, Gone: &session}
	check.Got(adopt.NewArrivalMover(a.db, consumer{1, nil}).Consume(t.Context(), []conversation.Change{change}))(t)
	check.Equal(t, true, a.get(t, "user#u", parked) == nil, "without a parked array")
	check.Equal(t, 0, told(), "spines that tell of the session")
}
