package storebench_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/store/storebench"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestTextsHaveTheirLengthAndDependOnTheSeed(t *testing.T) {
	t.Parallel()
	messages := storebench.NewTexts(1).Messages(201)
	if len(messages) != 201 {
		t.Fatalf("%d messages, want 201", len(messages))
	}
	roles := []conversation.Role{conversation.RoleUser, conversation.RoleAssistant}
	seen := map[string]bool{}
	for i, m := range messages {
		if n := utf8.RuneCountInString(m.Content); n < 200 || n > 600 {
			t.Errorf("message %d has %d characters", i, n)
		}
		if m.Role != roles[i%2] || m.Tokens < 1 || seen[m.Content] {
			t.Errorf("message %d is %s, %d tokens, seen before: %t", i, m.Role, m.Tokens, seen[m.Content])
		}
		seen[m.Content] = true
	}
	if diff := cmp.Diff(messages, storebench.NewTexts(1).Messages(201)); diff != "" {
		t.Errorf("the same seed wrote something else:\n%s", diff)
	}
	if cmp.Equal(messages, storebench.NewTexts(2).Messages(201)) {
		t.Error("another seed wrote the same")
	}
}

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func TestBareTransactionKeepsTheItemsAndNothingElse(t *testing.T) {
	t.Parallel()
	table := aws.String("t")
	key := func(sk string) capacity.Item { return capacity.Item{"pk": s("user#ann"), "sk": s(sk)} }
	message := capacity.Item{
		"pk": s("user#ann"), "sk": s("msg#1"), "messageId": s("msg_ann_1_x"), "content": s("I am ann"),
		"seq": &types.AttributeValueMemberN{Value: "1"},
	}
	items := []types.TransactWriteItem{
		{Update: &types.Update{
			TableName: table, Key: key("conversation#c"),
			UpdateExpression:          aws.String("SET #0 = :1, #2 = if_not_exists(#2, :3)"),
			ConditionExpression:       aws.String("#0 = :0 AND #1 = :2"),
			ExpressionAttributeNames:  map[string]string{"#0": "version", "#1": "placement", "#2": "dueAt"},
			ExpressionAttributeValues: capacity.Item{":0": s("1"), ":1": s("2"), ":2": s("shared"), ":3": s("now")},
		}},
		{Put: &types.Put{TableName: table, Item: message, ConditionExpression: aws.String("attribute_not_exists(pk)")}},
		{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key("control#generation")}},
		{Put: &types.Put{TableName: table, Item: key("fresh#1")}},
		{Put: &types.Put{TableName: table, Item: key("idem#a#b")}},
	}
	bob := func(sk string) capacity.Item { return capacity.Item{"pk": s("user#bob"), "sk": s(sk)} }
	want := []types.TransactWriteItem{
		{Update: &types.Update{
			TableName: table, Key: bob("conversation#c"), UpdateExpression: items[0].Update.UpdateExpression,
			ExpressionAttributeNames:  map[string]string{"#0": "version", "#2": "dueAt"},
			ExpressionAttributeValues: capacity.Item{":1": s("2"), ":3": s("now")},
		}},
		{Put: &types.Put{TableName: table, Item: capacity.Item{
			"pk": s("user#bob"), "sk": s("msg#1"), "messageId": s("msg_bob_1_x"), "content": s("I am ann"),
			"seq": message["seq"],
		}}},
		{Put: &types.Put{TableName: table, Item: bob("idem#a#b")}},
	}
	got := storebench.BareItems(items, "ann", "bob")
	if diff := cmp.Diff(want, got, unexported); diff != "" {
		t.Errorf("bare transaction (-want +got):\n%s", diff)
	}
}

var unexported = cmp.Options{
	cmpopts.IgnoreUnexported(types.TransactWriteItem{}, types.Put{}, types.Update{}),
	cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}),
}

func TestRunOnTheEngine(t *testing.T) {
	t.Parallel()
	client := dynamodbtest.Client(t)
	table := dynamodbtest.Table(t, table.CreateTableInput(""))
	settings := storebench.Settings{Lengths: []int{0, 10, 60, 120}, Repeats: 3, Seed: 7}
	r, err := storebench.Run(t.Context(), client, table, settings, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Bars() {
		if !b.Held && !strings.Contains(b.Name, "last page") { // last pages differ in size at these lengths
			t.Errorf("%s is %v, at most %v", b.Name, b.Value, b.Limit)
		}
	}
	for _, row := range r.Rows {
		if row.Repeats != settings.Repeats {
			t.Errorf("%s by %s at %d was measured %d times, not %d", row.Kind, row.Contender, row.Length,
				row.Repeats, settings.Repeats)
		}
	}
	end := r.ArrayEnd
	if end.Messages < 500 || end.Bytes > capacity.MaxItemBytes || end.Bytes < capacity.MaxItemBytes-2000 {
		t.Errorf("the array ended at %+v", end)
	}
	turns := r.Tables()[0].Markdown()
	for _, want := range []string{storebench.Warm, storebench.BareTurn, storebench.Array} {
		if !strings.Contains(turns, want) {
			t.Errorf("the report does not name %q", want)
		}
	}
}
