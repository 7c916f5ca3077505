package dynamo_test

import (
	"fmt"
	"testing"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestCoachesAtTheirCap asks for one coach more than the cap, replaces one, and reads them as a prompt does.
func TestCoachesAtTheirCap(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for i := range longterm.MaxCoaches {
		check.Got(s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: fmt.Sprint("n", i)}))(t)
	}
	checkFault(t, errorOf(s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: "d"})), fault.Conflict, "one more")
	again := longterm.Coach{ID: "n1", Name: "again", Persona: "kind", Model: "m"}
	check.Got(s.Coaches.PutCoach(t.Context(), alice, again))(t)
	in := snapshot(t, s).Coaches
	check.Equal(t, longterm.MaxCoaches, len(in), "coaches of the snapshot")
	check.Same(t, again, in["n1"], "the coach that was replaced")
	_, err := s.Coaches.PutCoach(t.Context(), alice, longterm.Coach{ID: "a#b"})
	checkField(t, err, "coachId")
}
