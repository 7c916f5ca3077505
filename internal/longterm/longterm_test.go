package longterm_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"Likes tea": "likes tea", " LIKES\n TEA ! ": "likes tea", "Likes tea...": "likes tea", "膝が痛い。": "膝が痛い",
		"My dog is Zoe\u0308.": "my dog is zoë", "ＣＡＦＥ！": "cafe", "Straße…": "strasse", "Kilo\u00admetre": "kilometre",
		"Body fat 20%": "body fat 20%", "?!": "?!", "": "",
	} {
		check.Equal(t, want, longterm.Normalize(content), "Normalize(%q)", content)
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
	plan := longterm.Memory{ID: "plan", Status: longterm.Planned, From: day("2026-12-01")}
	got := longterm.Memory{Content: "5 mg"}.GivenWayTo(plan, at, at).Restored(at).Until
	check.Equal(t, longterm.Moment{}, got, "the last day of what a plan was to replace, and does not")
}

// TestEndsStayLive keeps the end of a memory among the live ones, because messages still say it: for half a year, and
// that of a pinned one for good. What was forgotten is not told.
func TestEndsStayLive(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	needed := longterm.MemoryKind().Needed
	for _, reason := range []longterm.EndedReason{
		longterm.EndedOver, longterm.EndedFalse, longterm.EndedReplaced, longterm.EndedForgotten, "",
	} {
		for days, want := range map[int][2]bool{179: {true, true}, 181: {false, true}, 4000: {false, true}} {
			m := longterm.Memory{MessageIDs: []string{"m"}, ValidUntil: now.AddDate(0, 0, -days), EndedReason: reason}
			if days == 179 && reason == "" { // the app has named its successor only
				m.ValidUntil, m.UpdatedAt, m.SupersededBy = time.Time{}, m.ValidUntil, "by"
			}
			pinned := m
			pinned.Pinned = true
			isTold := reason != longterm.EndedForgotten
			got := [2]bool{needed(m, now), needed(pinned, now)}
			if want = [2]bool{want[0] && isTold, want[1] && isTold}; got != want {
				t.Errorf("%s for %d days: live %v, want %v", reason, days, got, want)
			}
		}
	}
}

// TestWouldBeOver has memories that another one has replaced, which begins on the 20th. Only the last day that the user
// said counts.
func TestWouldBeOver(t *testing.T) {
	t.Parallel()
	day := func(d string) longterm.Moment { return longterm.Moment{Day: "2026-11-" + d} }
	by := longterm.Memory{From: day("20")}
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		of   longterm.Memory
		want bool
	}{
		"no last day":                 {longterm.Memory{}, false},
		"the day before the other":    {longterm.Memory{Until: day("19")}, false},
		"its own":                     {longterm.Memory{Until: day("10")}, true},
		"its own, and then the other": {longterm.Memory{Until: day("19"), SaidUntil: day("21")}, true},
		"its own is still to come":    {longterm.Memory{Until: day("19"), SaidUntil: day("23")}, false},
	} {
		check.Equal(t, tt.want, tt.of.WouldBeOver(by, now), "%s", name)
	}
}

func TestIsSaidBy(t *testing.T) {
	t.Parallel()
	m := longterm.Memory{Content: "Takes warfarin 5 mg."}
	for name, tt := range map[string]struct {
		other longterm.Memory
		want  bool
	}{
		"the same":       {longterm.Memory{Content: "takes Warfarin 5 mg"}, true},
		"another dose":   {longterm.Memory{Content: "Takes warfarin 3 mg."}, false},
		"another person": {longterm.Memory{Content: m.Content, About: "Mia"}, false},
		"a plan":         {longterm.Memory{Content: m.Content, Status: longterm.Planned}, false},
	} {
		check.Equal(t, tt.want, m.IsSaidBy(tt.other), "%s", name)
	}
}
