package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
)

// TestDecodeChangeOfDocument checks that a change names the most vectors that the document had before or after it, and
// that one of a document without vectors, or of the due index alone, is none.
func TestDecodeChangeOfDocument(t *testing.T) {
	t.Parallel()
	image := func(version, vectors int) map[string]events.DynamoDBAttributeValue {
		return map[string]events.DynamoDBAttributeValue{
			"generation": events.NewNumberAttribute("3"), "version": events.NewNumberAttribute(fmt.Sprint(version)),
			"vectorCount": events.NewNumberAttribute(fmt.Sprint(vectors)),
		}
	}
	for name, c := range map[string]struct {
		before, after map[string]events.DynamoDBAttributeValue
		version       int64
		vectors       int
		ok            bool
	}{
		"created":     {nil, image(1, 1), 1, 1, true},
		"replaced":    {image(1, 5), image(2, 5), 2, 5, true},
		"expired":     {image(1, 7), image(2, 1), 2, 7, true},
		"deleted":     {image(1, 4), nil, 0, 4, true},
		"claimed":     {image(1, 1), image(1, 1), 1, 1, false},
		"not indexed": {nil, image(1, 0), 1, 0, false},
	} {
		r := events.DynamoDBEventRecord{EventName: "MODIFY", Change: events.DynamoDBStreamRecord{
			Keys: map[string]events.DynamoDBAttributeValue{
				"pk": events.NewStringAttribute("user#bob"), "sk": events.NewStringAttribute("doc#a/:k"),
			},
			OldImage: c.before, NewImage: c.after,
		}}
		got, ok, err := decodeChange(r)
		want := conversation.Change{
			User: "bob", RecordID: "doc#a/:k", Generation: 3, Version: c.version, Vectors: c.vectors,
		}
		if diff := cmp.Diff(want, got); err != nil || ok != c.ok || diff != "" {
			t.Errorf("%s: %v, %v (-want +got):\n%s", name, ok, err, diff)
		}
	}
}
