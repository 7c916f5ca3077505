package capacity

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is a record as DynamoDB stores it. A nil Item does not exist.
type Item = map[string]types.AttributeValue

// Text returns a text of an item, "" for none.
func Text(it Item, name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// MaxItemBytes is the size at which DynamoDB refuses an item.
const MaxItemBytes = 400 << 10

// What DynamoDB adds to a list or a map, and to each element of one.
const (
	documentBytes = 3
	elementBytes  = 1
)

// Size returns the item's size in bytes: its attributes' names in UTF-8 and its values. The 100 bytes that AWS adds for
// storage do not count for reads and writes.
func Size(it Item) int {
	n := 0
	for name, v := range it {
		n += len(name) + valueSize(v)
	}
	return n
}

func valueSize(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return numberSize(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberL:
		return listSize(v.Value)
	case *types.AttributeValueMemberM:
		return documentBytes + elementBytes*len(v.Value) + Size(v.Value)
	case *types.AttributeValueMemberSS:
		return sum(v.Value, func(s string) int { return len(s) })
	case *types.AttributeValueMemberNS:
		return sum(v.Value, numberSize)
	case *types.AttributeValueMemberBS:
		return sum(v.Value, func(b []byte) int { return len(b) })
	}
	return 1 // a boolean or a null
}

func listSize(list []types.AttributeValue) int {
	return documentBytes + elementBytes*len(list) + sum(list, valueSize)
}

func sum[T any](list []T, size func(T) int) int {
	n := 0
	for _, e := range list {
		n += size(e)
	}
	return n
}

// numberSize returns 1 byte for every two digits from the first to the last that is not zero, 1 more, and 1 for a minus
// sign. AWS calls its own rule an approximation. The records' numbers have no exponents.
func numberSize(n string) int {
	digits, negative := strings.CutPrefix(n, "-")
	digits = strings.Trim(strings.Replace(digits, ".", "", 1), "0")
	size := 1 + (len(digits)+1)/2
	if negative {
		size++
	}
	return size
}
