package adopt_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// TestVerify plants differences between a session's array and its messages in the shared store.
func TestVerify(t *testing.T) {
	t.Parallel()
	set := func(a *appTable, r appRecord, name string, v types.AttributeValue) {
		r[name] = v
		a.put(t, r)
	}
	for _, c := range []struct {
		name string
		in   migration.Placement
		// plant changes the table. message is a message in the middle.
		plant func(t *testing.T, a *appTable, message appRecord)
		says  string
	}{
		{name: "nothing", in: migration.InBoth},
		{name: "nothing, parked", in: migration.InStore},
		{name: "not moved", in: migration.InArray, says: "in the array only"},
		{
			name: "content", in: migration.InBoth, says: "the contents differ",
			plant: func(_ *testing.T, a *appTable, m appRecord) { set(a, m, "content", str("other")) },
		},
		{
			name: "role", in: migration.InStore, says: "the roles differ",
			plant: func(_ *testing.T, a *appTable, m appRecord) { set(a, m, "role", str("system")) },
		},
		{
			name: "id", in: migration.InBoth, says: "the ids differ",
			plant: func(_ *testing.T, a *appTable, m appRecord) { set(a, m, "messageId", str("msg_x")) },
		},
		{
			name: "order", in: migration.InBoth, says: "not in the order",
			plant: func(_ *testing.T, a *appTable, m appRecord) {
				set(a, m, "seq", num("1000"))
			},
		},
		{
			name: "a copy without an entry", in: migration.InBoth, says: "the shared store has 5 messages, the session 4",
			plant: func(_ *testing.T, a *appTable, m appRecord) {
				m["timestamp"] = str("2023-11-14T22:13:21.000Z")
				set(a, m, "sk", str("msg#2023-11-14T22:13:21.000Z#000000000000"))
			},
		},
		{
			name: "nothing, parked after a deletion", in: migration.InBoth,
			plant: func(t *testing.T, a *appTable, _ appRecord) {
				user, stores := conversation.UserID("user-0"), dynamotest.StoresOf(a.db)
				page, _, err := stores.Messages.Messages(t.Context(), user, "s0", conversation.Page{Limit: 9})
				if err == nil {
					err = deleteMessage(t.Context(), stores, user, "s0", page[0].ID, dynamotest.Now)
				}
				check.OK(t, err)
				check.Got(adopt.Move(t.Context(), a.db, user, "s0", migration.InStore))(t)
			},
		},
		{
			name: "a message is gone", in: migration.InStore, says: "the shared store has 3 messages, the session 4",
			plant: func(t *testing.T, a *appTable, m appRecord) { a.delete(t, m) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := legacy.Table{Users: 1, Sessions: 1, Messages: 4, Seed: 1}.Session(0)
			a := newAppTable(t, s.Item)
			a.move(t, s, c.in)
			if c.plant != nil {
				c.plant(t, a, a.middle(t, s))
			}
			work, err := adopt.NewMigrationStore(a.db, a.client).Do(t.Context(), migration.Verify,
				migration.Record{User: conversation.UserID(s.User), SessionID: s.ID, Key: s.Key()}, migration.InBoth)
			reason, found := migration.ReasonOf(err)
			if found != (c.says != "") || !strings.Contains(reason, c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
			if !found && (err != nil || work.Messages < len(s.Messages)-1) {
				t.Errorf("compared %+v, %v", work, err)
			}
		})
	}
}

// middle returns the record of a message in the middle of a session, nil where it has none.
func (a *appTable) middle(t *testing.T, s legacy.Session) appRecord {
	t.Helper()
	out := check.Got(a.client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &a.table, IndexName: aws.String(table.BySource), KeyConditionExpression: aws.String("sourceId = :s"),
		ExpressionAttributeValues: appRecord{":s": str(s.User + "#" + s.Key())},
	}))(t)
	if len(out.Items) == 0 {
		return nil
	}
	return out.Items[len(out.Items)/2]
}

func (a *appTable) delete(t *testing.T, r appRecord) {
	t.Helper()
	check.Got(a.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: &a.table, Key: appRecord{"pk": r["pk"], "sk": r["sk"]},
	}))(t)
}
