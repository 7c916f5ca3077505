package dynamo_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

const messageRecord = `{"eventName": "INSERT", "dynamodb": {
	"SequenceNumber": "42",
	"Keys": {"pk": {"S": "user#alice#1"}, "sk": {"S": "msg#2026-02-05T18:30:00.000Z#000123456789"}},
	"NewImage": {
		"pk": {"S": "user#alice#1"}, "sk": {"S": "msg#2026-02-05T18:30:00.000Z#000123456789"},
		"messageId": {"S": "msg_alice#1_1770316200_000123456789"}, "seq": {"N": "3"}, "role": {"S": "user"},
		"content": {"S": "hi"}, "tokens": {"N": "1"}, "timestamp": {"S": "2026-02-05T18:30:00.000Z"},
		"sourceContext": {"S": "workout_log"}, "sourceId": {"S": "alice#1#workout_session#w"},
		"coachId": {"S": "c"}, "mode": {"S": "workout_log"}, "generation": {"N": "2"},
		"metadata": {"M": {"a": {"L": [{"N": "1.5"}, {"NULL": true}, {"BOOL": false}, {"M": {}}]}}}
	}
}}`

const sessionRecord = `{"eventName": "MODIFY", "dynamodb": {
	"SequenceNumber": "43",
	"Keys": {"pk": {"S": "user#bob"}, "sk": {"S": "conversation#s"}},
	"OldImage": {
		"pk": {"S": "user#bob"}, "sk": {"S": "conversation#s"}, "placement": {"S": "shared"},
		"status": {"S": "active"}, "lastSeq": {"N": "1"}
	},
	"NewImage": {
		"pk": {"S": "user#bob"}, "sk": {"S": "conversation#s"}, "placement": {"S": "shared"},
		"status": {"S": "completed"}, "lastSeq": {"N": "1"}, "messages": {"SS": ["the", "app's", "own"]},
		"summaryKind": {"S": "model"}, "summary": {"S": "sum"}, "origin": {"S": "backfill"}
	}
}}`

const memoryRecord = `{"eventName": "REMOVE", "dynamodb": {
	"SequenceNumber": "44",
	"Keys": {"pk": {"S": "user#bob"}, "sk": {"S": "past#memory#m1"}},
	"OldImage": {
		"pk": {"S": "user#bob"}, "sk": {"S": "past#memory#m1"}, "content": {"S": "x"}, "generation": {"N": "3"}
	}
}}`

func decodeRecord(t *testing.T, text string) (conversation.Change, bool, error) {
	t.Helper()
	var r events.DynamoDBEventRecord
	check.OK(t, json.Unmarshal([]byte(text), &r))
	return decodeChange(r)
}

// decodeChange decodes a record of a table that an app has written to.
func decodeChange(r events.DynamoDBEventRecord) (conversation.Change, bool, error) {
	return dynamo.New(nil, "", dynamotest.Adopting()).DecodeChange(r)
}

func TestDecodeChange(t *testing.T) {
	t.Parallel()
	got, ok, err := decodeRecord(t, messageRecord)
	if err != nil || !ok {
		t.Fatalf("message: %v, %v", ok, err)
	}
	want := conversation.Change{User: "alice#1", Sequence: "42", Message: &conversation.Message{
		ID: "msg_alice#1_1770316200_000123456789", Seq: 3, SessionID: "w", Context: "workout_log", CoachID: "c",
		Role: conversation.RoleUser, Content: "hi", Tokens: 1, Timestamp: start, Mode: "workout_log",
		Metadata: map[string]any{"a": []any{1.5, nil, false, map[string]any{}}}, Generation: 2,
	}}
	check.Same(t, want, got, "message")
	got, ok, err = decodeRecord(t, sessionRecord)
	if err != nil || !ok || got.Before == nil || got.After == nil {
		t.Fatalf("session: %+v, %v, %v", got, ok, err)
	}
	if got.Before.Status != conversation.Active || got.After.Status != conversation.Completed ||
		got.After.Summary.Text != "sum" {
		t.Errorf("session images %+v and %+v", got.Before, got.After)
	}
}

func TestDecodeChangeOfMemory(t *testing.T) {
	t.Parallel()
	got, ok, err := decodeRecord(t, memoryRecord)
	if err != nil || !ok {
		t.Fatalf("memory: %v, %v", ok, err)
	}
	want := conversation.Change{User: "bob", Sequence: "44", RecordID: "m1", Generation: 3, Past: true}
	check.Same(t, want, got, "the result")
}

// TestDecodeChangeOfTheDueIndex checks that a change of a record's place in the due index alone is no change.
func TestDecodeChangeOfTheDueIndex(t *testing.T) {
	t.Parallel()
	image := func(version int, due string) map[string]events.DynamoDBAttributeValue {
		return map[string]events.DynamoDBAttributeValue{
			"generation": events.NewNumberAttribute("3"), "version": events.NewNumberAttribute(fmt.Sprint(version)),
			"dueAt": events.NewStringAttribute(due),
		}
	}
	for name, c := range map[string]struct {
		before, after map[string]events.DynamoDBAttributeValue
		version       int64
		ok            bool
	}{
		"created": {nil, image(1, "a"), 1, true},
		"changed": {image(1, "a"), image(2, "b"), 2, true},
		"claimed": {image(1, "a"), image(1, "b"), 1, false},
		"deleted": {image(1, "a"), nil, 0, true},
	} {
		r := events.DynamoDBEventRecord{EventName: "MODIFY", Change: events.DynamoDBStreamRecord{
			Keys: map[string]events.DynamoDBAttributeValue{
				"pk": events.NewStringAttribute("user#bob"), "sk": events.NewStringAttribute("ltm#memory#m1"),
			},
			OldImage: c.before, NewImage: c.after,
		}}
		got, ok, err := decodeChange(r)
		if err != nil || ok != c.ok || got.Version != c.version || got.Generation != 3 || got.Past {
			t.Errorf("%s: %+v, %v, %v", name, got, ok, err)
		}
	}
}

func TestDecodeChangeIgnoresOtherRecords(t *testing.T) {
	t.Parallel()
	const messageSK = `{"S": "msg#2026-02-05T18:30:00.000Z#000123456789"}`
	record := func(event, keys, image string) string {
		return fmt.Sprintf(`{"eventName": %q, "dynamodb": {"Keys": {%s}, "NewImage": {%s}}}`, event, keys, image)
	}
	const user = `"pk": {"S": "user#a"}, "sk": `
	cases := map[string]string{
		"another record":      record("INSERT", user+`{"S": "ltm#profile"}`, ""),
		"another partition":   record("INSERT", `"pk": {"S": "migration"}, "sk": {"S": "state"}`, ""),
		"no keys":             `{"eventName": "INSERT", "dynamodb": {}}`,
		"keys of other types": record("INSERT", `"pk": {"N": "1"}, "sk": {"B": "AA=="}`, ""),
		"a deleted message":   `{"eventName": "REMOVE", "dynamodb": {"Keys": {` + user + messageSK + `}}}`,
	}
	for name, text := range cases {
		if c, ok, err := decodeRecord(t, text); ok || err != nil {
			t.Errorf("%s: %+v, %v, %v", name, c, ok, err)
		}
	}
	if _, ok, err := decodeRecord(t, record("INSERT", user+messageSK, `"seq": {"S": "1"}`)); ok || err == nil {
		t.Errorf("a message without its attributes: %v, %v", ok, err)
	}
}

// FuzzDecodeChange checks that no record makes the decoder panic, and that a change is of one kind.
func FuzzDecodeChange(f *testing.F) {
	f.Add(messageRecord)
	f.Add(sessionRecord)
	f.Add(memoryRecord)
	f.Add(`{"dynamodb":{"Keys":{"pk":{"S":null},"sk":{"BOOL":null}},"NewImage":{"a":{"M":{"b":{"L":[null]}}}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var r events.DynamoDBEventRecord
		if json.Unmarshal([]byte(text), &r) != nil {
			return
		}
		_, _ = dynamo.New(nil, "", dynamotest.Adopting()).DecodeEvents(r)
		c, ok, err := decodeChange(r)
		if ok && err != nil {
			t.Errorf("both a change and %v", err)
		}
		kinds := 0
		for _, is := range []bool{c.Message != nil, c.Before != nil || c.After != nil, c.RecordID != ""} {
			if is {
				kinds++
			}
		}
		if ok && kinds != 1 {
			t.Errorf("a change of %d kinds: %+v", kinds, c)
		}
		if image, err := dynamo.DecodeImage(r.Change.NewImage); err == nil && len(image) != len(r.Change.NewImage) {
			t.Errorf("%d attributes of %d were read", len(image), len(r.Change.NewImage))
		}
	})
}
