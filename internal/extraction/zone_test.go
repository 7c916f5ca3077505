package extraction_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestBegunInOneZone reads a change when its day has begun in UTC. Where the day before is not over, a prompt has what
// holds until then, too.
func TestBegunInOneZone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	f.advance(f.clock().Truncate(24 * time.Hour).Add(27 * time.Hour).Sub(f.clock())) // 03:00 of the next day
	for i, fact := range []string{
		`"content":"A","supersedes":[]`,
		`"content":"B","supersedes":["k1"],"status":"planned","from":"` + f.clock().Format(time.DateOnly) + `"`,
	} {
		f.readOnce(t, fmt.Sprint("s", i), "A, or B", oneFact(`"safety":"health",`+fact), time.Duration(3-i)*day)
	}
	there := strings.Join(f.promptLines(t, "s0", f.clock(), "America/Los_Angeles"), "\n")
	check.Contains(t, there, "! A", "where it is the day before")
	here := strings.Join(f.promptLines(t, "s0", f.clock(), "UTC"), "\n")
	check.Lacks(t, here, "! A", "where the day has begun")
}

// TestDeniedWhereThePlanHasBegun denies what took the place of a plan in the evening before its day, by UTC: the plan
// holds again where its day had come.
func TestDeniedWhereThePlanHasBegun(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string][]string{"Pacific/Kiritimati": {"A"}, "UTC": nil} {
		f := newFixture(t, "ann")
		f.advance(f.clock().Truncate(day).Add(day + 20*time.Hour).Sub(f.clock())) // 20:00
		prefs := longterm.DefaultPreferences()
		prefs.Timezone = zone
		check.Got(f.stores.Preferences.Put(t.Context(), f.user, prefs))(t)
		from := f.clock().Add(day).Format(time.DateOnly)
		f.readOnce(t, "a", "A tomorrow", oneFact(`"content":"A","status":"planned","from":"`+from+`"`), day)
		f.readOnce(t, "b", "B instead", oneFact(`"content":"B","supersedes":["k1"]`), 0)
		f.advance(2 * day)
		f.readOnce(t, "c", "B never was", `{"facts":[],"ended":[{"id":"k1","reason":"false","messageIds":["m1"]}],`+
			`"openLoops":[],"closedLoops":[]}`, 0)
		f.wantValid(t, want...)
	}
}
