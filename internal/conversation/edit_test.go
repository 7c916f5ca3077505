package conversation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

func TestEdit(t *testing.T) {
	s := conversation.Session{
		Context: "workout_log", Mode: "m", Status: conversation.Active, Title: "old", Version: 3,
		Attributes: map[string]any{"a": 1.0, "b": 2.0},
	}
	status, mode, title := conversation.Archived, "", ""
	got, err := s.Edit(conversation.SessionChange{Status: &status, Mode: &mode, Title: &title, Attributes: map[string]any{"a": nil, "c": 3}})
	if err != nil {
		t.Fatal(err)
	}
	want := conversation.Session{
		Context: "workout_log", Mode: "workout_log", Status: conversation.Archived, Version: 4,
		Attributes: map[string]any{"b": 2.0, "c": 3.0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(s.Attributes) != 2 {
		t.Errorf("the change reached the session before it: %v", s.Attributes)
	}
}

func TestEditRefuses(t *testing.T) {
	long, bad, large := strings.Repeat("x", 2000), conversation.Status("x"), strings.Repeat("x", 70<<10)
	for field, c := range map[string]conversation.SessionChange{
		"status": {Status: &bad}, "mode": {Mode: &long}, "title": {Title: &long},
		"attributes": {Attributes: map[string]any{"a": large}},
	} {
		_, err := conversation.Session{Context: "workout_log"}.Edit(c)
		if !fault.Is(err, fault.Invalid) || fault.From(err).Fields[0].Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
