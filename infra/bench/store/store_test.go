package main

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestBareTransactionKeepsTheItemsAndNothingElse(t *testing.T) {
	t.Parallel()
	table := aws.String("t")
	key := func(sk string) capacity.Item {
		return capacity.Item{"pk": stringAttr("user#ann"), "sk": stringAttr(sk)}
	}
	message := capacity.Item{
		"pk": stringAttr("user#ann"), "sk": stringAttr("msg#1"), "messageId": stringAttr("msg_ann_1_x"),
		"content": stringAttr("I am ann"),
		"seq":     &types.AttributeValueMemberN{Value: "1"},
	}
	items := []types.TransactWriteItem{
		{Update: &types.Update{
			TableName: table, Key: key("conversation#c"),
			UpdateExpression:         aws.String("SET #0 = :1, #2 = if_not_exists(#2, :3)"),
			ConditionExpression:      aws.String("#0 = :0 AND #1 = :2"),
			ExpressionAttributeNames: map[string]string{"#0": "version", "#1": "placement", "#2": "dueAt"},
			ExpressionAttributeValues: capacity.Item{
				":0": stringAttr("1"), ":1": stringAttr("2"), ":2": stringAttr("shared"), ":3": stringAttr("now"),
			},
		}},
		{Put: &types.Put{TableName: table, Item: message, ConditionExpression: aws.String("attribute_not_exists(pk)")}},
		{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key("control#generation")}},
		{Put: &types.Put{TableName: table, Item: key("fresh#1")}},
		{Put: &types.Put{TableName: table, Item: key("idem#a#b")}},
	}
	bob := func(sk string) capacity.Item {
		return capacity.Item{"pk": stringAttr("user#bob"), "sk": stringAttr(sk)}
	}
	want := []types.TransactWriteItem{
		{Update: &types.Update{
			TableName: table, Key: bob("conversation#c"), UpdateExpression: items[0].Update.UpdateExpression,
			ExpressionAttributeNames:  map[string]string{"#0": "version", "#2": "dueAt"},
			ExpressionAttributeValues: capacity.Item{":1": stringAttr("2"), ":3": stringAttr("now")},
		}},
		{Put: &types.Put{TableName: table, Item: capacity.Item{
			"pk": stringAttr("user#bob"), "sk": stringAttr("msg#1"), "messageId": stringAttr("msg_bob_1_x"),
			"content": stringAttr("I am ann"),
			"seq":     message["seq"],
		}}},
		{Put: &types.Put{TableName: table, Item: bob("idem#a#b")}},
	}
	got := bareItems(items, "ann", "bob")
	if diff := cmp.Diff(want, got, unexported); diff != "" {
		t.Errorf("bare transaction (-want +got):\n%s", diff)
	}
}

var unexported = cmp.Options{
	cmpopts.IgnoreUnexported(types.TransactWriteItem{}, types.Put{}, types.Update{}),
	cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}),
}

// TestRunHoldsItsBars measures short sessions. Their last pages differ in size.
func TestRunHoldsItsBars(t *testing.T) {
	t.Parallel()
	name := dynamodbtest.Table(t, table.CreateTableInput(""))
	b := newBench(meter.New(dynamodbtest.Client(t), table.CreateTableInput(name)), name)
	r := check.Got(b.run(t.Context(), []int{0, 60, 160}, 3))(t)
	for _, missed := range r.Missed() {
		check.Contains(t, missed, last, "not held")
	}
	for of, row := range b.rows {
		if len(row.times) != 3 || row.calls < 3 {
			t.Errorf("%+v was measured %d times, with %d calls", of, len(row.times), row.calls)
		}
	}
	if len(b.rows) != 3*5+2*6 {
		t.Errorf("%d rows", len(b.rows))
	}
	for _, want := range []string{warm, bareTurn, "embedded array"} {
		if !strings.Contains(r.Tables[0].Markdown(), want) {
			t.Errorf("the report does not name %q", want)
		}
	}
}

// TestBarsFindWhatIsNotHeld makes what was measured worse.
func TestBarsFindWhatIsNotHeld(t *testing.T) {
	t.Parallel()
	held := func() *bench {
		b := newBench(nil, "")
		b.lengths = []int{0, 100, 1000}
		for kind, names := range contenders {
			for _, name := range names {
				for _, length := range b.lengths {
					calls := 1
					if name == cold {
						calls = 2
					}
					b.rows[id{kind, name, length}] = &row{calls, capacity.Units{Write: 10}, make([]time.Duration, 1), calls}
				}
			}
		}
		return b
	}
	for name, c := range map[string]struct {
		change func(*bench)
		missed string
	}{
		"none": {func(*bench) {}, ""},
		"capacity": {
			func(b *bench) { b.rows[id{turn, warm, 0}].units.Write = 12 },
			warm + ": capacity of a turn over the bare transaction's",
		},
		"calls": {
			func(b *bench) { b.rows[id{turn, warmKeyed, 100}].most = 2 },
			warmKeyed + ": most calls of a turn",
		},
		"growth": {
			func(b *bench) { b.rows[id{newest, cold, 1000}].units.Read = 2 },
			cold + ": capacity of a newest page at 1000 messages over that at 100",
		},
		"calls of pages": {
			func(b *bench) { b.rows[id{last, warm, 100}].most = 3 },
			"most calls of a page",
		},
		"wrong": {
			func(b *bench) { b.wrong = 1 },
			"messages missed, repeated or misplaced in paging through every session",
		},
	} {
		b := held()
		c.change(b)
		var r report.Result
		b.addBars(&r)
		check.Equal(t, c.missed, strings.Join(r.Missed(), "; "), "%s: missed", name)
	}
}

// TestArrayEndsAtTheLimitOfAnItem looks at the sizes on both sides of the end.
func TestArrayEndsAtTheLimitOfAnItem(t *testing.T) {
	t.Parallel()
	if n := arrayEnd(); n < 500 || arrayBytes(n) > capacity.MaxItemBytes || arrayBytes(n) < capacity.MaxItemBytes-2000 {
		t.Errorf("the array ends at %d messages, with %d bytes", n, arrayBytes(n))
	}
}
