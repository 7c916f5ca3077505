package streams

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// record is one stream record as Lambda delivers it, and what filters, batches and workers need of it.
type record struct {
	sequence string
	created  time.Time
	key      uint64 // a hash of the item's key
	raw      json.RawMessage
	document map[string]any // raw as decoded JSON, for the filters
}

// convert turns a record of the streams API into one of a function's event.
func convert(r types.Record, streamARN string) (record, error) {
	raw, err := eventRecord(r, streamARN)
	change := r.Dynamodb
	out := record{
		sequence: aws.ToString(change.SequenceNumber), created: aws.ToTime(change.ApproximateCreationDateTime), raw: raw,
	}
	if err == nil {
		err = json.Unmarshal(raw, &out.document)
	}
	if err != nil {
		return record{}, fmt.Errorf("convert record %s: %w", aws.ToString(r.EventID), err)
	}
	changed, _ := out.document["dynamodb"].(map[string]any)
	hash := fnv.New64a()
	_, _ = fmt.Fprint(hash, changed["Keys"]) // fmt sorts the names
	out.key = hash.Sum64()
	return out, nil
}

// eventRecord writes a record as it is in a function's event.
func eventRecord(r types.Record, streamARN string) (json.RawMessage, error) {
	change := r.Dynamodb
	changed := map[string]any{
		"SequenceNumber": change.SequenceNumber, "SizeBytes": change.SizeBytes, "StreamViewType": change.StreamViewType,
	}
	if at := change.ApproximateCreationDateTime; at != nil {
		changed["ApproximateCreationDateTime"] = at.Unix()
	}
	for name, item := range map[string]map[string]types.AttributeValue{
		"Keys": change.Keys, "NewImage": change.NewImage, "OldImage": change.OldImage,
	} {
		if item == nil {
			continue
		}
		image, err := attributevalue.FromDynamoDBStreamsMap(item)
		if err != nil {
			return nil, err
		}
		text, err := attributevalue.MarshalMapJSON(image)
		if err != nil {
			return nil, err
		}
		changed[name] = json.RawMessage(text)
	}
	event := map[string]any{
		"awsRegion": r.AwsRegion, "eventID": r.EventID, "eventName": r.EventName, "eventSource": r.EventSource,
		"eventVersion": r.EventVersion, "eventSourceARN": streamARN, "dynamodb": changed,
	}
	if id := r.UserIdentity; id != nil {
		event["userIdentity"] = map[string]any{"type": id.Type, "principalId": id.PrincipalId}
	}
	return json.Marshal(event)
}
