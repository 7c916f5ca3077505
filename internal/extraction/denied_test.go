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
		"a plan whose day had come": {
			`"status":"planned","from":"2026-02-10",`, `"status":"planned","from":"2026-02-25",`, "", []string{"A"},
		},
		"a statement": {"", "", "", []string{"A"}},
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

// TestAPlanOfAnotherDay has a plan that names its day moved to another one, in new words: forward, which is read on the
// new day, or put off after its day, and then denied. What holds is told, and only that.
func TestAPlanOfAnotherDay(t *testing.T) {
	t.Parallel()
	plan := func(f *fixture, text string, in time.Duration, extra string) string {
		from := f.clock().Add(in)
		return oneFact(`"content":"The plan is ` + text + from.Format(" from 2 January") + `","status":"planned",` +
			extra + `"safety":"health","from":"` + from.Format(time.DateOnly) + `"`)
	}
	f := newFixture(t, "ann")
	f.readOnce(t, "a", "A", oneFact(`"content":"A","safety":"health"`), day)
	f.readOnce(t, "b", "B soon", plan(f, "B", 6*day, `"supersedes":["k1"],`), 0)
	f.advance(5 * day)
	f.readOnce(t, "c", "B a day before", plan(f, "B", 0, `"repeats":"k2","supersedes":["k1"],`), day)
	f.wantValid(t, "The plan is B from 11 February")
	f.readOnce(t, "d", "B next week", plan(f, "B", 7*day, `"repeats":"k1",`), 0)
	f.wantValid(t, "A", "The plan is B from 18 February")
	f.advance(day)
	f.readOnce(t, "e", "No B at all", `{"facts":[],"ended":[{"id":"k2","reason":"false","messageIds":["m1"]}],`+
		`"openLoops":[],"closedLoops":[]}`, 0)
	f.wantValid(t, "A")
}

// TestAnOldPlanIsNoMove reads that something was planned, in words that name the day, after it is known to hold since
// an earlier one. Another last day in the words of a danger is no other danger.
func TestAnOldPlanIsNoMove(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	f.readOnce(t, "now", "B already", oneFact(`"content":"The user takes B.","safety":"health","from":"2026-02-05"`), day)
	f.readOnce(t, "then", "B soon", oneFact(`"content":"The user takes B from 9 February.","safety":"health",`+
		`"status":"planned","from":"2026-02-09","repeats":"k1"`), 3*day)
	f.wantValid(t, "The user takes B.")
	g := newFixture(t, "bob")
	for i, last := range []string{"20", "24"} {
		g.readOnce(t, last, "Until the "+last, oneFact(`"content":"The user takes C until `+last+` February.",`+
			`"safety":"health","until":"2026-02-`+last+`","repeats":"k1"`), time.Duration(2-i)*day)
	}
	g.wantValid(t, "The user takes C until 24 February.")
}
