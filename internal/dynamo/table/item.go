package table

import (
	"maps"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
)

// Item is a record as DynamoDB stores it. Its getters return the zero value for an attribute that is absent or of
// another type, because the table may also hold records of the app's own.
type Item map[string]types.AttributeValue

// StringAttr is a text as it is stored.
func StringAttr(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// IntAttr is a whole number as it is stored.
func IntAttr[N ~int | ~int64](n N) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// TimeAttr is a time as it is stored: as text, in milliseconds, in the order of the times.
func TimeAttr(t time.Time) types.AttributeValue { return StringAttr(conversation.FormatTime(t)) }

// BoolAttr is a truth value as it is stored.
func BoolAttr(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// Attr is a value as it is stored. A stored value is returned as it is.
func Attr(v any) types.AttributeValue {
	switch v := v.(type) {
	case types.AttributeValue:
		return v
	case time.Time:
		return TimeAttr(v)
	case []string:
		return ListAttr(v)
	case conversation.SeqSet:
		return StringAttr(v.String())
	}
	switch v := reflect.ValueOf(v); v.Kind() {
	case reflect.String:
		return StringAttr(v.String())
	case reflect.Bool:
		return BoolAttr(v.Bool())
	case reflect.Float64:
		return &types.AttributeValueMemberN{Value: strconv.FormatFloat(v.Float(), 'g', -1, 64)}
	case reflect.Int, reflect.Int64:
		return IntAttr(v.Int())
	}
	value, err := attributevalue.MarshalWithOptions(v, func(o *attributevalue.EncoderOptions) {
		o.TagKey = "stored"
		o.EncodeTime = func(at time.Time) (types.AttributeValue, error) { return TimeAttr(at), nil }
	})
	if err != nil {
		panic("dynamo: encode: " + err.Error()) // of a type that no record has
	}
	return value
}

// Set sets an attribute.
func (it Item) Set(name string, v any) { it[name] = Attr(v) }

// SetDue makes a record fall due.
func (it Item) SetDue(k Key, at time.Time) {
	it.Set(AttrDueAt, at)
	it.Set(AttrDueShard, DueShard(k))
}

// The setters leave an empty value out.

func (it Item) SetString(name, s string) {
	if s != "" {
		it[name] = StringAttr(s)
	}
}

// SetTime sets a time.
func (it Item) SetTime(name string, t time.Time) {
	if !t.IsZero() {
		it[name] = TimeAttr(t)
	}
}

// SetBytes sets bytes.
func (it Item) SetBytes(name string, b []byte) {
	if len(b) > 0 {
		it[name] = &types.AttributeValueMemberB{Value: b}
	}
}

// SetStrings sets a list of texts.
func (it Item) SetStrings(name string, list []string) {
	if len(list) > 0 {
		it[name] = ListAttr(list)
	}
}

// ListAttr is a list of texts as it is stored.
func ListAttr(list []string) types.AttributeValue {
	values := make([]types.AttributeValue, len(list))
	for i, s := range list {
		values[i] = StringAttr(s)
	}
	return &types.AttributeValueMemberL{Value: values}
}

// SetDocument stores a JSON object that conversation.PrepareDocument has checked.
func (it Item) SetDocument(name string, doc map[string]any) error {
	if doc == nil {
		return nil
	}
	v, err := attributevalue.Marshal(doc)
	if err == nil {
		it[name] = v
	}
	return err
}

// String returns a text.
func (it Item) String(name string) string { return textOf(it[name]) }

func textOf(v types.AttributeValue) string {
	if v, ok := v.(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// Int64 returns a whole number.
func (it Item) Int64(name string) int64 { return wholeOf(it[name]) }

func wholeOf(v types.AttributeValue) int64 {
	if v, ok := v.(*types.AttributeValueMemberN); ok {
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err == nil {
			return n
		}
	}
	return 0
}

// Float64 returns a number.
func (it Item) Float64(name string) float64 { return numberOf(it[name]) }

func numberOf(v types.AttributeValue) float64 {
	if v, ok := v.(*types.AttributeValueMemberN); ok {
		f, err := strconv.ParseFloat(v.Value, 64)
		if err == nil {
			return f
		}
	}
	return 0
}

// Time returns a time.
func (it Item) Time(name string) time.Time { return timeOf(it[name]) }

func timeOf(v types.AttributeValue) time.Time {
	at, ok := ParseTime(textOf(v))
	if !ok {
		return time.Time{}
	}
	return at
}

// Bool returns a truth value.
func (it Item) Bool(name string) bool { return truthOf(it[name]) }

func truthOf(v types.AttributeValue) bool {
	b, ok := v.(*types.AttributeValueMemberBOOL)
	return ok && b.Value
}

// Bytes returns bytes.
func (it Item) Bytes(name string) []byte {
	if v, ok := it[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

// Strings returns a list of texts.
func (it Item) Strings(name string) []string { return textsOf(it[name]) }

func textsOf(v types.AttributeValue) (list []string) {
	if set, ok := v.(*types.AttributeValueMemberSS); ok {
		return set.Value
	}
	l, ok := v.(*types.AttributeValueMemberL)
	if !ok {
		return nil
	}
	for _, e := range l.Value {
		if s, ok := e.(*types.AttributeValueMemberS); ok {
			list = append(list, s.Value)
		}
	}
	return list
}

// Document returns a JSON object, its numbers as float64 (see conversation.PrepareDocument).
func (it Item) Document(name string) map[string]any {
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

// Nested returns the map at a name, nil if there is none.
func (it Item) Nested(name string) Item {
	if m, ok := it[name].(*types.AttributeValueMemberM); ok {
		return m.Value
	}
	return nil
}

// Attribute returns the item as the map of another one.
func (it Item) Attribute() types.AttributeValue { return &types.AttributeValueMemberM{Value: it} }

// Has reports whether the item has an attribute.
func (it Item) Has(name string) bool {
	_, ok := it[name]
	return ok
}

// Size estimates how many bytes the item takes in an HTTP answer: its names, strings and bytes, and 8 for any other
// value.
func (it Item) Size() int {
	return SizeOf(&types.AttributeValueMemberM{Value: it})
}

// SizeOf estimates how many bytes a value takes in an HTTP answer, as Item.Size does.
func SizeOf(v types.AttributeValue) int {
	n := 8
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		n = len(v.Value) + (EscapedControl-1)*CountControls(v.Value)
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			n += SizeOf(e)
		}
	case *types.AttributeValueMemberM:
		for name, e := range v.Value {
			n += len(name) + SizeOf(e)
		}
	}
	return n
}

// EscapedControl is the size of a control character in an answer. Lambda encodes the answer's JSON as a JSON string
// once more, and limits the result to 6 MB.
const EscapedControl = len(`\\u0001`)

// CountControls counts the control characters of a text.
func CountControls(text string) (n int) {
	for i := range len(text) {
		if text[i] < ' ' {
			n++
		}
	}
	return n
}

// With returns a copy of the item with other's attributes added to it or replacing its own.
func (it Item) With(other Item) Item {
	out := make(Item, len(it)+len(other))
	maps.Copy(out, it)
	maps.Copy(out, other)
	return out
}

// Only returns those of the item's attributes that have one of the names.
func (it Item) Only(names ...string) Item {
	out := make(Item, len(names))
	for _, name := range names {
		if v, ok := it[name]; ok {
			out[name] = v
		}
	}
	return out
}

// Expired reports whether the record's lifetime is over. DynamoDB deletes expired records only days later, so readers
// leave them out.
func (it Item) Expired(now time.Time) bool {
	return it.Has(TTLAttribute) && it.Int64(TTLAttribute) <= now.Unix()
}
