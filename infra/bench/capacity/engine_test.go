package capacity_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// report makes the engine report units. For single calls it reports what AWS does; for transactions it is wrong.
const report = types.ReturnConsumedCapacityIndexes

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// engine is a table of the real engine that reports what calls consumed.
type engine struct {
	*testing.T
	client *dynamodb.Client
	name   *string
	table  capacity.Table
}

func newEngine(t *testing.T) engine {
	t.Helper()
	name := dynamodbtest.Table(t, testTable(""))
	return engine{t, dynamodbtest.Client(t), aws.String(name), capacity.TableOf(testTable(name))}
}

func (e engine) must(err error) {
	e.Helper()
	check.OK(e, err)
}

// put stores the one record, or with nil deletes it.
func (e engine) put(it capacity.Item) capacity.Write {
	e.Helper()
	if it == nil {
		out, err := e.client.DeleteItem(e.Context(), &dynamodb.DeleteItemInput{
			TableName: e.name, Key: record(), ReturnConsumedCapacity: report,
		})
		e.must(err)
		return charged(out.ConsumedCapacity)
	}
	out, err := e.client.PutItem(e.Context(), &dynamodb.PutItemInput{
		TableName: e.name, Item: it, ReturnConsumedCapacity: report,
	})
	e.must(err)
	return charged(out.ConsumedCapacity)
}

func charged(c *types.ConsumedCapacity) capacity.Write {
	w := capacity.Write{Table: int(aws.ToFloat64(c.Table.CapacityUnits)), Indexes: map[string]int{}}
	for name, i := range c.GlobalSecondaryIndexes {
		w.Indexes[name] = int(aws.ToFloat64(i.CapacityUnits))
	}
	return w
}

// states returns the states that one record goes through; nil is its absence.
func states() []capacity.Item {
	long := strings.Repeat("x", 1500)
	numbers := record("a", "1")
	numbers["n"] = n("-1234567890.5")
	messages := record("text", "short")
	messages["messages"] = list(entry(long), entry(long), entry("short"))
	return []capacity.Item{
		record(), record("a", "1"), record("a", "1"), record("a", "2"), record("a", "2", "b", "1", "c", "1"),
		record("a", "2", "b", "1", "c", "1", "text", "new"), record("a", "2", "b", "1", "c", "1", "note", long),
		record("a", "2", "b", "2", "c", "1", "note", long), record("b", "2", "text", long+long),
		record("b", "2", "text", long), numbers, nil, nil, messages, record("c", "1"), record("a", "1", "text", long),
		nil,
	}
}

func entry(content string) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: capacity.Item{
		"role": s("user"), "content": s(content), "ts": s("2026-01-05T08:00:00.000Z"),
	}}
}

func TestPutsAndDeletesAreChargedAsByTheEngine(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	var before capacity.Item
	for i, after := range states() {
		if diff := cmp.Diff(e.put(after), e.table.Write(before, after)); diff != "" {
			t.Errorf("state %d (-engine +computed):\n%s", i, diff)
		}
		before = after
	}
}

func TestUpdatesAreChargedAsByTheEngine(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	var before capacity.Item
	for i, after := range states() {
		if after == nil {
			continue
		}
		out, err := e.client.UpdateItem(t.Context(), updateTo(e.name, before, after))
		e.must(err)
		if diff := cmp.Diff(charged(out.ConsumedCapacity), e.table.Write(before, after)); diff != "" {
			t.Errorf("state %d (-engine +computed):\n%s", i, diff)
		}
		before = after
	}
}

// updateTo returns an update that sets and removes attributes so that before becomes after.
func updateTo(table *string, before, after capacity.Item) *dynamodb.UpdateItemInput {
	in := &dynamodb.UpdateItemInput{
		TableName: table, Key: record(), ReturnConsumedCapacity: report, ExpressionAttributeNames: map[string]string{},
	}
	var set, remove []string
	all := maps.Clone(after)
	maps.Copy(all, before)
	delete(all, "pk")
	delete(all, "sk")
	for name := range all {
		in.ExpressionAttributeNames["#"+name] = name
		if v, ok := after[name]; !ok {
			remove = append(remove, "#"+name)
		} else {
			if in.ExpressionAttributeValues == nil {
				in.ExpressionAttributeValues = capacity.Item{}
			}
			in.ExpressionAttributeValues[":"+name] = v
			set = append(set, fmt.Sprintf("#%s = :%s", name, name))
		}
	}
	var clauses []string
	if len(set) > 0 {
		clauses = append(clauses, "SET "+strings.Join(set, ", "))
	}
	if len(remove) > 0 {
		clauses = append(clauses, "REMOVE "+strings.Join(remove, ", "))
	}
	if len(clauses) > 0 {
		in.UpdateExpression = aws.String(strings.Join(clauses, " "))
	} else {
		in.ExpressionAttributeNames = nil
	}
	return in
}

func TestSizesAgreeWithTheEngineToTheByte(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	tests := map[string]types.AttributeValue{
		"string":   s("é🙂"),
		"number":   n("1234567"),
		"negative": n("-12.50"),
		"zeroes":   n("0012.3400"),
		"zero":     n("0"),
		"flag":     &types.AttributeValueMemberBOOL{Value: true},
		"null":     &types.AttributeValueMemberNULL{Value: true},
		"binary":   &types.AttributeValueMemberB{Value: []byte{1, 2, 3}},
		"set":      &types.AttributeValueMemberSS{Value: []string{"a", "bc"}},
		"numbers":  &types.AttributeValueMemberNS{Value: []string{"1", "123"}},
		"binaries": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}},
		"empty":    list(),
		"list":     list(s("ab"), n("7")),
		"messages": list(entry("hello"), entry("there")),
		"nested":   &types.AttributeValueMemberM{Value: capacity.Item{"a": list()}},
	}
	for name, v := range tests {
		for _, size := range []int{1024, 1025} {
			it := record("text", "")
			it[name] = v
			it["text"] = s(strings.Repeat("x", size-capacity.Size(it)))
			e.put(nil)
			if got, want := e.put(it).Table, size-1023; got != want {
				t.Errorf("with a %s an item of %d bytes takes %d write units, want %d", name, size, got, want)
			}
		}
	}
}

func TestReadsAreChargedAsByTheEngine(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	var items []capacity.Item
	for i, size := range []int{100, 4096, 4097, 8192, 8193} {
		it := record("a", "1", "text", "")
		it["sk"] = s(fmt.Sprint("s", i))
		it["text"] = s(strings.Repeat("x", size-capacity.Size(it)))
		e.put(it)
		items = append(items, it)
	}
	e.getsAgree(items)
	e.queriesAgree(items)
}

// getsAgree leaves absent items out of its batches: AWS documents that a read of one is charged like the smallest item,
// which the engine does in a GetItem and not in a BatchGetItem.
func (e engine) getsAgree(items []capacity.Item) {
	for _, c := range []capacity.Consistency{capacity.Strong, capacity.Eventual} {
		var keys []map[string]types.AttributeValue
		var all capacity.Units
		for _, it := range items {
			k := capacity.Item{"pk": it["pk"], "sk": it["sk"]}
			want := capacity.Read(capacity.Size(it), c)
			e.agree("get", e.get(k, c), want)
			keys, all = append(keys, k), all.Add(want)
		}
		e.agree("get nothing", e.get(capacity.Item{"pk": s("p"), "sk": s("none")}, c), capacity.Read(0, c))
		out, err := e.client.BatchGetItem(e.Context(), &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{
				*e.name: {Keys: keys, ConsistentRead: aws.Bool(bool(c))},
			}, ReturnConsumedCapacity: report,
		})
		e.must(err)
		e.agree("batch get", &out.ConsumedCapacity[0], all)
	}
}

func (e engine) get(k capacity.Item, c capacity.Consistency) *types.ConsumedCapacity {
	e.Helper()
	out, err := e.client.GetItem(e.Context(), &dynamodb.GetItemInput{
		TableName: e.name, Key: k, ConsistentRead: aws.Bool(bool(c)), ReturnConsumedCapacity: report,
	})
	e.must(err)
	return out.ConsumedCapacity
}

// queriesAgree queries for items that exist: AWS documents that a query that finds nothing is charged, which the engine
// does not do.
func (e engine) queriesAgree(items []capacity.Item) {
	tests := []struct {
		index, where, value string
		c                   capacity.Consistency
	}{
		{"", "pk = :v", "p", capacity.Strong},
		{"", "pk = :v", "p", capacity.Eventual},
		{"all", "a = :v", "1", capacity.Eventual},
	}
	total := 0
	for _, it := range items {
		total += capacity.Size(it)
	}
	for _, tt := range tests {
		in := &dynamodb.QueryInput{
			TableName: e.name, KeyConditionExpression: aws.String(tt.where), ConsistentRead: aws.Bool(bool(tt.c)),
			ExpressionAttributeValues: capacity.Item{":v": s(tt.value)}, ReturnConsumedCapacity: report,
		}
		if tt.index != "" {
			in.IndexName = aws.String(tt.index)
		}
		out, err := e.client.Query(e.Context(), in)
		e.must(err)
		e.agree("query "+tt.index, out.ConsumedCapacity, capacity.Read(total, tt.c))
	}
}

func (e engine) agree(call string, c *types.ConsumedCapacity, want capacity.Units) {
	e.Helper()
	if got := aws.ToFloat64(c.CapacityUnits); got != want.Read {
		e.Errorf("%s: the engine says %v units, computed are %v", call, got, want.Read)
	}
}
