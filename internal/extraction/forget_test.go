package extraction_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestForgottenMessagesAreNotRead has a message that the user asked to forget before it was read, and one before the
// watermark, which is no context either.
func TestForgottenMessagesAreNotRead(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	forget := func(m conversation.Message) {
		t.Helper()
		if _, err := e.stores.Deletion.ForgetMessage(t.Context(), e.user, m.ID); err != nil {
			t.Fatal(err)
		}
	}
	forget(e.say(t, "a", "fact 1", "fact 2")[0])
	e.extract(t, "a")
	e.wantValid(t, "fact 2")
	e.advance(time.Minute)
	e.more(t, "a", "fact 3")
	e.extract(t, "a")
	e.wantValid(t, "fact 2", "fact 3")
	if last := e.inputs[len(e.inputs)-1]; strings.Contains(last, "fact 1") || !strings.Contains(last, "fact 2") {
		t.Errorf("the model reads:\n%s", last)
	}
}

// TestMessagesThatAreNotRead appends a message of which no memory is to be made, though it is urgent.
func TestMessagesThatAreNotRead(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.create(t, "a")
	e.append(t, "a",
		conversation.NewMessage{Role: conversation.RoleUser, Content: "fact 1: I'm allergic to nuts", NoExtract: true},
		conversation.NewMessage{Role: conversation.RoleUser, Content: "fact 2"})
	if s := e.session(t, "a"); s.UrgentSeq != 0 || s.UserSeq != 2 {
		t.Errorf("the session is %+v", s)
	}
	e.extract(t, "a")
	e.wantValid(t, "fact 2")
	check.Lacks(t, e.inputs[0], "fact 1", "the model reads")
}

// TestForgetMessages has the user ask to forget a line that was read before, and of which nothing is known. The answers
// to it and to the request go with it, and no later request has any of them.
func TestForgetMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	f.model = script(emptyAnswer)
	f.create(t, "a")
	say := func(texts ...string) {
		var all []conversation.NewMessage
		for i, text := range texts {
			role := []conversation.Role{conversation.RoleUser, conversation.RoleAssistant}[i%2]
			all = append(all, conversation.NewMessage{Role: role, Content: text})
		}
		f.append(t, "a", all...)
		f.advance(time.Minute)
	}
	say("Hi there", "Hello", "STRIPE_KEY=sk_live_51HabcDEF", "The key begins with sk_live_51HabcDEF.")
	f.extract(t, "a")
	f.model = script(`{"facts":[],"ended":[],"openLoops":[],"closedLoops":[],"forgetMessages":["m3","m1","m9"]}`)
	say("Forget that key", "Forgotten.")
	f.extract(t, "a")
	service := erasure.NewSweeper(f.stores.Erasure(noIndex{}, f.clock), noIndex{})
	if _, err := f.stores.Sweep(t.Context(), sweep.Deletions, service, f.clock); err != nil {
		t.Fatal(err)
	}
	session := f.session(t, "a")
	all, err := f.stores.Extraction.MessagesAfter(t.Context(), f.user, session, conversation.Watermark{}, 10)
	check.OK(t, err)
	var kept []string
	for _, m := range all {
		if !m.Forgotten {
			kept = append(kept, m.Content)
		}
	}
	if diff := cmp.Diff([]string{"Hi there", "Hello"}, kept); diff != "" || len(all) != 6 {
		t.Errorf("of %d messages not forgotten (-want +got):\n%s", len(all), diff)
	}
}

// TestForgetAnOldLine has the user ask to forget what was read 30 lines before. The model sees it, and can name it.
func TestForgetAnOldLine(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.say(t, "a", "fact 1")
	e.extract(t, "a")
	for i := range 30 {
		e.more(t, "a", fmt.Sprint("something else ", i))
	}
	e.extract(t, "a")
	e.more(t, "a", "Another thing")
	e.extract(t, "a")
	check.Lacks(t, e.inputs[len(e.inputs)-1], "user: fact 1\n", "without a wish the model reads")
	e.more(t, "a", "Please forget what I said at first")
	e.extract(t, "a")
	check.Contains(t, e.inputs[len(e.inputs)-1], "user: fact 1\n", "the model reads")
}

// TestForgetWhatAnotherSessionHeard has the user ask to forget what was said in two other sessions, of which one is not
// read yet. That one is read first, by the same worker, and the wish finds both memories.
func TestForgetWhatAnotherSessionHeard(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.say(t, "a", "fact 1")
	e.extract(t, "a")
	e.say(t, "b", "fact 2", "Hm")
	e.say(t, "c", "fact 3")
	e.extract(t, "c")
	if len(e.inputs) != 2 {
		t.Fatalf("without a wish %d requests, want those of the two sessions", len(e.inputs))
	}
	e.more(t, "c", "Please forget what I told you about those")
	e.extract(t, "c")
	last := e.inputs[len(e.inputs)-1]
	for _, known := range []string{"PROFILE: fact 1\n", "PROFILE: fact 2\n", "PROFILE: fact 3\n", "user: Please forget"} {
		check.Contains(t, last, known, "the last of %d requests", len(e.inputs))
	}
	if len(e.inputs) != 4 || e.session(t, "b").NeedsExtraction() || e.session(t, "c").NeedsExtraction() {
		t.Errorf("%d requests, sessions %+v, %+v", len(e.inputs), e.session(t, "b"), e.session(t, "c"))
	}
	e.more(t, "c", "fact 4")
	e.extract(t, "c") // the lease was given back
	e.wantValid(t, "fact 1", "fact 2", "fact 3", "fact 4")
}

// TestForgottenBeforeItIsRead imports a message of before the user asked to forget what it says. It is forgotten, too,
// and one that says it anew is not.
func TestForgottenBeforeItIsRead(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.say(t, "a", "fact of Doctor Kern")
	e.extract(t, "a")
	e.advance(48 * time.Hour)
	service := erasure.NewSweeper(e.stores.Erasure(noIndex{}, e.clock), noIndex{})
	for _, m := range e.memories(t) {
		check.OK(t, erasure.NewMemories(e.stores.Memories, service.Service).Delete(t.Context(), e.user, m.ID))
	}
	e.create(t, "b")
	e.append(t, "b", conversation.NewMessage{
		Role: conversation.RoleUser, Content: "The fact of Doctor Kern", Timestamp: e.clock().Add(-24 * time.Hour),
	})
	e.extract(t, "b")
	if _, err := e.stores.Sweep(t.Context(), sweep.Deletions, service, e.clock); err != nil {
		t.Fatal(err)
	}
	all, err := e.stores.Extraction.MessagesAfter(t.Context(), e.user, e.session(t, "b"), conversation.Watermark{}, 10)
	if err != nil || len(all) != 1 || !all[0].Forgotten {
		t.Errorf("the imported message: %+v, %v", all, err)
	}
	e.wantValid(t)
	e.advance(time.Hour)
	e.more(t, "b", "fact of Doctor Kern")
	e.extract(t, "b")
	e.wantValid(t, "fact of Doctor Kern")
}

// TestForgetWhatHasEnded has the user ask to forget what another fact has replaced, and what has ended a year ago,
// which is among the past records. The model sees such memories only then, and nothing but a wish to forget reaches
// them.
func TestForgetWhatHasEnded(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	e.say(t, "old", "fact of Quahog", "fact of Rome")
	e.extract(t, "old")
	e.advance(time.Hour)
	e.supersedes = "fact of Quahog"
	e.say(t, "new", "fact of Oslo")
	e.extract(t, "new")
	for _, m := range e.memories(t) {
		if m.Content == "fact of Rome" {
			if _, err := e.stores.Memories.Update(t.Context(), e.user, m.ID, func(m *longterm.Memory) error {
				m.ValidUntil, m.EndedReason = e.clock().AddDate(-1, 0, 0), longterm.EndedOver
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	e.advance(time.Hour)
	e.create(t, "wish")
	for _, step := range []struct {
		said, reason string
		left         int
	}{
		{"I'm well.", "forgotten", 3},
		{"Please forget that I asked", "false", 3},
		{"Please forget both towns", "forgotten", 1},
	} {
		e.model = script(strings.ReplaceAll(`{"facts":[],"ended":[{"id":"e1","reason":"R","messageIds":["m1"]},`+
			`{"id":"e2","reason":"R","messageIds":["m1"]}],"openLoops":[],"closedLoops":[]}`, "R", step.reason))
		e.append(t, "wish", conversation.NewMessage{Role: conversation.RoleUser, Content: step.said})
		e.extract(t, "wish")
		all := e.memories(t)
		if len(all) != step.left || slices.ContainsFunc(all, func(m longterm.Memory) bool {
			return m.EndedReason == longterm.EndedFalse
		}) {
			t.Errorf("after %q there are %+v, want %d, and none that is false", step.said, all, step.left)
		}
	}
	e.wantValid(t, "fact of Oslo")
}

// TestForgetTheSameTwice has the user ask to forget what was over and is true again, in the same words: two memories,
// whose messages are all forgotten.
func TestForgetTheSameTwice(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	first := e.say(t, "first", "fact of Rome")
	e.extract(t, "first")
	e.advance(time.Hour)
	e.create(t, "end")
	e.append(t, "end", conversation.NewMessage{Role: conversation.RoleUser, Content: "That is over."})
	model := e.model
	e.model = script(`{"facts":[],"ended":[{"id":"k1","reason":"over","messageIds":["m1"]}],"openLoops":[],` +
		`"closedLoops":[]}`)
	e.extract(t, "end")
	e.advance(time.Hour)
	e.model = model
	again := e.say(t, "again", "fact of Rome")
	e.extract(t, "again")
	e.advance(time.Hour)
	e.create(t, "wish")
	e.append(t, "wish", conversation.NewMessage{Role: conversation.RoleUser, Content: "Please forget that."})
	e.model = script(`{"facts":[],"ended":[{"id":"k1","reason":"forgotten","messageIds":["m1"]},` +
		`{"id":"e1","reason":"forgotten","messageIds":["m1"]}],"openLoops":[],"closedLoops":[]}`)
	e.extract(t, "wish")
	if left := e.memories(t); len(left) > 0 {
		t.Errorf("%+v is left", left)
	}
	known := check.Got(e.stores.Extraction.Known(t.Context(), e.user, 0, true))(t)
	for _, m := range slices.Concat(first, again) {
		if !slices.Contains(known.ForgottenMessages, m.ID) {
			t.Errorf("%q is not forgotten, but %v", m.ID, known.ForgottenMessages)
		}
	}
}

// TestForgetAndCorrect has the message that asks to forget a dose state the new one, and says its words again.
func TestForgetAndCorrect(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	fact := func(content, id string) string {
		return `{"type":"PROFILE","content":"` + content + `","confidence":0.97,"safety":"health",` +
			`"messageIds":["` + id + `"]}`
	}
	answer := func(facts, ended string) string {
		return `{"facts":[` + facts + `],"ended":[` + ended + `],"openLoops":[],"closedLoops":[]}`
	}
	const old, now = "The user takes warfarin 3 mg every evening.", "The user takes warfarin 5 mg every evening."
	f.model = script(answer(fact(old, "m1"), ""))
	f.create(t, "a")
	f.append(t, "a", conversation.NewMessage{Role: conversation.RoleUser, Content: "I take warfarin 3 mg every evening."})
	f.extract(t, "a")
	f.advance(time.Minute)
	f.model = script(answer(fact(old, "m1")+","+fact(now, "m1"), `{"id":"k1","reason":"forgotten","messageIds":["m1"]}`))
	f.append(t, "a", conversation.NewMessage{
		Role: conversation.RoleUser, Content: "Forget that I take warfarin 3 mg. I take warfarin 5 mg every evening.",
	})
	f.extract(t, "a")
	all := f.memories(t)
	if len(all) != 1 || all[0].Content != now || !all[0].Pinned {
		t.Errorf("remembered are %+v", all)
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

// TestForgetAndPromise has the message that asks to forget another one promise something. That stands, in whatever
// language the wish is, and what the other one promised is gone.
func TestForgetAndPromise(t *testing.T) {
	t.Parallel()
	for _, wish := range []string{
		"Forget what I said about Jiwoo, and remind me of the rent.", "지우 얘기는 잊어줘. 그리고 집세 내라고 알려줘.",
	} {
		f := newFixture(t, "ann")
		open := `"openLoops":[{"content":"%s","by":"user","due":"","every":"","confidence":0.9,"messageIds":["m1"]}],`
		f.model = script(`{"facts":[],"ended":[],` + fmt.Sprintf(open, "Write to Jiwoo") + `"closedLoops":[]}`)
		f.say(t, "a", "I'm in love with Jiwoo, and I'll write.")
		f.extract(t, "a")
		f.advance(time.Minute)
		f.model = script(`{"facts":[],"ended":[],"forgetMessages":["m2","m1"],` + fmt.Sprintf(open, "Pay the rent") +
			`"closedLoops":[]}`)
		f.append(t, "a", conversation.NewMessage{Role: conversation.RoleUser, Content: wish})
		f.advance(time.Second)
		f.extract(t, "a")
		for range 3 {
			service := erasure.NewSweeper(f.stores.Erasure(noIndex{}, f.clock), noIndex{})
			if _, err := f.stores.Sweep(t.Context(), sweep.Deletions, service, f.clock); err != nil {
				t.Fatal(err)
			}
			f.advance(5 * time.Minute)
		}
		if todos := f.todos(t); len(todos) != 1 || todos[0].Content != "Pay the rent" {
			t.Errorf("%s: the promises are %+v", wish, todos)
		}
	}
}

// noIndex has no vectors.
type noIndex struct{}

func (noIndex) Delete(context.Context, conversation.UserID, int64, []string) error { return nil }

func (noIndex) Drop(context.Context, conversation.UserID, int64) (int, error) { return 0, nil }

func (noIndex) ReindexNext(context.Context, conversation.UserID, conversation.Message) error {
	return nil
}
