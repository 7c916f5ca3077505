package choose

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestTimesOfDaysWithSeveralTalks groups the messages of a session and day. Only those of a day with two talks have
// their times.
func TestTimesOfDaysWithSeveralTalks(t *testing.T) {
	t.Parallel()
	monday := time.Date(2026, 2, 2, 9, 5, 0, 0, time.UTC)
	tuesday := monday.AddDate(0, 0, 1)
	c := &chooser{Sources: &gather.Sources{Now: monday.AddDate(0, 0, 3), Zone: time.UTC}}
	said := func(session string, at time.Time) *Candidate {
		return &Candidate{Kind: KindMessage, ID: session + at.String(), SessionID: session, At: at}
	}
	candidates := []*Candidate{
		said("b", tuesday.Add(time.Minute)), said("a", tuesday), said("a", monday), said("a", tuesday.Add(2*time.Minute)),
	}
	groupByTalk(c, candidates)
	positionByTalk(candidates)
	got := make([]string, len(candidates))
	for _, e := range candidates {
		got[e.Position] = e.SessionID + " " + e.Group.Date + " " + e.Label
	}
	want := []string{"a 2026-02-02 User", "a 2026-02-03 User 09:05", "a 2026-02-03 User 09:07", "b 2026-02-03 User 09:06"}
	check.Same(t, want, got, "the result")
	for at, want := range map[time.Time]string{monday: " - 3 days ago", monday.AddDate(-1, 0, 0): " - 2 February 2025"} {
		if got := talkLabel(c, said("a", at)); !strings.HasSuffix(got, want) {
			t.Errorf("a talk of %v is under %q, want %q", at, got, want)
		}
	}
}

// TestWorthOfAHit holds that a long hit gives way to a short one that is nearly as likely, that the length of short
// ones does not matter, and that a hit is not longer than the passage of it.
func TestWorthOfAHit(t *testing.T) {
	t.Parallel()
	worth := func(probability float64, tokens int) float64 {
		return found{Candidate: &Candidate{Score: probability, Tokens: tokens}}.worth()
	}
	if long, short := worth(0.30, 500), worth(0.25, 20); long >= short {
		t.Errorf("the long hit is worth %v, the short one %v", long, short)
	}
	if likely, shorter := worth(0.26, 20), worth(0.25, 5); likely <= shorter {
		t.Errorf("the likelier hit is worth %v, the shorter one %v", likely, shorter)
	}
	if page, book := worth(0.3, 500), worth(0.3, 5000); page != book {
		t.Errorf("a hit is worth %v, and a longer one of as long a passage %v", page, book)
	}
}
