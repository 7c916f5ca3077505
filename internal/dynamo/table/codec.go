package table

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// tag is that of a field which is stored. It says the name of the attribute, and whether an empty one is left out.
const tag = "stored"

var encoder = attributevalue.NewEncoder(func(o *attributevalue.EncoderOptions) {
	o.TagKey, o.OmitEmptyTime = tag, true
	o.EncodeTime = func(t time.Time) (types.AttributeValue, error) { return TimeAttr(t), nil }
})

var decoder = attributevalue.NewDecoder(func(o *attributevalue.DecoderOptions) {
	o.TagKey = tag
	o.DecodeTime.S = func(text string) (time.Time, error) {
		at, _ := ParseTime(text) // a text that is no time is left out, as Item.Time does
		return at, nil
	}
})

// Encode returns the attributes of a record: its fields with a tag. It panics where the type has a field that cannot be
// stored.
func Encode[T any](record T) Item {
	v, err := encoder.Encode(record)
	if err != nil {
		panic(err)
	}
	it := Item(v.(*types.AttributeValueMemberM).Value)
	for name, v := range it {
		if list, ok := v.(*types.AttributeValueMemberL); ok && len(list.Value) == 0 {
			delete(it, name)
		}
	}
	return it
}

// Decode reads the fields of a record that have a tag. A field whose attribute is absent or of another type is empty.
func Decode[T any](it Item) (record T) {
	if decoder.Decode(&types.AttributeValueMemberM{Value: it}, &record) == nil {
		return record
	}
	var rest T
	for name, v := range it {
		_ = decoder.Decode(&types.AttributeValueMemberM{Value: Item{name: v}}, &rest)
	}
	return rest
}
