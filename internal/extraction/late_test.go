package extraction_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestReadAfterItsEnd imports two old messages after what they say was over, as the user or the app has said. What says
// the same ends at once, and the model sees what has ended since, with its day.
func TestReadAfterItsEnd(t *testing.T) {
	t.Parallel()
	end := `{"facts":[],"ended":[{"id":"k1","reason":"over","messageIds":["m1"]}],"openLoops":[],"closedLoops":[]}`
	testReadAfter(t, func(e *echo, _ string) {
		e.model = script(end)
		e.say(t, "b", "Off warfarin for good")
		e.extract(t, "b")
	})
	testReadAfter(t, func(e *echo, known string) {
		_, err := e.stores.Memories.Update(t.Context(), e.user, known, func(m *longterm.Memory) error {
			m.ValidUntil = e.clock()
			return nil
		})
		check.OK(t, err)
	})
}

func testReadAfter(t *testing.T, end func(e *echo, known string)) {
	t.Helper()
	e := newEcho(t)
	e.safety = "health"
	e.say(t, "a", "fact: takes warfarin 3 mg")
	e.extract(t, "a")
	e.advance(20 * 24 * time.Hour)
	end(e, e.memories(t)[0].ID)
	ended := e.clock()
	e.advance(time.Minute)
	e.model = e
	e.create(t, "c")
	e.append(t, "c",
		conversation.NewMessage{
			Role: conversation.RoleUser, Content: "fact: takes 3 mg of warfarin a day", Timestamp: ended.AddDate(0, -6, 0),
		},
		conversation.NewMessage{
			Role: conversation.RoleUser, Content: "fact: takes aspirin", Timestamp: ended.AddDate(0, -6, 0).Add(time.Second),
		})
	e.extract(t, "c")
	e.wantValid(t, "fact: takes aspirin")
	want := fmt.Sprintf(", ended %s] PROFILE: fact: takes warfarin 3 mg\n", ended.Format(time.DateOnly))
	check.Contains(t, e.inputs[len(e.inputs)-1], want, "the model reads")
	e.say(t, "d", "fact: takes warfarin 3 mg") // again, after the end
	e.extract(t, "d")
	e.wantValid(t, "fact: takes aspirin", "fact: takes warfarin 3 mg")
	check.Lacks(t, e.inputs[len(e.inputs)-1], "ended", "of a new message the model reads")
}

// TestAnEndReadLate reads that a medicine was stopped after another one took its place. The other one is denied then,
// and does not bring it back.
func TestAnEndReadLate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	fact := func(content, supersedes string) string {
		return oneFact(`"content":"` + content + `","safety":"health","supersedes":[` + supersedes + `]`)
	}
	end := func(id, reason string) string {
		return `{"facts":[],"ended":[{"id":"` + id + `","reason":"` + reason + `","messageIds":["m1"]}],"openLoops":[],` +
			`"closedLoops":[]}`
	}
	f.readOnce(t, "a", "A", fact("A", ""), 9*day)
	f.readOnce(t, "b", "B instead", fact("B", `"k1"`), 3*day)
	f.wantValid(t, "B")
	f.readOnce(t, "wish", "Forget my cat. I take no A, as you know.", end("e1", "over"), 0)
	for _, m := range f.memories(t) {
		if m.Content == "A" && m.EndedReason != longterm.EndedReplaced {
			t.Errorf("A ended before it was said to be over: %+v", m)
		}
	}
	f.readOnce(t, "c", "No A any more", end("e1", "over"), 6*day)
	f.wantValid(t, "B")
	f.readOnce(t, "d", "Never B", end("k1", "false"), 0)
	f.wantValid(t)
}

// TestOverWhenItIsRead reads late what held for a day before a plan began, and what the model says the plan has
// replaced. The plan, which has begun since, stays.
func TestOverWhenItIsRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	on := func(days int) string { return f.clock().AddDate(0, 0, -days).Format(time.DateOnly) }
	plan := oneFact(`"content":"B","supersedes":[],"status":"planned","from":"` + on(5) + `"`)
	f.readOnce(t, "plan", "B from then on", plan, 9*day)
	f.readOnce(t, "once", "A for a day", oneFact(`"content":"A","supersedes":["k1"],"until":"`+on(7)+`"`), 7*day)
	f.wantValid(t, "B")
}

// TestMovedBehindItsLastDay has a plan for a day, which is moved to a later one as a repeat: it holds until that day.
func TestMovedBehindItsLastDay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	for i, fact := range []string{
		`"repeats":"","from":"2026-02-16","until":"2026-02-16"`, `"repeats":"k1","from":"2026-02-20"`,
	} {
		f.readOnce(t, fmt.Sprint("s", i), "The hearing", oneFact(`"content":"The hearing","status":"planned",`+fact), 0)
		f.advance(time.Minute)
	}
	f.advance(12 * 24 * time.Hour)
	f.wantValid(t, "The hearing")
}

// TestForgetAllThatSaidIt has a fact that eleven messages have said and one has ended, and an answer that names it
// twice. All of the messages are forgotten.
func TestForgetAllThatSaidIt(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	for i := range 11 {
		e.say(t, fmt.Sprint("s", i), "fact of the bees")
		e.extract(t, fmt.Sprint("s", i))
	}
	e.wantValid(t, "fact of the bees")
	answer := func(reason string) string {
		item := `{"id":"%s","reason":"` + reason + `","messageIds":["m1"]}`
		id := map[string]string{"over": "k1", "forgotten": "e1"}[reason]
		return fmt.Sprintf(`{"facts":[],"ended":[`+item+`,`+item+`],"openLoops":[],"closedLoops":[]}`, id, id)
	}
	for i, reason := range []string{"over", "forgotten"} {
		e.model = script(answer(reason))
		id := fmt.Sprint("end", i)
		e.say(t, id, []string{"They are gone", "Please forget all about them"}[i])
		e.extract(t, id)
	}
	service := erasure.NewSweeper(e.stores.Erasure(noIndex{}, e.clock), noIndex{})
	if _, err := e.stores.Sweep(t.Context(), sweep.Deletions, service, e.clock); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"s0", "s1", "s2", "s5", "s10", "end0", "end1"} {
		all, err := e.stores.Extraction.MessagesAfter(t.Context(), e.user, e.session(t, id), conversation.Watermark{}, 10)
		if err != nil || len(all) != 1 || !all[0].Forgotten {
			t.Errorf("%s: %+v, %v", id, all, err)
		}
	}
}

// TestThePlanFalls has a fact with a last day, a plan for the next day or for one before, and the end of the plan: the
// fact has its own last day again. So it is when the plan's session is deleted.
func TestThePlanFalls(t *testing.T) {
	t.Parallel()
	for _, until := range []string{"2026-02-15", "2026-02-20", ""} {
		for _, falls := range []bool{true, false} {
			f := newFixture(t, "ann")
			fact := func(extra string) string {
				return oneFact(`"content":"A","safety":"health",` + extra)
			}
			f.model = script(fact(`"repeats":"","supersedes":[],"until":"` + until + `"`))
			f.say(t, "a", "A until then")
			f.extract(t, "a")
			f.advance(time.Minute)
			f.model = script(strings.ReplaceAll(
				fact(`"repeats":"","supersedes":["k1"],"status":"planned","from":"2026-02-16"`), `"A"`, `"B"`))
			f.say(t, "b", "B from the 16th")
			f.extract(t, "b")
			f.advance(time.Minute)
			for _, m := range f.memories(t) {
				if want := "2026-02-15"; m.Content == "A" && m.Until.String() != want {
					t.Fatalf("until %q: with the plan it is %q", until, m.Until)
				}
			}
			if falls {
				f.model = script(`{"facts":[],"ended":[{"id":"k2","reason":"false","messageIds":["m1"]}],` +
					`"openLoops":[],"closedLoops":[]}`)
				f.say(t, "c", "B is off")
				f.extract(t, "c")
			} else {
				check.OK(t, f.stores.Erasure(noIndex{}, f.clock).DeleteSession(t.Context(), f.user, "b"))
			}
			f.wantValid(t, "A")
			for _, m := range f.memories(t) {
				if m.Content == "A" && (m.Until.String() != until || !m.SaidUntil.IsZero()) {
					t.Errorf("until %q, the plan falls %v: then it is until %q, said %q", until, falls, m.Until, m.SaidUntil)
				}
			}
		}
	}
}

// TestBeforeThePlan has a fact that a plan is to replace, and another one, with a last day of its own, in its place
// until then: it ends on the earlier of the two days, and on its own again when the plan falls.
func TestBeforeThePlan(t *testing.T) {
	t.Parallel()
	for until, want := range map[string]string{"2026-02-12": "2026-02-12", "2026-02-20": "2026-02-15", "": "2026-02-15"} {
		f := newFixture(t, "ann")
		say := func(id, content, more string) {
			f.readOnce(t, id, content, oneFact(`"content":"`+content+`","safety":"health","repeats":"",`+more), 0)
			f.advance(time.Minute)
		}
		say("a", "A", `"supersedes":[]`)
		say("b", "B", `"supersedes":["k1"],"status":"planned","from":"2026-02-16"`)
		say("c", "C", `"supersedes":["k1"],"until":"`+until+`"`)
		wantC := func(when, want string) {
			t.Helper()
			for _, m := range f.memories(t) {
				if m.Content == "C" && m.Until.String() != want {
					t.Errorf("C until %q, %s: until %q, want %q", until, when, m.Until, want)
				}
			}
		}
		wantC("before the plan", want)
		check.OK(t, f.stores.Erasure(noIndex{}, f.clock).DeleteSession(t.Context(), f.user, "b"))
		wantC("without the plan", until)
	}
}

// TestRepeatedLate reads what was said before two memories, repeats one and takes the other's place as the model says.
// That one was said later, and stays.
func TestRepeatedLate(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	say := func(id string, days int, fact string) {
		f.readOnce(t, id, id, oneFact(fact), time.Duration(days)*day)
	}
	say("a", 1, `"content":"A","repeats":"","supersedes":[]`)
	say("b", 2, `"content":"B","repeats":"","supersedes":["k1"],"status":"planned","from":"`+
		f.clock().AddDate(0, 0, 5).Format(time.DateOnly)+`"`)
	f.wantValid(t, "A", "B")
	say("c", 3, `"content":"A","repeats":"k2","supersedes":["k1"]`)
	f.wantValid(t, "A", "B")
}

// conflicts is a store of which the first writes of batches conflict.
type conflicts struct {
	extraction.Store
	left int
}

func (c *conflicts) SaveExtraction(ctx context.Context, user conversation.UserID, s conversation.Session,
	b extraction.Batch,
) ([]string, error) {
	if c.left--; c.left >= 0 {
		return nil, fault.New(fault.Conflict, "another writer came first")
	}
	return c.Store.SaveExtraction(ctx, user, s, b)
}

// TestConflictWithoutAMessage raises the watermark over a message that is not read, after a conflict.
func TestConflictWithoutAMessage(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.create(t, "a")
	e.append(t, "a", conversation.NewMessage{Role: conversation.RoleUser, Content: "fact 1", NoExtract: true})
	store := &conflicts{Store: e.stores.Extraction, left: 2}
	through, err := extraction.New(e.deps(store)).Extract(t.Context(), e.user, appContext, "a")
	if through.Seq != 1 || err != nil {
		t.Errorf("read through %d, %v", through.Seq, err)
	}
	e.wantCalls(t, 0)
}

// TestManyUnreadBeforeAWish asks to forget something while five other sessions are not read: three are read first.
func TestManyUnreadBeforeAWish(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	for i := range 5 {
		e.say(t, fmt.Sprint("s", i), fmt.Sprint("fact ", i))
		e.advance(time.Second)
	}
	e.say(t, "wish", "Please forget what I told you")
	e.extract(t, "wish")
	e.wantCalls(t, 4)
	e.wantValid(t, "fact 2", "fact 3", "fact 4")
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
	pending := func() (n int) {
		for _, todo := range f.todos(t) {
			if todo.Status == longterm.Pending {
				n++
			}
		}
		return n
	}
	f.readOnce(t, "a", "I'll send Noel books", promise, 30*day)
	f.readOnce(t, "b", "The books are sent", `{"facts":[],"ended":[],"openLoops":[],`+
		`"closedLoops":[{"id":"l1","outcome":"done","messageIds":["m1"]}]}`, 20*day)
	f.readOnce(t, "again", "I'll send Noel books", promise, 30*day)
	check.Equal(t, 0, pending(), "promises are open after the import")
	f.readOnce(t, "c", "I'll send Noel books again", promise, 10*day)
	check.Equal(t, 1, pending(), "promises are open, and one was made anew")
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

// TestNotedThoughTakenBack has a model that notes what a line says, and says that a later wish means the line: in the
// same batch, or read before the line. Nothing is kept of it but what can hurt. What the asking line says is kept.
func TestNotedThoughTakenBack(t *testing.T) {
	t.Parallel()
	const (
		ann  = `{"type":"PEOPLE","content":"The user's girlfriend is Ann.","confidence":0.9,"messageIds":["m1"]}`
		iron = `{"type":"PROFILE","content":"The user takes iron.","confidence":0.9,"messageIds":["m2"]}`
		call = `"ended":[],"openLoops":[{"content":"Call Ann","confidence":0.9,"messageIds":["m1"]}],"closedLoops":[]}`
		said = "Ann is my girlfriend, I'll call her"
	)
	const wish = "Forget my girlfriend. I take iron"
	for _, lines := range [][]string{
		{said, wish}, {said, "Ek neem yster, laat Ann weg"}, {said, wish, "Forget my boss, too"},
	} {
		f := newFixture(t, "ann")
		f.model = script(`{"facts":[` + ann + "," + iron + `],"forgetMessages":["m1","m2","m3"],` + call)
		f.say(t, "a", lines...)
		f.extract(t, "a")
		if got := f.memories(t); len(got) != 1 || got[0].Content != "The user takes iron." || len(f.todos(t)) > 0 {
			t.Errorf("%q: the memories are %+v, the promises %+v", lines, got, f.todos(t))
		}
	}
	f := newFixture(t, "ann")
	f.model = script(`{"facts":[` + ann + `,{"type":"PROFILE","content":"The user is allergic to nuts.",` +
		`"safety":"health","confidence":0.9,"messageIds":["m1"]}],"forgetMessages":["m1","m2"],` + call)
	f.say(t, "a", "Ann, who is my girlfriend, knows that I am allergic to nuts", "Forget my girlfriend")
	f.extract(t, "a")
	if got := f.memories(t); len(got) != 1 || got[0].Content != "The user is allergic to nuts." {
		t.Errorf("the memories are %+v", got)
	}
	f = newFixture(t, "ann")
	f.readOnce(t, "wish", "Forget my girlfriend", `{"facts":[],"ended":[],"forgetMessages":["m1"],`+
		`"openLoops":[],"closedLoops":[]}`, time.Minute)
	f.readOnce(t, "late", said, `{"facts":[`+ann+`],"forgetMessages":["m1"],`+call, 20*day)
	if got := f.memories(t); len(got)+len(f.todos(t)) > 0 {
		t.Errorf("the memories are %+v, the promises %+v", got, f.todos(t))
	}
}
