package conversation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
)

var now = time.Date(2026, 2, 5, 18, 30, 0, 123456789, time.UTC)

// TestExtend checks the rules of an append on random sessions and calls: seq continues, times strictly increase, and no
// time is raised further than necessary.
func TestExtend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := conversation.Session{ID: "s", Mode: "chat", Version: 7}
		for range rapid.IntRange(1, 4).Draw(rt, "calls") {
			in := conversation.Append{}
			for range rapid.IntRange(1, 5).Draw(rt, "messages") {
				m := conversation.NewMessage{Role: conversation.RoleUser, Content: "x"}
				if rapid.Bool().Draw(rt, "dated") {
					m.Timestamp = now.Add(time.Duration(rapid.IntRange(-5, 5).Draw(rt, "ms")) * time.Millisecond)
				}
				in.Messages = append(in.Messages, m)
			}
			prepared, err := in.Prepare(now)
			if err != nil {
				if !fault.Is(err, fault.Invalid) {
					rt.Fatal(err)
				}
				continue // The times decrease.
			}
			messages, after := s.Extend(prepared.Messages, now)
			checkExtended(rt, s, after, prepared.Messages, messages)
			s = after
		}
	})
}

func checkExtended(
	rt *rapid.T, before, after conversation.Session, in []conversation.NewMessage, out []conversation.Message,
) {
	last, hasLast := before.LastMessageAt, before.MessageCount > 0
	for i, m := range out {
		if m.Seq != before.LastSeq+i+1 {
			rt.Fatalf("message %d has seq %d after %d", i, m.Seq, before.LastSeq)
		}
		if hasLast && !m.Timestamp.After(last) {
			rt.Fatalf("message %d at %v is not after %v", i, m.Timestamp, last)
		}
		requested := in[i].Timestamp
		raised := !requested.IsZero() && !m.Timestamp.Equal(requested)
		if raised && (m.Timestamp.Before(requested) || !m.Timestamp.Equal(last.Add(time.Millisecond))) {
			rt.Fatalf("message %d of %v is at %v after %v", i, requested, m.Timestamp, last)
		}
		if !m.Timestamp.Equal(conversation.Milliseconds(m.Timestamp)) || m.Mode != "chat" {
			rt.Fatalf("message %d is %+v", i, m)
		}
		last, hasLast = m.Timestamp, true
	}
	want := before
	for _, m := range out {
		if m.Role == conversation.RoleUser {
			want.UserSeq = m.Seq
		}
	}
	want.LastSeq, want.MessageCount, want.Version = before.LastSeq+len(out), before.MessageCount+len(out), before.Version+1
	want.LastMessageAt = last
	if before.MessageCount == 0 {
		want.StartedAt = out[0].Timestamp
	}
	if diff := cmp.Diff(want, after); diff != "" {
		rt.Fatalf("session after (-want +got):\n%s", diff)
	}
}

func TestActiveAtIsAQuarterHour(t *testing.T) {
	t.Parallel()
	s := conversation.Session{CreatedAt: now}
	if want := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC); !s.ListedAt().Equal(want) {
		t.Errorf("before the first message %v, want %v", s.ListedAt(), want)
	}
	s.LastMessageAt = time.Date(1969, 12, 31, 23, 59, 59, 0, time.FixedZone("", 3600))
	if want := time.Date(1969, 12, 31, 22, 45, 0, 0, time.UTC); !s.ListedAt().Equal(want) {
		t.Errorf("after it %v, want %v", s.ListedAt(), want)
	}
}

func TestPrepareReportsEveryFieldTogether(t *testing.T) {
	t.Parallel()
	_, err := conversation.Append{Messages: []conversation.NewMessage{
		{Role: "robot", Content: ""},
		{
			Role: conversation.RoleUser, Content: "x", Mode: "\xff", Timestamp: now.Add(time.Hour),
			Metadata: map[string]any{"": 1},
		},
		{Role: conversation.RoleUser, Content: "x", Timestamp: now},
		{Role: conversation.RoleUser, Content: "a\xff"},
	}}.Prepare(now)
	var got []string
	for _, f := range fault.From(err).Fields {
		got = append(got, f.Field)
	}
	want := []string{
		"messages[0].role", "messages[0].content",
		"messages[1].timestamp", "messages[1].mode", "messages[1].metadata",
		"messages[3].content",
		"messages[2].timestamp", // before messages[1]
	}
	check.Same(t, want, got, "fields")
}
