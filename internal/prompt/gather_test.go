package prompt_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

// history gives a user n older messages in sessions of ten, and returns a request for a new session. Nine sessions are
// of the last day, so that a prompt has the same days whatever the length.
func history(w *fixture, n int) prompt.Request {
	p := w.user("u")
	for i := range n / 10 {
		var lines []line
		for j := range 10 {
			lines = append(lines, says(time.Duration(j)*minute, fmt.Sprintf("message %d of session %d", j, i)))
		}
		ago := time.Duration(n/10-i) * time.Hour
		if n/10-i > 9 {
			ago += 8 * 24 * time.Hour
		}
		summarize(p.converse(fmt.Sprintf("s%d", i), "workout_log", "c", now.Add(-ago), lines...), "They trained.")
	}
	p.converse("here", "coach_conversation", "c", now.Add(-time.Second), says(0, "next"))
	return prompt.Request{
		Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next",
		MessageID: "msg_here_1",
	}
}

// The calls of a prompt are the same with 100 and with 10,000 stored messages: one of each source, and one archive.
func TestCallsDoNotGrow(t *testing.T) {
	t.Parallel()
	always := map[string]int{"session": 1, "messages": 1, "long_term": 1}
	besides := map[string]map[string]int{
		prompt.Unified: {"sessions": 1, "search": 1}, prompt.BlockMap: {"sessions": 1, "search": 1},
		prompt.ContextFormat: {"sessions": 1, "search": 1}, prompt.ContextFormat05: {"sessions": 1, "search": 1},
		prompt.TieredHistory: {"sessions": 1}, prompt.WorkingContext: {},
	}
	for _, n := range []int{100, 10_000} {
		for recipe, more := range besides {
			w := newFixture()
			r := history(w, n)
			r.Recipe = recipe
			want := maps.Clone(always)
			maps.Copy(want, more)
			build(t, w.service(now), "u", r)
			check.Same(t, want, w.calls, "%s, %d messages", recipe, n)
		}
	}
}

// What the timeline lacks is read while the search waits for the embedding.
func TestHistoryIsReadBesideTheSearch(t *testing.T) {
	t.Parallel()
	w := newFixture()
	w.user("u").converse("here", "coach_conversation", "c", now.Add(-time.Hour), says(0, "one"), answers(minute, "two"))
	w.timelineLag = 2
	read := make(chan struct{})
	w.during["tail"] = func() { close(read) }
	w.during["search"] = func() {
		select {
		case <-read:
		case <-time.After(10 * time.Second):
			t.Error("the history is read after the search")
		}
	}
	build(t, w.service(now), "u",
		prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next"})
	select {
	case <-read:
	default:
		t.Error("nothing was read beside the timeline")
	}
}

// A session whose array still leads is read from its tail, which merges the two.
func TestDualSessionsAreReadFromTheirTail(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := history(w, 20)
	p := w.user("u")
	p.sessions[len(p.sessions)-1].Adopted = adopted{hasCopies: true}
	build(t, w.service(now), "u", r)
	if w.endReads() != 1 {
		t.Errorf("the session's end was read %d times", w.endReads())
	}
}

// The search is asked for the beginning and the end of a long message, and given the preferences that the prompt has
// read; the manifest names its parts' times beside the sources'.
func TestSearchIsAsked(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := history(w, 20)
	r.Message, r.MessageID = "begin "+strings.Repeat("é", 20_000)+" end", ""
	r.Budget = &prompt.Budget{Tokens: 60_000}
	p := build(t, w.service(now), "u", r)
	asked := w.asked
	if n := len(asked.Text); n > 6100 || !strings.HasPrefix(asked.Text, "begin ") ||
		!strings.HasSuffix(asked.Text, " end") || !utf8.ValidString(asked.Text) {
		t.Errorf("asked for %d bytes, %.20q", n, asked.Text)
	}
	if asked.SessionID != "here" || asked.Context != "coach_conversation" || asked.CoachID != "c" || asked.Limit != 200 ||
		!asked.Ranked {
		t.Errorf("asked %+v", asked)
	}
	if asked.Asked == nil {
		t.Error("the search reads the message, which the prompt reads, too")
	}
	if asked.Access == nil || !w.access.Preferences.CrossContext {
		t.Errorf("the search reads its own access; it got %+v", w.access)
	}
	for _, source := range []string{"session", "messages", "long_term", "sessions", "search", "embedding"} {
		if _, timed := p.Manifest.Timings[source]; !timed {
			t.Errorf("no time of %s in %v", source, p.Manifest.Timings)
		}
	}
}

// A recipe that has no messages from elsewhere asks for none: a long history's messages would take every place in the
// search's answer.
func TestSearchAsksForWhatThePromptHas(t *testing.T) {
	t.Parallel()
	summaries := make([]string, 0, len(conversation.AppContexts()))
	for _, appContext := range conversation.AppContexts() {
		summaries = append(summaries, string(appContext.Summary.Type))
	}
	for recipe, want := range map[string][]string{
		prompt.Unified: nil, prompt.BlockMap: {vector.MemoryRecord},
		prompt.ContextFormat: summaries, prompt.ContextFormat05: summaries,
	} {
		w := newFixture()
		r := history(w, 20)
		r.Recipe = recipe
		build(t, w.service(now), "u", r)
		check.Same(t, want, w.asked.RecordTypes, "%s asks for", recipe)
	}
}

// Every wrong field is named, all together.
func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	w := newFixture()
	valid := ann(t, w)
	tests := map[string]struct {
		change func(*prompt.Request)
		fields []string
	}{
		"recipe":       {func(r *prompt.Request) { r.Recipe = "best" }, []string{"recipe"}},
		"agent":        {func(r *prompt.Request) { r.AgentID = "boss" }, []string{"agentId"}},
		"context":      {func(r *prompt.Request) { r.Context = "kitchen" }, []string{"context"}},
		"session":      {func(r *prompt.Request) { r.SessionID = "a b" }, []string{"sessionId"}},
		"coach":        {func(r *prompt.Request) { r.CoachID = "a#b" }, []string{"coachId"}},
		"no message":   {func(r *prompt.Request) { r.Message = "" }, []string{"message"}},
		"long message": {func(r *prompt.Request) { r.Message = strings.Repeat("x", 256<<10+1) }, []string{"message"}},
		"bytes":        {func(r *prompt.Request) { r.Message = "\xff" }, []string{"message"}},
		"role bytes":   {func(r *prompt.Request) { r.SystemRole = "\xff" }, []string{"systemRole"}},
		"zone":         {func(r *prompt.Request) { r.Timezone = "Mars/Base" }, []string{"timezone"}},
		"machine zone": {func(r *prompt.Request) { r.Timezone = "Local" }, []string{"timezone"}},
		"budget":       {func(r *prompt.Request) { r.Budget = &prompt.Budget{Tokens: 255} }, []string{"budget.tokens"}},
		"several": {
			func(r *prompt.Request) { r.Message, r.AgentID, r.Recipe = "", "x", "y" },
			[]string{"agentId", "message", "recipe"},
		},
		"least allowed": {func(r *prompt.Request) { r.Budget = &prompt.Budget{Tokens: 256} }, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := valid
			tt.change(&r)
			_, err := w.service(now).Build(t.Context(), "ann", r)
			var got []string
			if f := fault.From(err); f != nil {
				for _, field := range f.Fields {
					got = append(got, field.Field)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.fields) || (err == nil) != (tt.fields == nil) {
				t.Errorf("fields %q, error %v", got, err)
			}
		})
	}
}

// TestMessagesOfADeletedSession has the timeline still return the messages of a session that was deleted, and whose id
// another session has since.
func TestMessagesOfADeletedSession(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("here", "coach_conversation", "c", now.Add(-time.Hour), says(0, "said before"), says(minute, "and this"))
	for i := range p.messages {
		p.messages[i].ID, p.messages[i].SessionCreatedAt = fmt.Sprint("msg_old_", i), now.Add(-time.Hour)
	}
	p.sessions = nil
	p.converse("here", "coach_conversation", "c", now.Add(-2*minute), says(0, "begin anew"), says(minute, "next"))
	built := check.Got(w.service(now).Build(t.Context(), "u", prompt.Request{
		Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next", MessageID: "msg_here_2",
	}))(t)
	text := built.System + fmt.Sprint(built.Messages)
	isOld := strings.Contains(text, "said before") || strings.Contains(text, "and this")
	if isOld || !strings.Contains(text, "begin anew") {
		t.Errorf("the prompt has something of the deleted session, or nothing of the new one:\n%s", text)
	}
}
