package extraction_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
