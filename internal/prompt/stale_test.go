package prompt_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/prompt"
)

// TestTodayBeforeAnOldSitting reopens a chat of 40 days ago that fills the budget alone. The talk of two hours ago is
// in the prompt whole, before the old messages, and also where other conversations took all newest messages that are
// read.
func TestTodayBeforeAnOldSitting(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]int{"a short day": 0, "a long day": 600} {
		w := newFixture()
		p := w.user("u")
		var old []line
		for i := range 560 {
			old = append(old, says(time.Duration(i)*minute, fmt.Sprintf("OLD %d %s", i, strings.Repeat("words ", 600))))
		}
		p.converse("here", "coach_conversation", "c", now.Add(-40*24*time.Hour), old...)
		var talk []line
		for i := range 110 {
			talk = append(talk, says(time.Duration(i)*minute, fmt.Sprintf("TODAY %d.", i)))
		}
		p.converse("talk", "program_designer", "c", now.Add(-2*time.Hour), talk...)
		var theirs []line
		for i := range others { // ten minutes of them
			theirs = append(theirs, says(time.Duration(i)*time.Second, "theirs"))
		}
		p.converse("tom", "coach_conversation", "tom", now.Add(-20*minute), theirs...)
		got := build(t, w.service(now), "u", request(prompt.TieredHistory))
		if n := strings.Count(got.System, "TODAY"); n != 110 {
			t.Errorf("%s: %d of 110 messages of today are in the prompt", name, n)
		}
		last, first := strings.LastIndex(got.System, "TODAY"), strings.Index(got.System, "OLD")
		if first < last || !strings.Contains(got.System, "OLD 559 ") {
			t.Errorf("%s: the old sitting is at %d, today's at %d", name, first, last)
		}
		if !strings.Contains(got.System, `date="2025-12-28"`) {
			t.Errorf("%s: the old sitting is not of its own day", name)
		}
	}
}
