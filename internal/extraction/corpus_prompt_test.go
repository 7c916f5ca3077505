package extraction_test

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// setZone gives the user the time zone of the file.
func (c *corpusCase) setZone(t *testing.T) {
	t.Helper()
	zone := strings.TrimSpace(c.sections["zone"])
	if zone == "" {
		return
	}
	p := longterm.DefaultPreferences()
	p.Timezone = zone
	if _, err := c.stores.Preferences.Put(t.Context(), c.user, p); err != nil {
		t.Fatal(err)
	}
}

// factHeadings are the headings of the blocks with what is remembered.
var factHeadings = []string{
	"# SAFETY", "# WHAT YOU KNOW ABOUT THE USER", "# MEMORIES THAT MAY MATTER NOW", "# OPEN LOOPS",
	"# RECENT WINS", "# MANNER",
}

// checkPrompt compares what a prompt has of what is remembered with the section prompt, if the file has one. The
// prompt is built a minute after the last message, or at the time of the section's first line.
func (c *corpusCase) checkPrompt(t *testing.T) {
	t.Helper()
	section, ok := c.sections["prompt"]
	if !ok {
		return
	}
	at, want := c.clock(), []string{}
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if stamp, isTime := strings.CutPrefix(line, "at="); isTime {
			at = parseTime(t, stamp)
		} else if line != "" {
			want = append(want, line)
		}
	}
	got := c.promptLines(t, "s", at, "")
	slices.Sort(want)
	slices.Sort(got)
	check.Same(t, want, got, "the prompt at %s", at.Format(time.RFC3339))
}

// promptLines returns the lines of a prompt under the headings of what is remembered. A line about safety has "!" in
// front.
func (f *fixture) promptLines(t *testing.T, session string, at time.Time, zone string) []string {
	t.Helper()
	service := prompt.New(prompt.Deps{
		Store: f.stores.PromptSource, Search: noSearch{}, Counter: wordCounter{}, Archive: f.stores.Prompts,
		Now: func() time.Time { return at }, NewID: rand.Text,
	})
	r := prompt.Request{
		Context: appContext, SessionID: session, CoachID: coach, Message: "And now?", SkipSave: true, Timezone: zone,
	}
	built := check.Got(service.Build(t.Context(), f.user, r))(t)
	for range 20 {
		if len(built.Manifest.Degraded) == 0 {
			break
		}
		built = check.Got(service.Build(t.Context(), f.user, r))(t) // a busy machine reads past its deadline
	}
	text := built.System
	for _, m := range built.Messages {
		if m.Role == string(conversation.RoleSystem) {
			text += "\n" + m.Content
		}
	}
	lines, heading := []string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "# ") {
			heading = line
		}
		fact, isFact := strings.CutPrefix(line, "- ")
		switch {
		case !isFact || !slices.Contains(factHeadings, heading):
		case heading == factHeadings[0]:
			lines = append(lines, "! "+fact)
		default:
			lines = append(lines, "- "+fact)
		}
	}
	return lines
}

// noSearch finds nothing.
type noSearch struct{}

func (noSearch) Search(context.Context, conversation.UserID, recall.Search) (recall.Found, error) {
	return recall.Found{}, nil
}
