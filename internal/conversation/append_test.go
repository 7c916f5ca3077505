package conversation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

var now = time.Date(2026, 2, 5, 18, 30, 0, 123456789, time.UTC)

// TestExtend holds the rules of an append for every session and every call: seq goes on, times strictly increase, and
// a time is never raised further than it has to be.
func TestExtend(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := conversation.Session{ID: "s", Mode: "chat", Version: 7}
		for range rapid.IntRange(1, 4).Draw(rt, "calls") {
			in := conversation.Append{}
			for range rapid.IntRange(1, 5).Draw(rt, "messages") {
				m := conversation.NewMessage{Role: conversation.User, Content: "x"}
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
				continue // times that decrease
			}
			messages, after := s.Extend(prepared.Messages, now)
			checkExtended(rt, s, after, prepared.Messages, messages)
			s = after
		}
	})
}

func checkExtended(rt *rapid.T, before, after conversation.Session, in []conversation.NewMessage, out []conversation.Message) {
	last, some := before.LastMessageAt, before.MessageCount > 0
	for i, m := range out {
		if m.Seq != before.LastSeq+i+1 {
			rt.Fatalf("message %d has seq %d behind %d", i, m.Seq, before.LastSeq)
		}
		if some && !m.Timestamp.After(last) {
			rt.Fatalf("message %d at %v is not after %v", i, m.Timestamp, last)
		}
		if asked := in[i].Timestamp; !asked.IsZero() && !m.Timestamp.Equal(asked) && (m.Timestamp.Before(asked) || !m.Timestamp.Equal(last.Add(time.Millisecond))) {
			rt.Fatalf("message %d of %v stands at %v behind %v", i, asked, m.Timestamp, last)
		}
		if !m.Timestamp.Equal(conversation.Milliseconds(m.Timestamp)) || m.Mode != "chat" {
			rt.Fatalf("message %d is %+v", i, m)
		}
		last, some = m.Timestamp, true
	}
	want := before
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
	s := conversation.Session{CreatedAt: now}
	if want := time.Date(2026, 2, 5, 18, 30, 0, 0, time.UTC); !s.ActiveAt().Equal(want) {
		t.Errorf("before the first message %v, want %v", s.ActiveAt(), want)
	}
	s.LastMessageAt = time.Date(1969, 12, 31, 23, 59, 59, 0, time.FixedZone("", 3600))
	if want := time.Date(1969, 12, 31, 22, 45, 0, 0, time.UTC); !s.ActiveAt().Equal(want) {
		t.Errorf("after it %v, want %v", s.ActiveAt(), want)
	}
}

func TestPrepareReportsEveryFieldTogether(t *testing.T) {
	_, err := conversation.Append{Messages: []conversation.NewMessage{
		{Role: "robot", Content: ""},
		{Role: conversation.User, Content: "x", Mode: "\xff", Timestamp: now.Add(time.Hour), Metadata: map[string]any{"": 1}},
	}}.Prepare(now)
	var got []string
	for _, f := range fault.From(err).Fields {
		got = append(got, f.Field)
	}
	want := []string{"messages[0].role", "messages[0].content", "messages[1].timestamp", "messages[1].mode", "messages[1].metadata"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestWithout(t *testing.T) {
	at := func(seq int) *conversation.Message {
		return &conversation.Message{Seq: seq, Timestamp: now.Add(time.Duration(seq) * time.Second)}
	}
	base := conversation.Session{
		MessageCount: 3, LastSeq: 3, SummarizedSeq: 2, StartedAt: at(1).Timestamp, LastMessageAt: at(3).Timestamp,
		Summary: &conversation.SessionSummary{CoveredThrough: 2},
	}
	cases := map[string]struct {
		deleted        int
		first, last    *conversation.Message
		covered        bool
		watermark      int
		started, ended time.Time
	}{
		"covered":         {1, at(2), at(3), false, 0, at(2).Timestamp, at(3).Timestamp},
		"not covered":     {3, at(1), at(2), true, 3, at(1).Timestamp, at(2).Timestamp},
		"nothing is left": {3, nil, nil, true, 3, time.Time{}, time.Time{}},
	}
	for name, c := range cases {
		got := base.Without(*at(c.deleted), c.first, c.last)
		if (got.Summary != nil) != c.covered || got.SummarizedSeq != c.watermark || !got.StartedAt.Equal(c.started) || !got.LastMessageAt.Equal(c.ended) {
			t.Errorf("%s: %+v", name, got)
		}
		if got.LastSeq != 3 || got.MessageCount != 2 || got.Version != 1 || !got.Deleted.Contains(c.deleted) {
			t.Errorf("%s: counts %+v", name, got)
		}
	}
}
