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
