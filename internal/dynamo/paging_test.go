package dynamo_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestPaging(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	createSession(t, s, alice, coach, "p")
	const n = 107
	for i := 0; i < n; i += 50 {
		appendMessages(t, s, alice, "p", userMessages(numbered("m", min(50, n-i))...)...)
	}
	atBothEnds := slices.Concat(slices.Repeat([]int{1}, 11), []int{n - 22}, slices.Repeat([]int{1}, 11))
	for _, limits := range [][]int{atBothEnds, {7}, {50}, {107}, {200}} {
		for _, desc := range []bool{false, true} {
			got := messagesInPages(t, s, "p", desc, limits)
			if desc {
				slices.Reverse(got)
			}
			checkComplete(t, got, n)
		}
	}
	for _, bad := range []conversation.Position{"x", "1", "0@2026-02-05T18:30:00.000Z", "1@2026", "@"} {
		_, _, err := s.Messages.Messages(t.Context(), alice, "p", conversation.Page{Limit: 1, After: bad})
		checkField(t, err, "cursor")
	}
	_, _, err := s.Messages.Messages(t.Context(), alice, "none", conversation.Page{Limit: 1})
	checkFault(t, err, fault.NotFound, "messages of a missing session")
}

// messagesInPages reads all messages of a session in pages of those limits, the last of which is for all that follow.
func messagesInPages(t *testing.T, s *fixture, id string, desc bool, limits []int) []conversation.Message {
	t.Helper()
	page := conversation.Page{Limit: slices.Max(limits), Descending: desc}
	return allPages(t, page, func(p conversation.Page) ([]conversation.Message, conversation.Position, error) {
		p.Limit = limits[0]
		limits = limits[min(1, len(limits)-1):]
		messages, next, err := s.Messages.Messages(t.Context(), alice, id, p)
		if len(messages) > p.Limit {
			t.Errorf("a page of %d, at most %d were asked for", len(messages), p.Limit)
		}
		return messages, next, err
	})
}

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

func TestTimeline(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	hour := func(n int) time.Time { return start.Add(time.Duration(n-10) * time.Hour) }
	createSession(t, s, alice, coach, "a")
	createSession(t, s, alice, "program_designer", "b")
	for i := range 10 {
		m := userMessages(numbered("h", 10)[i])
		m[0].Timestamp = hour(i)
		appendMessages(t, s, alice, []string{"a", "b"}[i%2], m...)
	}
	contents := func(messages []conversation.Message) string {
		var out []string
		for _, m := range messages {
			out = append(out, strings.TrimPrefix(m.Content, "h-"))
		}
		return strings.Join(out, " ")
	}
	cases := []struct {
		name string
		r    conversation.Range
		desc bool
		want string
	}{
		{"all", conversation.Range{}, false, "1 2 3 4 5 6 7 8 9 10"},
		{"descending", conversation.Range{}, true, "10 9 8 7 6 5 4 3 2 1"},
		{"half open", conversation.Range{From: hour(2), To: hour(5)}, false, "3 4 5"},
		{"finer than a millisecond", conversation.Range{From: hour(2).Add(1), To: hour(5).Add(1)}, false, "4 5 6"},
		{"context", conversation.Range{Context: "program_designer", From: hour(3)}, true, "10 8 6 4"},
		{"nothing", conversation.Range{From: hour(5), To: hour(5)}, false, ""},
		{"backwards", conversation.Range{From: hour(6), To: hour(5)}, false, ""},
	}
	for _, c := range cases {
		for _, limit := range []int{1, 3, 10, 50} {
			got := contents(timeline(t, s, c.r, conversation.Page{Limit: limit, Descending: c.desc}))
			check.Same(t, c.want, got, "%s in pages of %d", c.name, limit)
		}
	}
	_, _, err := s.Messages.Timeline(t.Context(), alice, conversation.Range{}, conversation.Page{Limit: 1, After: "msg#x"})
	checkField(t, err, "cursor")
}
