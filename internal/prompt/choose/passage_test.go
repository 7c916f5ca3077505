package choose

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/recall/rank"
)

// A long message from elsewhere goes in by the part that matters, with a mark where something is left out.
func TestPassageOfALongMessage(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("We talked about the weather and the garden. ", 30)
	text := filler + "My knee hurts since March. " + filler
	slot := &Slot{Chars: RelevantChars}
	cut := func(message, text string) *Candidate {
		e := &Candidate{Text: text, Tokens: 700}
		query := rank.NewQuery(message, time.Time{})
		capPassage(e, slot, func() *rank.Query { return query })
		return capChars(e, slot)
	}
	e := cut("What about my knee?", text)
	if !strings.HasPrefix(e.Text, "…My knee hurts since March. We") || !strings.HasSuffix(e.Text, "…") {
		t.Errorf("%q", e.Text)
	}
	const note = "cut to 400 characters, from character 1321 on"
	if n := utf8.RuneCountInString(e.Text); n > RelevantChars || e.Tokens != 0 || e.Cut != note {
		t.Errorf("%d characters, %d tokens, %q", n, e.Tokens, e.Cut)
	}
	if e := cut("What about Rosa?", text); !strings.HasPrefix(e.Text, "We talked") || e.Cut != "cut to 400 characters" {
		t.Errorf("%q, %q", e.Text, e.Cut)
	}
	if e := cut("knee", "My knee."); e.Text != "My knee." || e.Cut != "" || e.Tokens != 700 {
		t.Errorf("%+v", e)
	}
}
