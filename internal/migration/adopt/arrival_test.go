package adopt_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// consumer handles as many changes as it says.
type consumer struct {
	done int
	err  error
}

func (c consumer) Consume(context.Context, []conversation.Change) (int, error) { return c.done, c.err }

// TestArrivalsMove puts a record of the app's own. When the user's stage is shared, the consumer of the stream moves
// it, once the next consumer has handled its change, so that it is listed.
func TestArrivalsMove(t *testing.T) {
	t.Parallel()
	change, ok, err := open(nil, "").DecodeChange(events.DynamoDBEventRecord{
		EventName: "INSERT",
		Change: events.DynamoDBStreamRecord{
			Keys: map[string]events.DynamoDBAttributeValue{
				"pk": events.NewStringAttribute("user#" + string(alice)), "sk": events.NewStringAttribute("conversation#a"),
			},
			NewImage: map[string]events.DynamoDBAttributeValue{
				"pk": events.NewStringAttribute("user#" + string(alice)), "sk": events.NewStringAttribute("conversation#a"),
			},
		},
	})
	if err != nil || !ok || change.Embedded != "a" || change.After != nil {
		t.Fatalf("decoded %+v, %v, %v", change, ok, err)
	}
	gone := conversation.Change{User: alice, Embedded: "gone"}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		stage migration.Stage
		next  consumer
		want  int
		moved bool
	}{
		"a stage with arrays":           {migration.SharedRead, consumer{2, nil}, 2, false},
		"shared":                        {migration.Shared, consumer{2, nil}, 2, true},
		"the next consumer has failed":  {migration.Shared, consumer{0, broken}, 0, false},
		"the next consumer fails later": {migration.Shared, consumer{1, broken}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := dynamotest.Table(t)
			db := open(dynamodbtest.Client(t), table, dynamotest.FixedClock(), adopt.WithInitialStage(c.stage))
			dynamotest.Put(t, table, alice, "conversation#a", nil)
			done, err := adopt.NewArrivalMover(db, c.next).Consume(t.Context(), []conversation.Change{change, gone})
			if done != c.want || !errors.Is(err, c.next.err) {
				t.Errorf("%d are done, %v; want %d, %v", done, err, c.want, c.next.err)
			}
			s := dynamotest.StoresOf(db)
			session, err := s.Sessions.Session(t.Context(), alice, "a")
			if moved := adopt.PlacementOf(session) == migration.InStore; err != nil || moved != c.moved {
				t.Errorf("the session is %s, %v", adopt.PlacementOf(session), err)
			}
			listed, _, err := s.Sessions.Sessions(t.Context(), alice, conversation.SessionFilter{}, conversation.Page{Limit: 5})
			if isListed := len(listed) == 1; err != nil || isListed != (c.moved || c.stage != migration.Shared) {
				t.Errorf("listed %v, %v", listed, err)
			}
		})
	}
}

// TestArrivalsWithoutTheStage cannot read the stage. What comes before the first arrival is done.
func TestArrivalsWithoutTheStage(t *testing.T) {
	t.Parallel()
	db := open(dynamodbtest.Client(t), dynamotest.Table(t), dynamotest.FixedClock())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	changes := []conversation.Change{{User: alice}, {User: alice, Embedded: "a"}, {User: alice}}
	done, err := adopt.NewArrivalMover(db, consumer{len(changes), nil}).Consume(ctx, changes)
	if done != 1 || err == nil {
		t.Errorf("%d are done, %v", done, err)
	}
}
