package dynamo

import (
	"maps"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
)

// item is a record as DynamoDB stores it. Its getters return the zero value for an attribute that is absent or of
// another type, because the table may also hold records of the app's own.
type item map[string]types.AttributeValue

func stringAttr(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func intAttr[N ~int | ~int64](n N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

func timeAttr(t time.Time) types.AttributeValue { return stringAttr(conversation.FormatTime(t)) }

func boolAttr(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

func floatAttr(f float64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatFloat(f, 'g', -1, 64)}
}

// The setters leave an empty value out.

func (it item) setString(name, s string) {
	if s != "" {
		it[name] = stringAttr(s)
	}
}

func (it item) setTime(name string, t time.Time) {
	if !t.IsZero() {
		it[name] = timeAttr(t)
	}
}

func (it item) setBytes(name string, b []byte) {
	if len(b) > 0 {
		it[name] = &types.AttributeValueMemberB{Value: b}
	}
}

func (it item) setStrings(name string, list []string) {
	if len(list) > 0 {
		it[name] = listAttr(list)
	}
}

func listAttr(list []string) types.AttributeValue {
	values := make([]types.AttributeValue, len(list))
	for i, s := range list {
		values[i] = stringAttr(s)
	}
	return &types.AttributeValueMemberL{Value: values}
}

// setDocument stores a JSON object that conversation.PrepareDocument has checked.
func (it item) setDocument(name string, doc map[string]any) error {
	if doc == nil {
		return nil
	}
	v, err := attributevalue.Marshal(doc)
	if err == nil {
		it[name] = v
	}
	return err
}

func (it item) string(name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func (it item) int64(name string) int64 {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil {
			return n
		}
	}
	return 0
}

func (it item) float64(name string) float64 {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		f, err := strconv.ParseFloat(v.Value, 64)
		if err == nil {
			return f
		}
	}
	return 0
}

func (it item) time(name string) time.Time {
	at, ok := parseTime(it.string(name))
	if !ok {
		return time.Time{}
	}
	return at
}

func (it item) bool(name string) bool {
	v, ok := it[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

func (it item) bytes(name string) []byte {
	if v, ok := it[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func (it item) strings(name string) []string {
	v, ok := it[name].(*types.AttributeValueMemberL)
	if !ok {
		return nil
	}
	var list []string
	for _, e := range v.Value {
		if s, ok := e.(*types.AttributeValueMemberS); ok {
			list = append(list, s.Value)
		}
	}
	return list
}

// document returns a JSON object, its numbers as float64 (see conversation.PrepareDocument).
func (it item) document(name string) map[string]any {
	v, ok := it[name].(*types.AttributeValueMemberM)
	if !ok {
		return nil
	}
	var doc map[string]any
	if err := attributevalue.UnmarshalMap(v.Value, &doc); err != nil {
		return nil
	}
	return doc
}

func (it item) has(name string) bool {
	_, ok := it[name]
	return ok
}

// size estimates how many bytes the item takes in an HTTP answer: its names, strings and bytes, and 8 for any other
// value.
func (it item) size() int {
	return sizeOf(&types.AttributeValueMemberM{Value: it})
}

func sizeOf(v types.AttributeValue) int {
	n := 8
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		n = len(v.Value) + (escapedControl-1)*countControls(v.Value)
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			n += sizeOf(e)
		}
	case *types.AttributeValueMemberM:
		for name, e := range v.Value {
			n += len(name) + sizeOf(e)
		}
	}
	return n
}

// escapedControl is the size of a control character in an answer. Lambda encodes the answer's JSON as a JSON string
// once more, and limits the result to 6 MB.
const escapedControl = len(`\\u0001`)

func countControls(text string) (n int) {
	for i := range len(text) {
		if text[i] < ' ' {
			n++
		}
	}
	return n
}

// with returns a copy of the item with other's attributes added to it or replacing its own.
func (it item) with(other item) item {
	out := make(item, len(it)+len(other))
	maps.Copy(out, it)
	maps.Copy(out, other)
	return out
}

// expired reports whether the record's lifetime is over. DynamoDB deletes expired records only days later, so readers
// leave them out.
func (it item) expired(now time.Time) bool {
	return it.has(TTLAttribute) && it.int64(TTLAttribute) <= now.Unix()
}
