package extraction_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
)

// TestThePlanFallsOnItsDay has a plan that falls, and a statement that is denied, after they took the place of another:
// that one holds again, unless the user says what is true instead.
func TestThePlanFallsOnItsDay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ second, facts, want string }{
		"a plan":      {`"status":"planned","from":"2026-02-16",`, "", "A"},
		"a statement": {"", "", "A"},
		"corrected":   {"", `{"type":"PROFILE","content":"C","confidence":0.9,"messageIds":["m1"],"safety":"health"}`, "C"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "ann")
			say := func(id, text, answer string) {
				t.Helper()
				f.model = script(answer)
				f.say(t, id, text)
				f.extract(t, id)
				f.advance(14 * 24 * time.Hour)
			}
			fact := func(content, extra string) string {
				return `{"facts":[{"type":"PROFILE","content":"` + content + `","confidence":0.9,"messageIds":["m1"],` + extra +
					`"safety":"health"}],"ended":[],"openLoops":[],"closedLoops":[]}`
			}
			say("a", "A", fact("A", ""))
			say("b", "B instead", fact("B", tc.second+`"supersedes":["k1"],`))
			say("c", "B never was", `{"facts":[`+tc.facts+`],"ended":[{"id":"k1","reason":"false",`+
				`"messageIds":["m1"]}],"openLoops":[],"closedLoops":[]}`)
			f.wantValid(t, tc.want)
		})
	}
}

// TestForgetAPromise has the user ask to forget a promise of another session: neither the promise nor the message that
// made it is there any more.
func TestForgetAPromise(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	f.model = script(`{"facts":[],"ended":[],"openLoops":[{"content":"Quit smoking","by":"user","due":"","every":"",` +
		`"confidence":0.9,"messageIds":["m1"]}],"closedLoops":[]}`)
	said := f.say(t, "a", "I'll quit smoking")[0]
	f.extract(t, "a")
	f.advance(time.Minute)
	f.model = script(`{"facts":[],"ended":[],"openLoops":[],` +
		`"closedLoops":[{"id":"l1","outcome":"forgotten","messageIds":["m1"]}]}`)
	f.say(t, "b", "Forget that promise")
	f.extract(t, "b")
	service := erasure.NewSweeper(f.stores.Erasure(noIndex{}, f.clock), noIndex{})
	if _, err := f.stores.Sweep(t.Context(), sweep.Deletions, service, f.clock); err != nil {
		t.Fatal(err)
	}
	if todos := f.todos(t); len(todos) > 0 {
		t.Errorf("the promises are %+v", todos)
	}
	all, err := f.stores.Extraction.MessagesAfter(t.Context(), f.user, f.session(t, "a"), conversation.Watermark{}, 10)
	if err != nil || len(all) != 1 || all[0].ID != said.ID || !all[0].Forgotten {
		t.Errorf("the message is %+v, %v", all, err)
	}
}

// TestRepeatsOfAnother has a model that takes a fact for one that differs in one word. About safety it is another one.
func TestRepeatsOfAnother(t *testing.T) {
	t.Parallel()
	for known, said := range map[string]string{
		"The user is allergic to kiwi.":       "The user is allergic to figs.",
		"The user takes 850 mg of metformin.": "The user takes 1000 mg of metformin.",
		"ユーザーはデパケンを一日400mg飲んでいる。":             "ユーザーはデパケンを一日600mg飲んでいる。",
		"The user likes hiking in the Alps.":  "The user enjoys hiking in the Alps.",
	} {
		safety := "health"
		if strings.Contains(known, "Alps") {
			safety = ""
		}
		f := newFixture(t, "ann")
		fact := func(content, extra string) string {
			return `{"facts":[{"type":"PROFILE","content":"` + content + `","confidence":0.9,"messageIds":["m1"],` + extra +
				`"safety":"` + safety + `"}],"ended":[],"openLoops":[],"closedLoops":[]}`
		}
		f.model = script(fact(known, ""))
		f.say(t, "a", known)
		f.extract(t, "a")
		f.advance(time.Minute)
		f.model = script(fact(said, `"repeats":"k1",`))
		f.say(t, "b", said)
		f.extract(t, "b")
		if valid := strings.Join(f.valid(t), "\n"); strings.Contains(valid, said) != (safety != "") {
			t.Errorf("valid is %s", valid)
		}
	}
}

// TestOldSessionsInTheirOrder has an import whose last session comes first: what was said before is read before it, so
// that it can be ended.
func TestOldSessionsInTheirOrder(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		e.say(t, id, fmt.Sprint("fact ", i))
		e.advance(time.Hour)
	}
	e.extract(t, "c")
	if e.wantValid(t, "fact 2"); len(e.inputs) != 1 {
		t.Errorf("what was said within a day needs %d calls", len(e.inputs))
	}
	e.advance(48 * time.Hour)
	e.extract(t, "d")
	e.wantValid(t, "fact 0", "fact 1", "fact 2", "fact 3")
	if len(e.inputs) != 4 {
		t.Fatalf("%d calls", len(e.inputs))
	}
	for i, want := range []string{"fact 2", "fact 0", "fact 1", "fact 3"} {
		if _, read, _ := strings.Cut(e.inputs[i], "New lines"); !strings.Contains(read, want) {
			t.Errorf("call %d does not read %q:\n%s", i, want, e.inputs[i])
		}
	}
}

// TestAKeptPromiseIsImportedAgain has a promise that was kept and is said once more by an import, and then anew.
func TestAKeptPromiseIsImportedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	const promise = `{"facts":[],"ended":[],"openLoops":[{"content":"Send Noel books","by":"user","due":"","every":"",` +
		`"confidence":0.9,"messageIds":["m1"]}],"closedLoops":[]}`
	say := func(id, text, answer string, ago time.Duration) {
		t.Helper()
		f.model = script(answer)
		f.create(t, id)
		f.append(t, id, conversation.NewMessage{
			Role: conversation.RoleUser, Content: text, Timestamp: f.clock().Add(-ago),
		})
		f.extract(t, id)
	}
	pending := func() (n int) {
		for _, todo := range f.todos(t) {
			if todo.Status == longterm.Pending {
				n++
			}
		}
		return n
	}
	const day = 24 * time.Hour
	say("a", "I'll send Noel books", promise, 30*day)
	say("b", "The books are sent", `{"facts":[],"ended":[],"openLoops":[],`+
		`"closedLoops":[{"id":"l1","outcome":"done","messageIds":["m1"]}]}`, 20*day)
	say("again", "I'll send Noel books", promise, 30*day)
	if n := pending(); n != 0 {
		t.Errorf("%d promises are open after the import", n)
	}
	say("c", "I'll send Noel books again", promise, 10*day)
	if n := pending(); n != 1 {
		t.Errorf("%d promises are open, and one was made anew", n)
	}
}

// TestAWishBeforeTheImport has a user who asks to forget what an import brings later: the model is told of the wish,
// unless sessions are kept apart.
func TestAWishBeforeTheImport(t *testing.T) {
	t.Parallel()
	for _, isTold := range []bool{true, false} {
		e := newEcho(t)
		f := e.fixture
		prefs := longterm.DefaultPreferences()
		prefs.CrossContext = isTold
		if _, err := f.stores.Preferences.Put(t.Context(), f.user, prefs); err != nil {
			t.Fatal(err)
		}
		f.model = script(`{"facts":[],"ended":[],"forgetMessages":["m1"],"openLoops":[],"closedLoops":[]}`)
		f.say(t, "a", "Forget that Noel is in prison")
		f.extract(t, "a")
		f.model = e
		f.advance(time.Minute)
		f.create(t, "b")
		f.append(t, "b", conversation.NewMessage{
			Role: conversation.RoleUser, Content: "fact: Noel is in prison", Timestamp: f.clock().Add(-100 * time.Hour),
		})
		f.extract(t, "b")
		if got := strings.Contains(e.inputs[0], "user: Forget that Noel"); got != isTold {
			t.Errorf("the model is told: %v\n%s", got, e.inputs[0])
		}
	}
}
