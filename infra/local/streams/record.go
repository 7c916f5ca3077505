package streams

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// record is one stream record as Lambda delivers it, and what filters, batches and workers need of it.
type record struct {
	sequence string
	key      uint64 // a hash of the item's key
	event    events.DynamoDBEventRecord
	raw      json.RawMessage
	document any // raw as decoded JSON, for the filters
}

// convert turns a record of the streams API into one of a function's event. internal/dynamo has the other direction:
// DecodeImage turns the attribute values of an event into those of the SDK.
func convert(r types.Record, streamARN string) (record, error) {
	change := r.Dynamodb
	if change == nil {
		return record{}, fmt.Errorf("convert record %s: it has no change", aws.ToString(r.EventID))
	}
	event := events.DynamoDBEventRecord{
		AWSRegion: aws.ToString(r.AwsRegion), EventID: aws.ToString(r.EventID), EventName: string(r.EventName),
		EventSource: aws.ToString(r.EventSource), EventVersion: aws.ToString(r.EventVersion),
		EventSourceArn: streamARN,
		Change: events.DynamoDBStreamRecord{
			Keys: image(change.Keys), NewImage: image(change.NewImage), OldImage: image(change.OldImage),
			SequenceNumber: aws.ToString(change.SequenceNumber), SizeBytes: aws.ToInt64(change.SizeBytes),
			StreamViewType: string(change.StreamViewType),
		},
	}
	if at := change.ApproximateCreationDateTime; at != nil {
		event.Change.ApproximateCreationDateTime = events.SecondsEpochTime{Time: *at}
	}
	if id := r.UserIdentity; id != nil {
		event.UserIdentity = &events.DynamoDBUserIdentity{
			Type: aws.ToString(id.Type), PrincipalID: aws.ToString(id.PrincipalId),
		}
	}
	raw, err := json.Marshal(event)
	if err != nil {
		return record{}, fmt.Errorf("convert record %s: %w", event.EventID, err)
	}
	keys, err := json.Marshal(event.Change.Keys)
	if err != nil {
		return record{}, fmt.Errorf("convert record %s: %w", event.EventID, err)
	}
	hash := fnv.New64a()
	_, _ = hash.Write(keys)
	out := record{sequence: event.Change.SequenceNumber, key: hash.Sum64(), event: event, raw: raw}
	if err := json.Unmarshal(raw, &out.document); err != nil {
		return record{}, fmt.Errorf("convert record %s: %w", event.EventID, err)
	}
	return out, nil
}

func image(item map[string]types.AttributeValue) map[string]events.DynamoDBAttributeValue {
	if item == nil {
		return nil
	}
	out := make(map[string]events.DynamoDBAttributeValue, len(item))
	for name, v := range item {
		out[name] = value(v)
	}
	return out
}

// value converts one attribute. Slices and maps are never nil, because the event's JSON would then say null.
func value(v types.AttributeValue) events.DynamoDBAttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value)
	case *types.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value)
	case *types.AttributeValueMemberB:
		return events.NewBinaryAttribute(append([]byte{}, v.Value...))
	case *types.AttributeValueMemberBOOL:
		return events.NewBooleanAttribute(v.Value)
	case *types.AttributeValueMemberSS:
		return events.NewStringSetAttribute(append([]string{}, v.Value...))
	case *types.AttributeValueMemberNS:
		return events.NewNumberSetAttribute(append([]string{}, v.Value...))
	case *types.AttributeValueMemberBS:
		return events.NewBinarySetAttribute(append([][]byte{}, v.Value...))
	case *types.AttributeValueMemberL:
		list := make([]events.DynamoDBAttributeValue, len(v.Value))
		for i, item := range v.Value {
			list[i] = value(item)
		}
		return events.NewListAttribute(list)
	case *types.AttributeValueMemberM:
		return events.NewMapAttribute(mapImage(v.Value))
	default:
		return events.NewNullAttribute()
	}
}

func mapImage(item map[string]types.AttributeValue) map[string]events.DynamoDBAttributeValue {
	if item == nil {
		return map[string]events.DynamoDBAttributeValue{}
	}
	return image(item)
}
