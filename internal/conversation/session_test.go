package conversation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	s := conversation.Session{
		Context: "workout_log", Mode: "m", Status: conversation.Active, Title: "old", Version: 3,
		Attributes: map[string]any{"a": 1.0, "b": 2.0},
	}
	status, mode, title := conversation.Archived, "", ""
	got := check.Got(s.Edit(conversation.SessionChange{
		Status: &status, Mode: &mode, Title: &title, Attributes: map[string]any{"a": nil, "c": 3},
	}, now))(t)
	want := conversation.Session{
		Context: "workout_log", Mode: "workout_log", Status: conversation.Archived, Version: 4,
		Attributes: map[string]any{"b": 2.0, "c": 3.0},
	}
	check.Same(t, want, got, "the result")
	check.Same(t, map[string]any{"a": 1.0, "b": 2.0}, s.Attributes, "Edit changed the attributes of its receiver")
}

func TestCompletedAt(t *testing.T) {
	t.Parallel()
	s := conversation.Session{Context: "workout_log", Status: conversation.Active, CreatedAt: now}
	for i, step := range []struct {
		status conversation.Status
		want   time.Time
	}{
		{conversation.Completed, conversation.Milliseconds(now.Add(time.Hour))},
		{conversation.Completed, conversation.Milliseconds(now.Add(time.Hour))},
		{conversation.Archived, conversation.Milliseconds(now.Add(time.Hour))},
		{conversation.Active, time.Time{}},
	} {
		var err error
		s, err = s.Edit(conversation.SessionChange{Status: &step.status}, now.Add(time.Duration(i+1)*time.Hour))
		if err != nil || !s.CompletedAt.Equal(step.want) || !s.LastActiveAt().Equal(step.want) {
			t.Errorf("step %d: completed at %v, active at %v (%v)", i, s.CompletedAt, s.LastActiveAt(), err)
		}
	}
	if s.LastMessageAt = now; !s.LastActiveAt().Equal(now) {
		t.Errorf("with a message it was active at %v", s.LastActiveAt())
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	message := func(role conversation.Role, at time.Time) []conversation.NewMessage {
		return []conversation.NewMessage{{Role: conversation.RoleSystem}, {Role: role, Timestamp: at}}
	}
	for name, c := range map[string]struct {
		status   conversation.Status
		messages []conversation.NewMessage
		want     conversation.Status
	}{
		"now":                 {conversation.Completed, message("user", time.Time{}), conversation.Active},
		"after it":            {conversation.Completed, message("user", now.Add(time.Second)), conversation.Active},
		"at the same time":    {conversation.Completed, message("user", now), conversation.Active},
		"history":             {conversation.Completed, message("user", now.Add(-time.Second)), conversation.Completed},
		"an answer":           {conversation.Completed, message("assistant", time.Time{}), conversation.Completed},
		"a note of the app":   {conversation.Completed, message("system", now.Add(time.Second)), conversation.Completed},
		"an archived session": {conversation.Archived, message("user", time.Time{}), conversation.Archived},
		"an active session":   {conversation.Active, message("user", time.Time{}), conversation.Active},
	} {
		got := conversation.Session{Status: c.status, CompletedAt: now}.Reopen(c.messages)
		if got.Status != c.want || got.CompletedAt.IsZero() != (got.Status != c.status) {
			t.Errorf("%s: %s, completed at %v, want %s", name, got.Status, got.CompletedAt, c.want)
		}
	}
}

func TestInvalidEdits(t *testing.T) {
	t.Parallel()
	long, bad, large := strings.Repeat("x", 2000), conversation.Status("x"), strings.Repeat("x", 70<<10)
	for field, c := range map[string]conversation.SessionChange{
		"status": {Status: &bad}, "mode": {Mode: &long}, "title": {Title: &long},
		"attributes": {Attributes: map[string]any{"a": large}},
	} {
		_, err := conversation.Session{Context: "workout_log"}.Edit(c, now)
		if !fault.Is(err, fault.Invalid) || fault.From(err).Fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	at := func(seq int) *conversation.Message {
		return &conversation.Message{Seq: seq, Timestamp: now.Add(time.Duration(seq) * time.Second)}
	}
	base := conversation.Session{
		MessageCount: 3, LastSeq: 3, Summarized: conversation.Watermark{Seq: 2, At: at(2).Timestamp},
		StartedAt: at(1).Timestamp, LastMessageAt: at(3).Timestamp,
		Summary: &conversation.SessionSummary{CoveredThrough: 2},
	}
	cases := map[string]struct {
		deleted        int
		first, last    *conversation.Message
		hasSummary     bool
		watermark      int
		started, ended time.Time
	}{
		"covered":         {1, at(2), at(3), false, 0, at(2).Timestamp, at(3).Timestamp},
		"last covered":    {2, at(1), at(3), false, 0, at(1).Timestamp, at(3).Timestamp},
		"not covered":     {3, at(1), at(2), true, 3, at(1).Timestamp, at(2).Timestamp},
		"nothing is left": {3, nil, nil, true, 3, time.Time{}, time.Time{}},
	}
	for name, c := range cases {
		got := base.Without(*at(c.deleted), c.first, c.last)
		if (got.Summary != nil) != c.hasSummary || got.Summarized.Seq != c.watermark ||
			!got.StartedAt.Equal(c.started) || !got.LastMessageAt.Equal(c.ended) {
			t.Errorf("%s: %+v", name, got)
		}
		if got.LastSeq != 3 || got.MessageCount != 2 || got.Version != 1 || !got.Deleted.Contains(c.deleted) {
			t.Errorf("%s: counts %+v", name, got)
		}
	}
}
