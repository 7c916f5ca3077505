package dynamo

import (
	"maps"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
)

// item is a record as DynamoDB has it. Its readers return the zero value for an attribute that is absent or of
// another kind: the table may be the app's own, whose records hold what they like.
type item map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func whole[N ~int | ~int64](n N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

func moment(t time.Time) types.AttributeValue { return text(conversation.FormatTime(t)) }

func flag(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

func number(f float64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatFloat(f, 'g', -1, 64)}
}

// setText and its like leave an attribute out where there is nothing to say.
func (it item) setText(name, s string) {
	if s != "" {
		it[name] = text(s)
	}
}

func (it item) setTime(name string, t time.Time) {
	if !t.IsZero() {
		it[name] = moment(t)
	}
}

func (it item) setBytes(name string, b []byte) {
	if len(b) > 0 {
		it[name] = &types.AttributeValueMemberB{Value: b}
	}
}

func (it item) setTexts(name string, list []string) {
	if len(list) > 0 {
		it[name] = texts(list)
	}
}

func texts(list []string) types.AttributeValue {
	values := make([]types.AttributeValue, len(list))
	for i, s := range list {
		values[i] = text(s)
	}
	return &types.AttributeValueMemberL{Value: values}
}

// setDocument stores a JSON object that conversation.PrepareDocument has passed.
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

func (it item) text(name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func (it item) whole(name string) int64 {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil {
			return n
		}
	}
	return 0
}

func (it item) number(name string) float64 {
	if v, ok := it[name].(*types.AttributeValueMemberN); ok {
		f, err := strconv.ParseFloat(v.Value, 64)
		if err == nil {
			return f
		}
	}
	return 0
}

func (it item) time(name string) time.Time {
	at, ok := parseTime(it.text(name))
	if !ok {
		return time.Time{}
	}
	return at
}

func (it item) flag(name string) bool {
	v, ok := it[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

func (it item) bytes(name string) []byte {
	if v, ok := it[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func (it item) texts(name string) []string {
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

// document returns a JSON object as conversation.PrepareDocument shapes it: numbers as float64.
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

// bytesLong is about what the item takes in an answer: its names, strings and bytes, and a little for everything else.
func (it item) bytesLong() int {
	return bytesOf(&types.AttributeValueMemberM{Value: it})
}

func bytesOf(v types.AttributeValue) int {
	n := 8
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		n = len(v.Value) + (escapedControl-1)*controls(v.Value)
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			n += bytesOf(e)
		}
	case *types.AttributeValueMemberM:
		for name, e := range v.Value {
			n += len(name) + bytesOf(e)
		}
	}
	return n
}

// escapedControl is what a control character takes: an answer is a JSON text that Lambda puts into another, and it may
// have 6 MB in all.
const escapedControl = len(`\\u0001`)

func controls(text string) (n int) {
	for i := range len(text) {
		if text[i] < ' ' {
			n++
		}
	}
	return n
}

// with returns a copy of the item with other's attributes in place of its own.
func (it item) with(other item) item {
	out := maps.Clone(it)
	maps.Copy(out, other)
	return out
}

// expired reports whether the record counts as absent: DynamoDB deletes it days after its time.
func (it item) expired(now time.Time) bool {
	return it.has(TTLAttribute) && it.whole(TTLAttribute) <= now.Unix()
}
