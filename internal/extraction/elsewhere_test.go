package extraction_test

import (
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestForgetALineOfAnotherSession has the user ask to forget what another session has heard, and of which nothing was
// noted, because it was only considered. The model sees the line, and can name it. It sees none that the user keeps
// apart.
func TestForgetALineOfAnotherSession(t *testing.T) {
	t.Parallel()
	for _, shares := range []bool{true, false} {
		f := newFixture(t, "ann")
		prefs := longterm.DefaultPreferences()
		prefs.CrossContext = shares
		check.Got(f.stores.Preferences.Put(t.Context(), f.user, prefs))(t)
		f.readOnce(t, "a", "Maybe I should leave Paul", emptyAnswer, 2*time.Minute)
		f.readOnce(t, "b", "I leave Paul a note", emptyAnswer, time.Minute)
		answer := `{"facts":[],"ended":[],"openLoops":[],"closedLoops":[],"forgetMessages":["m1","m2"]}`
		f.readOnce(t, "c", "Forget that I thought of leaving Paul", answer, 0)
		service := erasure.NewSweeper(f.stores.Erasure(noIndex{}, f.clock), noIndex{})
		check.Got(f.stores.Sweep(t.Context(), sweep.Deletions, service, f.clock))(t)
		forgotten := func(id string) bool {
			all, err := f.stores.Extraction.MessagesAfter(t.Context(), f.user, f.session(t, id), conversation.Watermark{}, 1)
			check.OK(t, err)
			return all[0].Forgotten
		}
		if forgotten("a") != shares || forgotten("b") || !forgotten("c") {
			t.Errorf("shared %t: forgotten are %t, %t, %t", shares, forgotten("a"), forgotten("b"), forgotten("c"))
		}
	}
}

// TestWhatAWishShows has a request show what other sessions have heard: with a wish to forget alone, only what the user
// said there, nothing that is kept from being read, and nothing after a bad answer, where the request is as small as it
// can be.
func TestWhatAWishShows(t *testing.T) {
	t.Parallel()
	e := newPoisoned(t, "ann")
	e.create(t, "a")
	e.append(t, "a",
		conversation.NewMessage{Role: conversation.RoleUser, Content: "Of the harbour"},
		conversation.NewMessage{Role: conversation.RoleAssistant, Content: "An answer"},
		conversation.NewMessage{Role: conversation.RoleUser, Content: "Off the record", NoExtract: true})
	e.extract(t, "a")
	e.advance(time.Minute)
	e.create(t, "b")
	read := func(text string, later time.Duration) string {
		e.append(t, "b", conversation.NewMessage{Role: conversation.RoleUser, Content: text})
		e.advance(later)
		e.extract(t, "b")
		return e.inputs[len(e.inputs)-1]
	}
	check.Lacks(t, read("Of the lighthouse", 2*day), "harbour", "without a wish")
	_, shown, _ := strings.Cut(read("Forget the harbour", time.Minute), "of other sessions:\n")
	shown, _, _ = strings.Cut(shown, "\n\n")
	if lines := strings.Split(shown, "\n"); len(lines) != 1 || !strings.HasSuffix(lines[0], "Of the harbour") {
		t.Errorf("the request shows %q", shown)
	}
	const bad = "Forget the bay"
	e.bad[bad] = badAnswers[0]
	e.append(t, "b", conversation.NewMessage{Role: conversation.RoleUser, Content: bad})
	before := len(e.inputs)
	e.read(t, "b")
	check.Contains(t, e.inputs[before], "Of the harbour", "at first")
	check.Lacks(t, e.inputs[before+1], "Of the harbour", "after a bad answer")
}
