package extraction_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestShortAnswersAreRead has each answer behind its question in the request, however often the user said the same.
func TestShortAnswersAreRead(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	var messages []conversation.NewMessage
	for _, line := range []string{
		"Any heart disease?", "No", "Have you had a stroke?", "No.", "Have you had a stroke?", "No", "Do you smoke?",
		"Yes", "Do you take insulin?", "yes!", "", "Yes",
	} {
		role := conversation.RoleUser
		if strings.HasSuffix(line, "?") {
			role = conversation.RoleAssistant
		}
		if line != "" {
			messages = append(messages, conversation.NewMessage{Role: role, Content: line})
		}
	}
	e.create(t, "a")
	e.append(t, "a", messages...)
	e.extract(t, "a")
	var got []string
	for line := range strings.Lines(e.inputs[0]) {
		if _, said, ok := strings.Cut(line, "] "); ok {
			_, text, _ := strings.Cut(strings.TrimSpace(said), ": ")
			got = append(got, text)
		}
	}
	want := "Any heart disease? No Have you had a stroke? No. Do you smoke? Yes Do you take insulin? yes!"
	check.Equal(t, want, strings.Join(got, " "), "the model reads")
}

// TestLoopsApart shows a promise of one session in the request of another one where a memory of it is shown, and closes
// none that is not.
func TestLoopsApart(t *testing.T) {
	t.Parallel()
	shared := longterm.DefaultPreferences()
	apart, alone := shared, shared
	apart.Unshared = map[string]bool{"workout_log": true}
	alone.CrossContext = false
	for name, c := range map[string]struct {
		preferences longterm.Preferences
		isShown     bool
	}{"shared": {shared, true}, "the context is apart": {apart, false}, "each session is apart": {alone, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEcho(t)
			if _, err := e.stores.Preferences.Put(t.Context(), e.user, c.preferences); err != nil {
				t.Fatal(err)
			}
			in := conversation.NewSession{ID: "w", Context: "workout_log", CoachID: coach}
			if _, err := e.stores.Sessions.CreateSession(t.Context(), e.user, in, noKey); err != nil {
				t.Fatal(err)
			}
			said := e.more(t, "w", "I have an appointment on 2 December.")[0]
			for content, ids := range map[string][]string{"Appointment on 2 December": {said.ID}, "Buy bands": nil} {
				todo := longterm.Todo{Content: content, CoachID: coach, Status: longterm.Pending, MessageIDs: ids}
				if _, _, err := e.stores.Todos.Create(t.Context(), e.user, todo, noKey); err != nil {
					t.Fatal(err)
				}
			}
			e.say(t, "a", "Hello.")
			e.extract(t, "a")
			if input := e.inputs[0]; strings.Contains(input, "Appointment") != c.isShown || !strings.Contains(input, "bands") {
				t.Errorf("the model reads:\n%s", input)
			}
		})
	}
}

// TestRepeatsOfAnother has a model that takes a fact for one that differs in one word. About safety it is another one.
func TestRepeatsOfAnother(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ safety, known, said string }{
		{"health", "The user is allergic to kiwi.", "The user is allergic to figs."},
		{"health", "The user takes 850 mg of metformin.", "The user takes 1000 mg of metformin."},
		{"health", "ユーザーはデパケンを一日400mg飲んでいる。", "ユーザーはデパケンを一日600mg飲んでいる。"},
		{"", "The user likes hiking in the Alps.", "The user enjoys hiking in the Alps."},
	} {
		f := newFixture(t, "ann")
		fact := func(content, extra string) string {
			return oneFact(`"content":"` + content + `",` + extra + `"safety":"` + tt.safety + `"`)
		}
		f.readOnce(t, "a", tt.known, fact(tt.known, ""), 0)
		f.advance(time.Minute)
		f.readOnce(t, "b", tt.said, fact(tt.said, `"repeats":"k1",`), 0)
		if valid := strings.Join(f.valid(t), "\n"); strings.Contains(valid, tt.said) != (tt.safety != "") {
			t.Errorf("valid is %s", valid)
		}
	}
}
