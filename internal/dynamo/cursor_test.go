package dynamo_test

import (
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
)

// FuzzParseCursor checks that a position of a session's messages that is accepted is one that was returned.
func FuzzParseCursor(f *testing.F) {
	for _, s := range []string{"12@2026-02-05T18:30:00.123Z", "12@2026-02-05T18:30:00Z", "012@", "@", "-1@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if p, err := dynamo.ParseCursor(conversation.Position(s)); err == nil && s != "" && p.Position() != s {
			t.Errorf("position %q is built as %q", s, p.Position())
		}
	})
}

// TestPositionsOfOtherLists asks for pages after keys that are not of the list.
func TestPositionsOfOtherLists(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	page := conversation.Page{Limit: 1, After: "msg#x"}
	_, _, err := s.Messages.Timeline(t.Context(), alice, conversation.Range{}, page)
	checkField(t, err, "cursor")
	_, _, err = s.Coaches.Coaches(t.Context(), alice, page)
	checkField(t, err, "cursor")
}
