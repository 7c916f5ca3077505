package longterm_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"Likes tea": "likes tea", " LIKES\n TEA ! ": "likes tea", "Likes tea...": "likes tea", "膝が痛い。": "膝が痛い",
		"My dog is Zoe\u0308.": "my dog is zoë", "ＣＡＦＥ！": "cafe", "Straße…": "strasse", "Kilo\u00admetre": "kilometre",
		"Body fat 20%": "body fat 20%", "?!": "?!", "": "",
	} {
		if got := longterm.Normalize(content); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", content, got, want)
		}
	}
}

// TestRestored takes ends back: a last day that is over goes, and one that a plan has moved is again as it was said.
func TestRestored(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	day := func(text string) longterm.Moment { return longterm.Moment{Day: text} }
	for _, tt := range []struct{ until, said, want string }{
		{"2026-11-01", "", ""},
		{"2026-11-01", "2026-12-24", "2026-12-24"},
		{"2026-11-01", "2026-11-10", ""},
		{"2026-12-01", "", "2026-12-01"},
	} {
		m := longterm.Memory{Until: day(tt.until), SaidUntil: day(tt.said), ValidUntil: at, SupersededBy: "m"}.Restored(at)
		if m.Until != day(tt.want) || m.SaidUntil != day("") || !m.ValidUntil.IsZero() {
			t.Errorf("%+v: %+v", tt, m)
		}
	}
}
