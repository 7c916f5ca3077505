package dataset

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestLoCoMo reads a file with the errors that such files have.
func TestLoCoMo(t *testing.T) {
	t.Parallel()
	got := check.Got(parse([]byte(`[{"sample_id": "ana", "conversation": {
		"speaker_a": "Ana", "speaker_b": "Ben",
		"session_1_date_time": "1:56 pm on 8 May, 2023", "session_2_date_time": "2:00 pm on 9 May, 2023",
		"session_3_date_time": "2:10 pm on 10 May, 2023",
		"session_1": [{"dia_id": "D1:1", "speaker": "Ana", "text": "Hi"},
			{"dia_id": "D1:2", "speaker": "Ben", "text": "Ho", "blip_caption": "a dog"}],
		"session_3": [{"dia_id": "D3:1", "speaker": "Ben", "text": "Hey"}]},
		"qa": [
			{"question": "a", "answer": 2022, "category": 1, "evidence": ["D1:2; D3:1", "D1:2"]},
			{"question": "none there", "category": 2, "evidence": ["D9:1"]},
			{"question": "no answer", "category": 5, "evidence": ["D1:2"]},
			{"question": "nothing", "category": 3, "evidence": []}
		]}]`)))(t)
	first, third := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC), time.Date(2023, 5, 10, 14, 10, 0, 0, time.UTC)
	want := []Conversation{{
		ID: "ana",
		Sessions: []Session{
			{"session-1", appContexts[0], first, []Message{
				{"D1:1", "user", "Hi", first}, {"D1:2", "assistant", "Ho [shares a picture: a dog]", first.Add(messageInterval)},
			}},
			{"session-3", appContexts[1], third, []Message{{"D3:1", "assistant", "Hey", third}}},
		},
		Questions: []Question{{"a", "multi-hop", "2022", []string{"D1:2", "D3:1"}}},
	}}
	check.Same(t, want, got, "the result")
	if got[0].Messages() != 3 {
		t.Errorf("%d messages", got[0].Messages())
	}
}

// TestLongMessage cuts a message that the API would refuse, between two characters.
func TestLongMessage(t *testing.T) {
	t.Parallel()
	got := check.Got(parse([]byte(`{"conversations": [{"id": "ana", "sessions": [{"startedAt": "2026-01-05T07:00:00Z",
		"messages": [{"id": "1", "role": "user", "content": "x` + strings.Repeat("é", 150_000) + `"}]}]}]}`)))(t)
	if want := conversation.MaxContentBytes - 1; len(got[0].Sessions[0].Messages[0].Content) != want {
		t.Errorf("%d bytes, want %d", len(got[0].Sessions[0].Messages[0].Content), want)
	}
}
