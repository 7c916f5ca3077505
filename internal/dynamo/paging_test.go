package dynamo_test

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
)

func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "b")
	const n, noted, size = 9, 30 << 10, 200 << 10
	for range n { // Metadata counts like content.
		messages := userMessages(strings.Repeat("x", size-noted))
		messages[0].Metadata = map[string]any{"note": strings.Repeat("y", noted)}
		appendMessages(t, s, alice, "b", messages...)
	}
	check := func(messages []conversation.Message, next conversation.Position, err error) {
		t.Helper()
		if err != nil || len(messages) != conversation.MaxPageBytes/size || next == "" {
			t.Errorf("a page of %d messages, next %q, %v", len(messages), next, err)
		}
	}
	for _, desc := range []bool{false, true} {
		page := conversation.Page{Limit: 50, Descending: desc}
		check(s.Messages.Messages(t.Context(), alice, "b", page))
		check(s.Messages.Timeline(t.Context(), alice, conversation.Range{}, page))
		got := allMessages(t, s, alice, "b", page)
		if len(got) != n {
			t.Errorf("all pages hold %d", len(got))
		}
	}
	checkMessagesAfter(t, s, n, conversation.MaxPageBytes/size)
}

// checkMessagesAfter reads a session in pages of at most so many messages, with and without the times of watermarks.
func checkMessagesAfter(t *testing.T, s *fixture, messages, most int) {
	t.Helper()
	session := readSession(t, s, "b")
	for _, timed := range []bool{false, true} {
		var through conversation.Watermark
		for through.Seq < messages {
			page, err := s.Summaries.MessagesAfter(t.Context(), alice, session, through, 50)
			if err != nil || len(page) == 0 || len(page) > most || page[0].Seq != through.Seq+1 {
				t.Fatalf("after %d: %d messages, %v; want 1 to %d", through.Seq, len(page), err, most)
			}
			last := page[len(page)-1]
			if last.Seq != through.Seq+len(page) {
				t.Errorf("after %d: %d messages through %d", through.Seq, len(page), last.Seq)
			}
			if through.Seq = last.Seq; timed {
				through.At = last.Timestamp
			}
		}
		few, err := s.Summaries.MessagesAfter(t.Context(), alice, session, conversation.Watermark{Seq: 1}, 2)
		if err != nil || len(few) != 2 || few[0].Seq != 2 {
			t.Errorf("at most 2 after 1: %d messages, %v", len(few), err)
		}
	}
}

// timeline reads all pages of alice's timeline.
func timeline(t *testing.T, s *fixture, r conversation.Range, page conversation.Page) []conversation.Message {
	t.Helper()
	return allPages(t, page, func(p conversation.Page) ([]conversation.Message, conversation.Position, error) {
		return s.Messages.Timeline(t.Context(), alice, r, p)
	})
}
