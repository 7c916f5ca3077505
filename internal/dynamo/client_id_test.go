package dynamo_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
)

// withID is a message of the user with a client's own id.
func withID(id, content string) conversation.NewMessage {
	return conversation.NewMessage{Role: conversation.RoleUser, Content: content, ClientMessageID: id}
}

// testParts appends messages with parts, which come back with the order and the digits of their JSON values.
func testParts(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "c")
	call := []conversation.Part{
		{Type: conversation.TextPart, Text: "Let me look."},
		{Type: conversation.ReasoningPart, Text: "<think>"},
		{
			Type: conversation.ToolCallPart, ToolCallID: "t1", ToolName: "find",
			Input: json.RawMessage(`{"z":1.50,"a":[1e2,"\u0000 <b>"],"m":null}`),
		},
		{Type: conversation.TextPart, Text: "A moment."},
	}
	result := []conversation.Part{{
		Type: conversation.ToolResultPart, ToolCallID: "t1", ToolName: "find", IsError: true,
		Output: json.RawMessage(`"none"`),
	}}
	appendMessages(t, s, alice, "c",
		conversation.NewMessage{Role: conversation.RoleAssistant, Parts: call},
		conversation.NewMessage{Role: conversation.RoleTool, Parts: result},
		conversation.NewMessage{Role: conversation.RoleUser, Content: "own", Parts: []conversation.Part{
			{Type: conversation.DataPart, Name: "place", Data: json.RawMessage(`{"lat":1.10}`)},
		}},
	)
	got := allMessages(t, s, alice, "c", conversation.Page{Limit: 50})
	if len(got) != 3 {
		t.Fatalf("%d messages", len(got))
	}
	for i, want := range []string{"Let me look.\nA moment.", "", "own"} {
		if got[i].Content != want {
			t.Errorf("content %d is %q, want %q", i, got[i].Content, want)
		}
	}
	parts := [][]conversation.Part{got[0].Parts, got[1].Parts}
	check.Same(t, [][]conversation.Part{call, result}, parts, "parts")
	if got[1].IsSearched() || got[1].IsRead() || got[1].Role != conversation.RoleTool {
		t.Errorf("a result without text: %+v", got[1])
	}
}

// testClientIDs appends messages again under their clients' own ids.
func testClientIDs(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "c")
	createSession(t, s, alice, coach, "d")
	first := appendMessages(t, s, alice, "c", withID("x", "one"), withID("y", "two"))
	again := appendMessages(t, s, alice, "c", withID("y", "two"))
	want := first.Messages[1]
	want.Duplicate = true
	sameMessages(t, []conversation.Message{want}, again.Messages, "appended again")
	check.Equal(t, 2, again.Session.MessageCount, "messages after the repeat")
	mixed := appendMessages(t, s, alice, "c", withID("z", "three"), withID("x", "one"), withID("", "four"))
	var stored []string
	for _, m := range mixed.Messages {
		stored = append(stored, fmt.Sprintln(m.Seq, m.Content, m.Duplicate))
	}
	want3 := []string{"3 three false\n", "1 one true\n", "4 four false\n"}
	check.Same(t, want3, stored, "a call with new and stored messages")
	for name, m := range map[string]conversation.NewMessage{
		"content": withID("x", "other"),
		"role":    {Role: conversation.RoleAssistant, Content: "one", ClientMessageID: "x"},
		"parts": {Role: conversation.RoleUser, Content: "one", ClientMessageID: "x", Parts: []conversation.Part{
			{Type: conversation.TextPart, Text: "one"},
		}},
	} {
		in := conversation.Append{SessionID: "c", Messages: []conversation.NewMessage{withID("", "new"), m}}
		checkFault(t, errorOf(s.Messages.Append(t.Context(), alice, in)), fault.Conflict, "another %s under a stored id",
			name)
	}
	other := appendMessages(t, s, alice, "d", withID("x", "another session"))
	if other.Messages[0].Duplicate {
		t.Error("an id of another session is a duplicate")
	}
	twice := conversation.Append{SessionID: "c", Messages: []conversation.NewMessage{withID("v", "1"), withID("v", "1")}}
	checkFault(t, errorOf(s.Messages.Append(t.Context(), alice, twice)), fault.Invalid,
		"an id that is repeated in one call")
	got := allMessages(t, s, alice, "c", conversation.Page{Limit: 50})
	checkComplete(t, got, 4)
}

// testClientIDsReplay repeats, with its key, a call of which one message was stored before.
func testClientIDsReplay(t *testing.T, s *fixture) {
	createSession(t, s, alice, coach, "i")
	appendMessages(t, s, alice, "i", withID("x", "one"))
	in := appendWithKey("i", "k")
	in.Messages = []conversation.NewMessage{withID("w", "zero"), withID("x", "one"), withID("", "two")}
	first := appendOnce(t, s, in)
	appendMessages(t, s, alice, "i", userMessages("three")...)
	checkRepeat(t, s, in, first)
}

// TestLargestCallWithClientIDs has as many messages with ids as one transaction takes, and one more.
func TestLargestCallWithClientIDs(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "c")
	var messages []conversation.NewMessage
	for i := range 49 {
		messages = append(messages, withID(fmt.Sprint("id", i), fmt.Sprint(i)))
	}
	in := appendWithKey("c", "k")
	in.Messages = messages
	if _, err := s.Messages.Append(t.Context(), alice, in); err != nil {
		t.Errorf("%d messages with ids: %v", len(messages), err)
	}
	in.Messages = append(messages, withID("more", "more"))
	checkFault(t, errorOf(s.Messages.Append(t.Context(), alice, in)), fault.Invalid, "%d messages with ids",
		len(in.Messages))
}

// TestConcurrentClientIDs has many writers of one message, beside others.
func TestConcurrentClientIDs(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "c")
	const writers = 20
	ids := make([]string, writers)
	var group errgroup.Group
	for i := range writers {
		group.Go(func() error {
			in := conversation.Append{SessionID: "c", Messages: []conversation.NewMessage{
				withID("x", "one"), withID("", fmt.Sprint("own ", i)),
			}}
			out, err := s.Messages.Append(t.Context(), alice, in)
			if err == nil {
				ids[i] = out.Messages[0].ID
			}
			return err
		})
	}
	check.OK(t, group.Wait())
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("messages %s and %s of one id", ids[0], id)
		}
	}
	got := allMessages(t, s, alice, "c", conversation.Page{Limit: 50})
	checkComplete(t, got, writers+1)
}

// TestDeletedClientID deletes a message, after which its id stores nothing.
func TestDeletedClientID(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "c")
	m := appendMessages(t, s, alice, "c", withID("x", "one"), withID("y", "two")).Messages[0]
	check.Got(s.Deletion.DeleteMessage(t.Context(), alice, m, nil, s.clock().Add(time.Hour)))(t)
	in := conversation.Append{SessionID: "c", Messages: []conversation.NewMessage{withID("x", "one")}}
	checkFault(t, errorOf(s.Messages.Append(t.Context(), alice, in)), fault.Conflict, "the id of a deleted message")
}
