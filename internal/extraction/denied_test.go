package extraction_test

import (
	"testing"
	"time"
)

// TestThePlanFallsOnItsDay has a plan that falls, and a statement that is denied, after they took the place of another:
// that one holds again, unless the user says what is true instead. A plan that gave way before its day stays given up.
func TestThePlanFallsOnItsDay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first, second, facts string
		want                 []string
	}{
		"a plan":       {"", `"status":"planned","from":"2026-02-16",`, "", []string{"A"}},
		"another plan": {`"status":"planned","from":"2026-06-01",`, `"status":"planned","from":"2026-07-01",`, "", nil},
		"a statement":  {"", "", "", []string{"A"}},
		"corrected": {
			facts: `{"type":"PROFILE","content":"C","confidence":0.9,"messageIds":["m1"],"safety":"health"}`,
			want:  []string{"C"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "ann")
			say := func(id, text, answer string) {
				t.Helper()
				f.readOnce(t, id, text, answer, 0)
				f.advance(14 * 24 * time.Hour)
			}
			fact := func(content, extra string) string {
				return oneFact(`"content":"` + content + `",` + extra + `"safety":"health"`)
			}
			say("a", "A", fact("A", tc.first))
			say("b", "B instead", fact("B", tc.second+`"supersedes":["k1"],`))
			say("c", "B never was", `{"facts":[`+tc.facts+`],"ended":[{"id":"k1","reason":"false",`+
				`"messageIds":["m1"]}],"openLoops":[],"closedLoops":[]}`)
			f.wantValid(t, tc.want...)
		})
	}
}
