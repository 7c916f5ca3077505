package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
)

// historyCase is one request on one generated history.
type historyCase struct {
	drawnHistory
	expected
	// byMark has the messages by what their texts begin with.
	byMark  map[string]conversation.Message
	recipe  prompt.Recipe
	request prompt.Request
	prompt  prompt.Prompt
	// text is everything that the prompt says.
	text string
}

// historySetting is who asks, from where, and with which preferences.
type historySetting struct {
	name, context, session string
	set                    func(*longterm.Preferences)
}

var historySettings = []historySetting{
	{"chat", "coach_conversation", "chat", func(*longterm.Preferences) {}},
	{"new session", "coach_conversation", "empty", func(*longterm.Preferences) {}},
	{"chat, workout_log not shared", "coach_conversation", "chat", unshare("workout_log")},
	{"another session", "", "s40", func(*longterm.Preferences) {}},
	{"chat, itself not shared", "coach_conversation", "chat", unshare("coach_conversation")},
	{"chat, crossContext off", "coach_conversation", "chat", func(p *longterm.Preferences) { p.CrossContext = false }},
}

// TestHistory compares each recipe's prompts of long histories with what the rules of history say: what is in the
// prompt in full, by a summary or not at all, in which order, and of which day. Every other case is of the chat, with
// all shared; the others take turns with the other settings.
func TestHistory(t *testing.T) {
	t.Parallel()
	for seed := range histories {
		for i, at := range historyTimes {
			setting, tight := historySettings[0], []int{400, 1600, 6400}
			if (seed+i)%2 == 1 {
				setting, tight = historySettings[1+(seed+i)/2%5], []int{800, 3200}
			}
			t.Run(fmt.Sprintf("%d, %s, %s", seed, at, setting.name), func(t *testing.T) {
				t.Parallel()
				w := newFixture()
				c := drawCase(w.user("u"), seed, at, setting)
				service := w.service(c.now)
				checkRecipes(t, c, c.person, tight, func(r prompt.Request) prompt.Prompt { return build(t, service, "u", r) })
			})
		}
	}
}

// checkRecipes builds and checks the prompt of each recipe, with room for everything, and tiered-history also within
// tight budgets, which do not hold all that the rules allow. found is whose hits the search returns.
func checkRecipes(t *testing.T, c historyCase, found *person, tight []int, build func(prompt.Request) prompt.Prompt) {
	t.Helper()
	built := func(t *testing.T, recipe prompt.Recipe, r prompt.Request) historyCase {
		one := c
		one.recipe, one.request, one.prompt = recipe, r, build(r)
		one.text = everything(one.prompt)
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("at %s, %s:\n%s", c.now.In(c.expected.zone), c.expected.zone, one.text)
			}
		})
		return one
	}
	for _, recipe := range prompt.Recipes {
		r := c.request
		r.Recipe = recipe.Name
		if recipe.Name == prompt.Unified || recipe.Name == prompt.BlockMap || recipe.Name == prompt.WorkingContext {
			r.Budget = &prompt.Budget{Tokens: 200_000}
		}
		if found.hits = nil; strings.HasPrefix(recipe.Name, prompt.ContextFormat) {
			found.hits = c.drawHits()
		}
		t.Run(recipe.Name, func(t *testing.T) {
			one := built(t, recipe, r)
			check := checks[recipe.Name]
			if check == nil {
				t.Fatalf("checks has no entry for %s, which says what the recipe has of the history", recipe.Name)
			}
			check(t, one)
			one.checkManifest(t)
		})
		if recipe.Name != prompt.TieredHistory {
			continue
		}
		for _, budget := range tight {
			r.Budget = &prompt.Budget{Tokens: budget}
			t.Run(fmt.Sprint(recipe.Name, " of ", budget), func(t *testing.T) { checkTight(t, built(t, recipe, r)) })
		}
	}
}

var checks = map[string]func(*testing.T, historyCase){
	prompt.Unified:         checkUnified,
	prompt.WorkingContext:  checkRecent,
	prompt.ContextFormat:   checkContextFormat,
	prompt.ContextFormat05: checkContextFormat,
	prompt.TieredHistory:   checkTiered,
	prompt.BlockMap:        checkBlockMap,
}

// drawCase generates a history and a request. Every other current message is stored already.
func drawCase(p *person, seed int, at string, setting historySetting) historyCase {
	h := histories[seed]().copyTo(p)
	setting.set(&p.access.Preferences)
	now := h.nows()[at]
	r := prompt.Request{
		SessionID: setting.session, CoachID: "mia", Message: "what next?", Timezone: h.zone.String(), SkipSave: true,
	}
	for i := range p.sessions {
		s := &p.sessions[i]
		if s.ID != setting.session {
			continue
		}
		r.Context = s.Context
		if seed%2 == 1 {
			r.MessageID = p.say(s, now, r.Message)
		}
	}
	c := historyCase{
		drawnHistory: h, expected: rulesOf(p, r, now, h.zone), request: r, byMark: map[string]conversation.Message{},
	}
	for i := range p.messages {
		c.byMark[mark(&p.messages[i])] = p.messages[i]
	}
	return c
}

// say adds a message of the user to a session and returns its id.
func (p *person) say(s *conversation.Session, at time.Time, text string) string {
	s.MessageCount++
	s.LastSeq++
	if s.LastMessageAt = at; s.StartedAt.IsZero() {
		s.StartedAt = at
	}
	id := fmt.Sprintf("msg_%s_%d", s.ID, s.LastSeq)
	p.messages = append(p.messages, conversation.Message{
		ID: id, Seq: s.LastSeq, SessionID: s.ID, Context: s.Context, CoachID: s.CoachID, Role: conversation.RoleUser,
		Content: text, Tokens: tokens.Count(text), Timestamp: at,
	})
	return id
}

// mark is what a message's text begins with.
func mark(m *conversation.Message) string {
	first, _, _ := strings.Cut(m.Content, " ")
	return first
}

// checkTiered compares tiered-history with the tiers.
func checkTiered(t *testing.T, c historyCase) {
	messages, summaries := readShown(c.prompt.System, "<conversation ")
	c.checkFull(t, messages, c.full)
	for _, m := range messages {
		tag := attributesOf(m.heading)
		c.checkTime(t, m)
		at := c.byMark[m.id].Timestamp
		c.checkTag(t, tag, at, m.id)
		if from, to := tag["from"], tag["to"]; from == "" || to == "" || m.clock < from || m.clock > to {
			t.Errorf("%s of %s is in the tag %s", m.id, m.clock, m.heading)
		}
	}
	want, got := []string{}, []string{}
	for _, s := range c.summaries {
		if s.session.Summary != nil {
			want = append(want, s.session.ID)
		} else {
			c.checkNoSummary(t, s.session.ID)
		}
	}
	for _, s := range summaries {
		got = append(got, s.id)
		if i := slices.IndexFunc(c.summaries, func(want summaryOf) bool { return want.session.ID == s.id }); i >= 0 {
			c.checkTag(t, attributesOf(s.heading), c.summaries[i].newest.last, "the summary of "+s.id)
		}
	}
	checkEqual(t, "summaries", want, got)
	c.checkThread(t, c.prompt.System)
}

// checkFull compares the messages that are in the prompt in full, and their order, with the sittings that should be.
func (c historyCase) checkFull(t *testing.T, got []shownMessage, full []sitting) {
	want, place := []string{}, map[string]int{}
	for i, m := range got {
		place[m.id] = i
	}
	for _, s := range full {
		marks := s.marks()
		want = append(want, marks...)
		for i := 1; i < len(marks); i++ {
			if place[marks[i]] < place[marks[i-1]] {
				t.Errorf("%s comes before the message before it", marks[i])
			}
		}
	}
	sorted := ids(got)
	slices.Sort(sorted)
	slices.Sort(want)
	checkEqual(t, "messages in full", want, sorted)
	for i := 1; i < len(full) && c.recipe.Name != prompt.Unified; i++ { // which has an order of its own
		before, after := full[i-1].marks(), full[i].marks()
		overlap := i < c.fullThread && full[i-1].last.After(full[i].first)
		if overlap || len(before) == 0 || len(after) == 0 {
			continue
		}
		if last := before[len(before)-1]; place[last] > place[after[0]] {
			t.Errorf("%s comes before %s", after[0], last)
		}
	}
}

// checkTime compares the clock in front of a message with its own.
func (c historyCase) checkTime(t *testing.T, m shownMessage) {
	if want := c.byMark[m.id].Timestamp.In(c.expected.zone).Format("15:04"); m.clock != want {
		t.Errorf("%s is in the prompt as of %q, not %s", m.id, m.clock, want)
	}
}

// checkTag compares a tag's date and relative day with a time.
func (c historyCase) checkTag(t *testing.T, tag map[string]string, at time.Time, what string) {
	if want := at.In(c.expected.zone).Format(time.DateOnly); tag["date"] != want {
		t.Errorf("%s has the date %q, not %s", what, tag["date"], want)
	}
	if want := c.dayLabels(at); !slices.Contains(want, tag["when"]) {
		t.Errorf("%s is of %q, not %q", what, tag["when"], want)
	}
}

// dayLabels are the words for the day of a time.
func (h *expected) dayLabels(at time.Time) []string {
	days := h.daysAgo(at)
	ago := fmt.Sprintf("%d days ago", days)
	switch {
	case days == 0:
		return []string{"today"}
	case days == 1:
		return []string{"yesterday"}
	case days < 7:
		return []string{at.In(h.zone).Weekday().String(), ago}
	case days > 30:
		return []string{h.ageOf(at)}
	}
	return []string{ago}
}

// checkThread compares the words about the active thread with the rules.
func (c historyCase) checkThread(t *testing.T, text string) {
	continues := strings.Contains(text, "continues an active thread")
	if continues != (len(c.thread) > 0) {
		t.Errorf("the thread continues: %v", continues)
	}
	before, at := "active thread of "+fmt.Sprint(c.conversations)+" conversations that began ", c.began
	switch {
	case !continues && c.lastShown().IsZero():
		return
	case !continues:
		before, at = "the last message with you was ", c.lastShown()
	case c.conversations == 1:
		before = "active thread that began "
	}
	for _, age := range []string{c.age(at), c.elapsed(at)} {
		if strings.Contains(text, before+age) {
			return
		}
	}
	t.Errorf("the prompt lacks %q", before+c.elapsed(at))
}

// age says how long ago a time was, by calendar days.
func (h *expected) age(at time.Time) string {
	switch days := h.daysAgo(at); days {
	case 0:
		return h.elapsed(at)
	case 1:
		return "yesterday"
	default:
		if days > 30 {
			return h.ageOf(at) + " (" + at.In(h.zone).Format("2 January 2006") + ")"
		}
		return fmt.Sprintf("%d days ago", days)
	}
}

// elapsed says how long ago a time was, by the clock.
func (h *expected) elapsed(at time.Time) string {
	unit := func(n int, name string) string {
		if n == 1 {
			return "1 " + name + " ago"
		}
		return fmt.Sprintf("%d %ss ago", n, name)
	}
	switch past := h.now.Sub(at); {
	case past < time.Minute:
		return "just now"
	case past < time.Hour:
		return unit(int(past.Minutes()), "minute")
	case past < 24*time.Hour:
		return unit(int(past.Hours()), "hour")
	}
	return h.age(at)
}

// checkEqual compares two lists, first by what they have.
func checkEqual(t *testing.T, what string, want, got []string) {
	var missing, extra []string
	for _, id := range want {
		if !slices.Contains(got, id) {
			missing = append(missing, id)
		}
	}
	for _, id := range got {
		if !slices.Contains(want, id) {
			extra = append(extra, id)
		}
	}
	switch {
	case len(missing)+len(extra) > 0:
		t.Errorf("%s: missing %q, not expected %q", what, missing, extra)
	case !slices.Equal(want, got):
		t.Errorf("%s: the order is %q, not %q", what, got, want)
	}
}
