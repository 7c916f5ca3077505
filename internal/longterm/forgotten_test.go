package longterm_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
)

// TestForgottenCovers compares what was forgotten with memories about the same and about others, said before and after.
func TestForgottenCovers(t *testing.T) {
	t.Parallel()
	wish := time.Date(2026, 11, 18, 18, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		forgotten, about, content, of string
		said                          time.Duration
		want                          bool
	}{
		{"The user takes warfarin.", "", "The user takes warfarin.", "", -time.Hour, true},
		{"The user takes warfarin.", "", "The user takes warfarin.", "", 0, true}, // the wish itself
		{"The user takes warfarin.", "", "The user takes warfarin.", "", time.Minute, false},
		{"The user takes warfarin.", "", "The user's father takes warfarin.", "the user's father", -time.Hour, false},
		{"The user is allergic to peanuts.", "", "The user's son is allergic to peanuts.", "Tim", -time.Hour, false},
		{"Anna Weber is pregnant.", "Anna Weber, a colleague", "Anna Weber is pregnant.", "Anna Weber, the sister", 0, false},
		{"Anna Weber is pregnant.", "Anna Weber", "Anna Weber is pregnant.", "Anna Weber, the user's colleague", 0, true},
		{"Mia has asthma now.", "the user's daughter Mia", "Mia now has asthma.", "Mia", 0, true},
		{"Der Nutzer wohnt in Bergen.", "", "Die Nutzerin wohnt in Bergen.", "der Nutzer", 0, true},
	} {
		f := longterm.NewForgotten(longterm.Memory{Content: tt.forgotten, About: tt.about}, wish)
		m := longterm.Memory{Content: tt.content, About: tt.of, SaidAt: wish.Add(tt.said)}
		if got := f.Covers(m); got != tt.want {
			t.Errorf("%q (%s), said %v after %q (%s) was forgotten: covered is %v",
				tt.content, tt.of, tt.said, tt.forgotten, tt.about, got)
		}
	}
}

// TestMentions has texts that may be about what was forgotten. Half of its words are enough if a name is one of them.
func TestMentions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		forgotten, text string
		want            bool
	}{
		{"Lives in Quahog", "Settled in quahog", true},
		{"Lives in Quahog", "Find where Ann lives", false},
		{"Lives in Quahog", "Bought shoes", false},
		{"Plans a surprise party for Anna", "Call Anna", false},
		{"Plans a surprise party for Anna", "Buy a cake for the surprise of Anna", true},
		{"Likes running", "Go running", false},
		{"Likes running", "Write why the user likes running", true},
		{"Running", "Running", false},
		{"Wohnt in Köln", "Termin in Koeln", false},
		{"Wohnt in Köln", "Termin in Köln", true},
	} {
		f := longterm.NewForgotten(longterm.Memory{Content: tt.forgotten}, time.Time{})
		if got := f.Mentions(tt.text); got != tt.want {
			t.Errorf("%q mentions %q: %t, want %t", tt.text, tt.forgotten, got, tt.want)
		}
	}
}
