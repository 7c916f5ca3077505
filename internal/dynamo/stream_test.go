package dynamo_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/storetest"
)

const messageRecord = `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"42","Keys":{"pk":{"S":"user#alice#1"},
"sk":{"S":"msg#2026-02-05T18:30:00.000Z#000123456789"}},"NewImage":{"pk":{"S":"user#alice#1"},
"sk":{"S":"msg#2026-02-05T18:30:00.000Z#000123456789"},"messageId":{"S":"msg_alice#1_1770316200_000123456789"},
"seq":{"N":"3"},"role":{"S":"user"},"content":{"S":"hi"},"tokens":{"N":"1"},"timestamp":{"S":"2026-02-05T18:30:00.000Z"},
"sourceContext":{"S":"workout_log"},"sourceId":{"S":"alice#1#workout_session#w"},"coachId":{"S":"c"},"mode":{"S":"workout_log"},
"metadata":{"M":{"a":{"L":[{"N":"1.5"},{"NULL":true},{"BOOL":false},{"M":{}}]}}},"generation":{"N":"2"}}}}`

const sessionRecord = `{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"43","Keys":{"pk":{"S":"user#bob"},"sk":{"S":"conversation#s"}},
"OldImage":{"pk":{"S":"user#bob"},"sk":{"S":"conversation#s"},"placement":{"S":"shared"},"status":{"S":"active"},"lastSeq":{"N":"1"}},
"NewImage":{"pk":{"S":"user#bob"},"sk":{"S":"conversation#s"},"placement":{"S":"shared"},"status":{"S":"completed"},"lastSeq":{"N":"1"},
"messages":{"SS":["the","app's","own"]},"summaryKind":{"S":"model"},"summary":{"S":"sum"},"origin":{"S":"backfill"}}}}`

const memoryRecord = `{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"44","Keys":{"pk":{"S":"user#bob"},"sk":{"S":"past#memory#m1"}},
"OldImage":{"pk":{"S":"user#bob"},"sk":{"S":"past#memory#m1"},"content":{"S":"x"},"generation":{"N":"3"}}}}`

func decodeRecord(t *testing.T, text string) (conversation.Change, bool, error) {
	t.Helper()
	var r events.DynamoDBEventRecord
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return dynamo.DecodeChange(r)
}

func TestDecodeChange(t *testing.T) {
	got, ok, err := decodeRecord(t, messageRecord)
	if err != nil || !ok {
		t.Fatalf("message: %v, %v", ok, err)
	}
	want := conversation.Change{User: "alice#1", Sequence: "42", Message: &conversation.Message{
		ID: "msg_alice#1_1770316200_000123456789", Seq: 3, SessionID: "w", Context: "workout_log", CoachID: "c",
		Role: conversation.User, Content: "hi", Tokens: 1, Timestamp: storetest.Now, Mode: "workout_log",
		Metadata: map[string]any{"a": []any{1.5, nil, false, map[string]any{}}}, Generation: 2,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	got, ok, err = decodeRecord(t, sessionRecord)
	if err != nil || !ok || got.Before == nil || got.After == nil {
		t.Fatalf("session: %+v, %v, %v", got, ok, err)
	}
	if got.Before.Status != conversation.Active || got.After.Status != conversation.Completed || got.After.Summary.Text != "sum" {
		t.Errorf("session images %+v and %+v", got.Before, got.After)
	}
}

func TestDecodeChangeNamesMemories(t *testing.T) {
	got, ok, err := decodeRecord(t, memoryRecord)
	if err != nil || !ok {
		t.Fatalf("memory: %v, %v", ok, err)
	}
	want := conversation.Change{User: "bob", Sequence: "44", RecordID: "m1", Generation: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeChangePassesOthersBy(t *testing.T) {
	cases := map[string]string{
		"another record":      `{"eventName":"INSERT","dynamodb":{"Keys":{"pk":{"S":"user#a"},"sk":{"S":"ltm#profile"}}}}`,
		"another partition":   `{"eventName":"INSERT","dynamodb":{"Keys":{"pk":{"S":"migration"},"sk":{"S":"state"}}}}`,
		"no keys":             `{"eventName":"INSERT","dynamodb":{}}`,
		"keys of other kinds": `{"eventName":"INSERT","dynamodb":{"Keys":{"pk":{"N":"1"},"sk":{"B":"AA=="}}}}`,
		"a legacy record":     `{"eventName":"INSERT","dynamodb":{"Keys":{"pk":{"S":"user#a"},"sk":{"S":"conversation#x"}},"NewImage":{"sk":{"S":"conversation#x"},"messages":{"L":[]}}}}`,
		"a deleted message":   `{"eventName":"REMOVE","dynamodb":{"Keys":{"pk":{"S":"user#a"},"sk":{"S":"msg#2026-02-05T18:30:00.000Z#000123456789"}}}}`,
	}
	for name, text := range cases {
		if c, ok, err := decodeRecord(t, text); ok || err != nil {
			t.Errorf("%s: %+v, %v, %v", name, c, ok, err)
		}
	}
	if _, ok, err := decodeRecord(t, `{"eventName":"INSERT","dynamodb":{"Keys":{"pk":{"S":"user#a"},"sk":{"S":"msg#2026-02-05T18:30:00.000Z#000123456789"}},"NewImage":{"seq":{"S":"1"}}}}`); ok || err == nil {
		t.Errorf("a message without its parts: %v, %v", ok, err)
	}
}

// FuzzDecodeChange holds that no record makes the decoder panic.
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
		c, ok, err := dynamo.DecodeChange(r)
		if ok && err != nil {
			t.Errorf("both a change and %v", err)
		}
		of := 0
		for _, is := range []bool{c.Message != nil, c.Before != nil || c.After != nil, c.RecordID != ""} {
			if is {
				of++
			}
		}
		if ok && of != 1 {
			t.Errorf("a change of a message %v, of a session %v, %v, and of a record %q", c.Message, c.Before, c.After, c.RecordID)
		}
		if image, err := dynamo.FromStream(r.Change.NewImage); err == nil && len(image) != len(r.Change.NewImage) {
			t.Errorf("%d attributes of %d were read", len(image), len(r.Change.NewImage))
		}
	})
}
