package longterm_test

import (
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestMoments(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "2026-11-20", "2026-11-20T10:30:00.000Z"} {
		m, err := longterm.ParseMoment(text)
		if err != nil || m.String() != text || m.IsZero() != (text == "") {
			t.Errorf("%q: %q, %v", text, m.String(), err)
		}
	}
	for _, text := range []string{
		"tomorrow", "2026-02-30", "2026-1-2", "20.11.2026", "2026-11-20T25:00:00Z", "0000-01-01",
	} {
		if m, err := longterm.ParseMoment(text); err == nil {
			t.Errorf("%q is %v", text, m)
		}
	}
}

// A day ends with the user's midnight. Who does not know the user's zone waits for the last midnight.
func TestDaysEndInAZone(t *testing.T) {
	t.Parallel()
	day := longterm.Moment{Day: "2026-11-20"}
	tokyo, losAngeles := time.FixedZone("", 9*3600), time.FixedZone("", -8*3600)
	now := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC)
	if !day.IsOver(now.In(tokyo)) || day.IsOver(now) || day.IsOver(now.In(losAngeles)) {
		t.Error("the 20th is over in Tokyo only")
	}
	if midnight := now.Add(8 * time.Hour); !day.IsOver(midnight) || day.IsOver(longterm.InLastZone(midnight)) {
		t.Error("at midnight in UTC the 20th is not over everywhere")
	}
	at := longterm.Moment{Time: now}
	if at.IsOver(now.Add(-time.Millisecond)) || !at.IsOver(now) || (longterm.Moment{}).IsOver(now) {
		t.Error("a time is over from itself on, and no moment never")
	}
}

// TestMomentsBegin checks when a day begins and the day before it, across zones and the turn of a year.
func TestMomentsBegin(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("", 9*3600)
	day, midnight := longterm.Moment{Day: "2027-01-01"}, time.Date(2026, 12, 31, 15, 0, 0, 0, time.UTC)
	if !day.Start(tokyo).Equal(midnight) || day.Before() != (longterm.Moment{Day: "2026-12-31"}) {
		t.Errorf("begins at %v after %v", day.Start(tokyo), day.Before())
	}
	if day.IsAhead(midnight.In(tokyo)) || !day.IsAhead(midnight) || !day.IsAhead(midnight.Add(-time.Second).In(tokyo)) {
		t.Error("the day has come in Tokyo only")
	}
	at := longterm.Moment{Time: midnight}
	if !at.IsAhead(midnight.Add(-1)) || at.IsAhead(midnight) || (longterm.Moment{}).IsAhead(midnight) {
		t.Error("a time has come when it is there, and no moment is ahead")
	}
}

// TestAMemoryEndsOnADay has a memory that another one takes the place of on the 20th, as said in UTC: it ends at the
// user's midnight, wherever the user is. One that was replaced at a time of that day ends then.
func TestAMemoryEndsOnADay(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	m := longterm.Memory{
		Until: longterm.Moment{Day: "2026-11-19"}, ValidUntil: midnight, EndedReason: longterm.EndedReplaced,
		SupersededBy: "b",
	}
	for _, hours := range []int{-12, -8, 0, 9, 14} {
		there := time.FixedZone("", hours*3600)
		ends := midnight.Add(time.Duration(-hours) * time.Hour).In(there)
		if !m.HeldAt(ends.Add(-time.Second)) || m.HeldAt(ends) || !m.EndIn(there).Equal(ends) {
			t.Errorf("%d hours east of Greenwich it ends at %v, want %v", hours, m.EndIn(there), ends)
		}
	}
	m.ValidUntil = midnight.Add(-time.Hour - time.Millisecond)
	check.Equal(t, false, m.HeldAt(m.ValidUntil.In(time.FixedZone("", -8*3600))), "holds once it was replaced")
}

// TestGivesWay has what holds, a plan of a day to come, and one without a day, and what is to take their places.
func TestGivesWay(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	begins := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	on := func(day string) longterm.Moment { return longterm.Moment{Day: day} }
	plan := longterm.Memory{ID: "b", Status: longterm.Planned, From: on("2026-11-16")}
	for name, tt := range map[string]struct {
		old, by          longterm.Memory
		ends             time.Time
		until, saidUntil string
	}{
		"at once":              {longterm.Memory{Until: on("2026-11-20")}, longterm.Memory{ID: "b"}, at, "2026-11-20", ""},
		"on the plan's day":    {longterm.Memory{Until: on("2026-11-20")}, plan, begins, "2026-11-15", "2026-11-20"},
		"on its own last day":  {longterm.Memory{Until: on("2026-11-12")}, plan, begins, "2026-11-12", "2026-11-12"},
		"a plan without a day": {longterm.Memory{Status: longterm.Planned}, plan, at, "", ""},
		"a plan for later":     {longterm.Memory{Status: longterm.Planned, From: on("2026-11-12")}, plan, at, "", ""},
		"a second time": {
			longterm.Memory{SupersededBy: "a", Until: on("2026-11-17"), SaidUntil: on("2026-11-20")},
			plan, begins,
			"2026-11-15", "2026-11-20",
		},
	} {
		got := tt.old.GivenWayTo(tt.by, at, at)
		if !got.ValidUntil.Equal(tt.ends) || got.Until.String() != tt.until || got.SaidUntil.String() != tt.saidUntil ||
			got.SupersededBy != "b" || got.EndedReason != longterm.EndedReplaced {
			t.Errorf("%s: %+v", name, got)
		}
	}
	vague := longterm.Memory{Status: longterm.Planned}
	check.Equal(t, true, longterm.Memory{}.StaysBeside(vague), "what holds stays beside a plan without a day")
	check.Equal(t, false, vague.StaysBeside(vague), "a plan stays beside a plan without a day")
	check.Equal(t, false, longterm.Memory{}.StaysBeside(plan), "what holds stays beside a plan of a day")
}
