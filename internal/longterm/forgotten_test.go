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
