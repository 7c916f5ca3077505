package dynamo_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/dynamotest"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/storetest"
)

// TestVerify plants differences between a session's array and its messages in the shared store.
func TestVerify(t *testing.T) {
	t.Parallel()
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	set := func(a *appTable, r appRecord, name string, v types.AttributeValue) {
		r[name] = v
		a.put(t, r)
	}
	for _, c := range []struct {
		name string
		in   conversation.Placement
		// plant changes the table. message is a message in the middle.
		plant func(t *testing.T, a *appTable, message appRecord)
		says  string
	}{
		{name: "nothing", in: conversation.Dual},
		{name: "nothing, parked", in: conversation.Shared},
		{name: "not moved", in: conversation.Embedded, says: "in the array only"},
		{
			name: "content", in: conversation.Dual, says: "the contents differ",
			plant: func(_ *testing.T, a *appTable, m appRecord) { set(a, m, "content", str("other")) },
		},
		{
			name: "role", in: conversation.Shared, says: "the roles differ",
			plant: func(_ *testing.T, a *appTable, m appRecord) { set(a, m, "role", str("system")) },
		},
		{
			name: "id", in: conversation.Dual, says: "the ids differ",
			plant: func(_ *testing.T, a *appTable, m appRecord) { set(a, m, "messageId", str("msg_x")) },
		},
		{
			name: "order", in: conversation.Dual, says: "not in the order",
			plant: func(_ *testing.T, a *appTable, m appRecord) {
				set(a, m, "seq", &types.AttributeValueMemberN{Value: "1000"})
			},
		},
		{
			name: "a copy without an entry", in: conversation.Dual, says: "the shared store has 5 messages, the session 4",
			plant: func(_ *testing.T, a *appTable, m appRecord) {
				m["timestamp"] = str("2023-11-14T22:13:21.000Z")
				set(a, m, "sk", str("msg#2023-11-14T22:13:21.000Z#000000000000"))
			},
		},
		{
			name: "nothing, parked after a deletion", in: conversation.Dual,
			plant: func(t *testing.T, a *appTable, _ appRecord) {
				user, stores := conversation.UserID("user-0"), dynamotest.Stores(a.db)
				page, _, err := stores.Messages.Messages(t.Context(), user, "s0", conversation.Page{Limit: 9})
				if err == nil {
					err = deleteMessage(t.Context(), stores, user, "s0", page[0].ID, storetest.Now)
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := a.db.Move(t.Context(), user, "s0", conversation.Shared); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			name: "a message is gone", in: conversation.Shared, says: "the shared store has 3 messages, the session 4",
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
			work, err := dynamo.NewMigrationStore(a.db, a.client).Do(t.Context(), migration.Verify,
				migration.Record{User: conversation.UserID(s.User), SessionID: s.ID, Key: s.Key()}, conversation.Dual)
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
	out, err := a.client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &a.table, IndexName: aws.String(dynamo.BySource), KeyConditionExpression: aws.String("sourceId = :s"),
		ExpressionAttributeValues: appRecord{":s": &types.AttributeValueMemberS{Value: s.User + "#" + s.Key()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Items) == 0 {
		return nil
	}
	return out.Items[len(out.Items)/2]
}

func (a *appTable) delete(t *testing.T, r appRecord) {
	t.Helper()
	if _, err := a.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: &a.table, Key: appRecord{"pk": r["pk"], "sk": r["sk"]},
	}); err != nil {
		t.Fatal(err)
	}
}
