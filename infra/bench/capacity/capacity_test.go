package capacity_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/bench/capacity"
)

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func n(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

func list(v ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: v}
}

func TestSizeFollowsTheDocumentedRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		item capacity.Item
		want int
	}{
		{"nothing", nil, 0},
		{"a string counts its name and its bytes", capacity.Item{"name": s("abc")}, 4 + 3},
		{"UTF-8, not characters", capacity.Item{"né": s("é🙂")}, 3 + 6},
		{"a number takes a byte for two digits and one more", capacity.Item{"n": n("12345")}, 1 + 3 + 1},
		{"zeroes at both ends are trimmed", capacity.Item{"n": n("0012.3400")}, 1 + 2 + 1},
		{"an exponent is no digit", capacity.Item{"n": n("1.5E+30")}, 1 + 1 + 1},
		{"zero", capacity.Item{"n": n("0")}, 1 + 1},
		{"a minus sign", capacity.Item{"n": n("-7")}, 1 + 1 + 1 + 1},
		{"raw bytes of a binary", capacity.Item{"b": &types.AttributeValueMemberB{Value: make([]byte, 10)}}, 11},
		{"a boolean", capacity.Item{"b": &types.AttributeValueMemberBOOL{}}, 2},
		{"a null", capacity.Item{"b": &types.AttributeValueMemberNULL{Value: true}}, 2},
		{"an empty list", capacity.Item{"l": list()}, 1 + 3},
		{"a list's elements", capacity.Item{"l": list(s("ab"), n("7"))}, 1 + 3 + (1 + 2) + (1 + 2)},
		{
			"a map's names",
			capacity.Item{"m": &types.AttributeValueMemberM{Value: capacity.Item{"role": s("user")}}},
			1 + 3 + 1 + 4 + 4,
		},
		{"a set has no overhead", capacity.Item{"s": &types.AttributeValueMemberSS{Value: []string{"a", "bc"}}}, 1 + 3},
		{"a number set", capacity.Item{"s": &types.AttributeValueMemberNS{Value: []string{"1", "123"}}}, 1 + 2 + 3},
		{"a binary set", capacity.Item{"s": &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2, 3}}}}, 1 + 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := capacity.Size(tt.item); got != tt.want {
				t.Errorf("size is %d, want %d", got, tt.want)
			}
		})
	}
}

func TestReadsRoundUpToFourKilobytes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		bytes int
		c     capacity.Consistency
		want  float64
	}{
		{0, capacity.Strong, 1},
		{0, capacity.Eventual, 0.5},
		{4096, capacity.Strong, 1},
		{4097, capacity.Strong, 2},
		{4097, capacity.Eventual, 1},
		{400 << 10, capacity.Eventual, 50},
	}
	for _, tt := range tests {
		if got := capacity.Read(tt.bytes, tt.c); got != (capacity.Units{Read: tt.want}) {
			t.Errorf("reading %d bytes (consistent: %t) is %+v, want %v read units", tt.bytes, tt.c, got, tt.want)
		}
	}
}

// testTable has one index of each projection.
func testTable(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:   aws.String(name),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			attribute("pk"), attribute("sk"), attribute("a"), attribute("b"), attribute("c"),
		},
		KeySchema: schema("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			index("all", types.Projection{ProjectionType: types.ProjectionTypeAll}, "a"),
			index("keys", types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}, "pk", "b"),
			index("some", types.Projection{
				ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"note"},
			}, "c"),
		},
	}
}

func attribute(name string) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS}
}

func schema(names ...string) []types.KeySchemaElement {
	kinds := []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}
	var out []types.KeySchemaElement
	for i, name := range names {
		out = append(out, types.KeySchemaElement{AttributeName: aws.String(name), KeyType: kinds[i]})
	}
	return out
}

func index(name string, p types.Projection, key ...string) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{IndexName: aws.String(name), KeySchema: schema(key...), Projection: &p}
}

func record(attributes ...string) capacity.Item {
	it := capacity.Item{"pk": s("p"), "sk": s("s")}
	for i := 0; i < len(attributes); i += 2 {
		it[attributes[i]] = s(attributes[i+1])
	}
	return it
}

func TestWritesChargeTheTableAndWhatChangesInIndexes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1500)
	tests := []struct {
		name          string
		before, after capacity.Item
		want          capacity.Write
	}{
		{"a put of an item that no index holds", nil, record(), capacity.Write{Table: 1}},
		{"a put into every index", nil, record("a", "1", "b", "1", "c", "1"), capacity.Write{
			Table: 1, Indexes: map[string]int{"all": 1, "keys": 1, "some": 1},
		}},
		{"an index is written by the size of its entry", nil, record("a", "1", "b", "1", "text", long), capacity.Write{
			Table: 2, Indexes: map[string]int{"all": 2, "keys": 1},
		}},
		{"an equal item again", record("a", "1"), record("a", "1"), capacity.Write{Table: 1}},
		{
			"an attribute that only one projection holds", record("a", "1", "b", "1", "c", "1"),
			record("a", "1", "b", "1", "c", "1", "text", "new"),
			capacity.Write{
				Table: 1, Indexes: map[string]int{"all": 1},
			},
		},
		{"an included attribute", record("b", "1", "c", "1"), record("b", "1", "c", "1", "note", "new"), capacity.Write{
			Table: 1, Indexes: map[string]int{"some": 1},
		}},
		{
			"a changed key is a deletion and a put", record("a", "1", "text", long), record("a", "2", "text", long),
			capacity.Write{Table: 2, Indexes: map[string]int{"all": 4}},
		},
		{"a key that goes", record("b", "1"), record(), capacity.Write{Table: 1, Indexes: map[string]int{"keys": 1}}},
		{"a shrinking item is charged as it was", record("text", long), record(), capacity.Write{Table: 2}},
		{"a deletion is charged as the item was", record("a", "1", "text", long), nil, capacity.Write{
			Table: 2, Indexes: map[string]int{"all": 2},
		}},
		{"a deletion of nothing", nil, nil, capacity.Write{Table: 1}},
	}
	table := capacity.TableOf(testTable("t"))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want.Indexes == nil {
				tt.want.Indexes = map[string]int{}
			}
			if diff := cmp.Diff(tt.want, table.Write(tt.before, tt.after)); diff != "" {
				t.Errorf("write (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTransactionsDoubleTheTableAndNotTheIndexes(t *testing.T) {
	t.Parallel()
	w := capacity.Write{Table: 3, Indexes: map[string]int{"all": 3, "keys": 1}}
	if got := w.Alone(); got != (capacity.Units{Write: 7}) {
		t.Errorf("alone it is %+v, want 7 write units", got)
	}
	if got := w.InTransaction(); got != (capacity.Units{Write: 10}) {
		t.Errorf("in a transaction it is %+v, want 10 write units", got)
	}
}
