package prompt_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt"
)

// checkRecent compares the messages before the current one with the session's last ten.
func checkRecent(t *testing.T, c historyCase) {
	want := []string{}
	for _, m := range c.window() {
		want = append(want, mark(&m))
	}
	checkEqual(t, "recent messages", want, roleMessages(c.prompt))
}

// window are the session's last ten messages. In unified they begin after a multiple of eight where there are more.
func (c historyCase) window() []conversation.Message {
	window := c.own[max(len(c.own)-10, 0):]
	if len(c.own) <= 10 || c.recipe.Name != prompt.Unified {
		return window
	}
	edge := (window[0].Seq + 6) / 8 * 8
	return slices.DeleteFunc(slices.Clone(window), func(m conversation.Message) bool { return m.Seq <= edge })
}

// checkUnified compares unified with the tiers, less what its other blocks tell.
func checkUnified(t *testing.T, c historyCase) {
	checkRecent(t, c)
	recent := roleMessages(c.prompt)
	inActivity, activity := readShown(section(systemText(c.prompt), "# RECENT ACTIVITY IN OTHER CONTEXTS"))
	elsewhere := slices.Concat(recent, ids(inActivity))
	const threadHeading = "# EARLIER IN THIS THREAD AND TODAY"
	messages, _ := readShown(section(systemText(c.prompt), threadHeading), "## ")
	full := slices.Clone(c.full)
	for i := range full {
		full[i].messages = slices.DeleteFunc(slices.Clone(full[i].messages), func(m conversation.Message) bool {
			return slices.Contains(elsewhere, mark(&m))
		})
	}
	c.checkFull(t, messages, full)
	for _, part := range sections(systemText(c.prompt), threadHeading) {
		shown, _ := readShown(part, "## ")
		checkChronological(t, shown, full, c.request.SessionID)
	}
	for _, m := range messages {
		c.checkTime(t, m)
		c.checkDayWords(t, m.heading, c.byMark[m.id].Timestamp)
	}
	c.checkActivity(t, activity, inActivity)
	_, latest := readShown(section(systemText(c.prompt), "# SESSION SUMMARY"))
	others := slices.Concat(activity, latest)
	if parts := sections(systemText(c.prompt), "# SESSION SUMMARY"); len(parts) > 1 { // the newer one is late
		latest = latest[1:2]
	}
	var earlier []shownSummary
	for _, part := range sections(systemText(c.prompt), "# EARLIER SESSIONS") {
		_, shown := readShown(part)
		earlier = append(earlier, shown...)
	}
	c.checkLatest(t, latest, activity)
	c.checkEarlier(t, earlier, others)
	now := section(systemText(c.prompt), "# NOW")
	c.checkThread(t, now)
	c.checkRecentDays(t, now)
}

// checkChronological compares the order of the messages in one section with that of the sittings.
// The session's own last one is at the end, however long ago it was.
func checkChronological(t *testing.T, got []shownMessage, full []sitting, own string) {
	place := map[string]int{}
	for i, m := range got {
		place[m.id] = i + 1
	}
	marks := make([][]string, len(full))
	for i, s := range full {
		marks[i] = s.marks()
	}
	for i, a := range full {
		for j, b := range full {
			if len(marks[i]) == 0 || len(marks[j]) == 0 || a.last.After(b.first) ||
				(a.session.ID == own) != (b.session.ID == own) {
				continue
			}
			last, first := marks[i][len(marks[i])-1], marks[j][0]
			if place[last] > place[first] && place[first] > 0 {
				t.Errorf("%s comes before %s", first, last)
			}
		}
	}
}

// section is the text under a heading, in front of the session's messages and after them, up to the next heading.
func section(text, heading string) string { return strings.Join(sections(text, heading), "\n") }

func sections(text, heading string) (all []string) {
	for {
		_, rest, found := strings.Cut("\n"+text, "\n"+heading+"\n")
		if !found {
			return all
		}
		under, _, _ := strings.Cut("\n"+rest, "\n# ")
		all, text = append(all, strings.TrimPrefix(under, "\n")), rest
	}
}

// checkActivity compares recent activity with the newest five sessions of the contexts that this one reads, of the last
// 48 hours.
func (c historyCase) checkActivity(t *testing.T, summaries []shownSummary, messages []shownMessage) {
	var candidates []conversation.Session
	for _, s := range c.visible {
		if reads[c.request.Context][s.Context] && c.expected.now.Sub(s.LastMessageAt) <= 48*time.Hour {
			candidates = append(candidates, s)
		}
	}
	slices.SortFunc(candidates, func(a, b conversation.Session) int { return b.LastMessageAt.Compare(a.LastMessageAt) })
	for i, s := range candidates {
		shown := slices.ContainsFunc(summaries, func(shown shownSummary) bool { return shown.id == s.ID })
		quoted := slices.ContainsFunc(messages, func(m shownMessage) bool { return strings.HasPrefix(m.id, s.ID+".") })
		switch {
		case i >= 5 && (shown || quoted):
			t.Errorf("recent activity has %s, the %dth", s.ID, i+1)
		case i < 5 && s.Summary != nil && (!shown || quoted), i < 5 && s.Summary == nil && shown:
			t.Errorf("recent activity has %s: summary %v, messages %v", s.ID, shown, quoted)
		case i < 5 && !shown && !quoted: // its last messages are after the newest ones of all sessions
			c.checkNoSummary(t, s.ID)
		}
	}
	for _, shown := range summaries {
		i := slices.IndexFunc(candidates, func(s conversation.Session) bool { return s.ID == shown.id })
		if i < 0 {
			t.Errorf("recent activity has %s", shown.id)
			continue
		}
		c.checkAge(t, shown, candidates[i].LastMessageAt)
	}
}

// reads are the contexts whose summaries a context reads.
var reads = map[string]map[string]bool{
	"coach_conversation": {"program_designer": true, "training_program": true, "workout_log": true},
	"coach_creator":      {"coach_conversation": true},
	"program_designer":   {"coach_conversation": true},
	"training_program":   {"coach_conversation": true, "program_designer": true},
	"workout_log":        {"training_program": true, "coach_conversation": true},
}

// sinceDay is the day since which a session of several days goes on, as TestSummariesOfSeveralDays checks it.
var sinceDay = regexp.MustCompile(`, since \d+ \w+( \d{4})?| since="[0-9-]+"`)

// checkAge compares the age in front of a summary with a time.
func (c historyCase) checkAge(t *testing.T, shown shownSummary, at time.Time) {
	today := "today, " + at.In(c.expected.zone).Format("15:04")
	text := sinceDay.ReplaceAllString(shown.text, "")
	if !strings.Contains(text, " - "+c.age(at)+"]") && (c.daysAgo(at) != 0 || !strings.Contains(text, today)) {
		t.Errorf("%q is of %q", shown.text, c.age(at))
	}
}

// checkLatest compares the latest session summary: the one of the session itself if a part of it is
// nowhere else in the prompt, or else the newest other session that has one and is not in others. In block-map the
// other session comes first.
func (c historyCase) checkLatest(t *testing.T, latest, others []shownSummary) {
	var own, newest conversation.Session
	for _, s := range c.visible {
		isOther := slices.ContainsFunc(others, func(shown shownSummary) bool { return shown.id == s.ID })
		if s.Summary == nil || isOther {
			continue
		}
		if s.ID == c.request.SessionID {
			if !c.hasAll(s) {
				own = s
			}
			continue
		}
		if c.lastOf(s).After(c.lastOf(newest)) {
			newest = s
		}
	}
	if own.ID != "" && (c.recipe.Name != prompt.BlockMap || newest.ID == "") {
		newest = own
	}
	switch {
	case len(latest) > 1:
		t.Errorf("%d latest summaries", len(latest))
	case len(latest) == 1 && latest[0].id != newest.ID:
		t.Errorf("the latest summary is of %s, not of %s", latest[0].id, newest.ID)
	case len(latest) == 0 && newest.ID != "" && !c.hasAll(newest):
		t.Errorf("the latest summary, of %s, is missing", newest.ID)
	}
}

// lastOf is the time of a session's last message before the current one.
func (c historyCase) lastOf(s conversation.Session) time.Time {
	var last time.Time
	for _, sitting := range c.sittings {
		if sitting.session.ID == s.ID && len(sitting.messages) > 0 && sitting.last.After(last) {
			last = sitting.messages[len(sitting.messages)-1].Timestamp
		}
	}
	return last
}

// hasAll reports whether the prompt has all of a session's messages.
func (c historyCase) hasAll(s conversation.Session) bool {
	for _, sitting := range c.sittings {
		if sitting.session.ID != s.ID {
			continue
		}
		for _, mark := range sitting.marks() {
			if !strings.Contains(c.text, mark) {
				return false
			}
		}
	}
	return true
}

// checkEarlier compares the earlier sessions with tiers 3 and 4, less what other blocks tell.
func (c historyCase) checkEarlier(t *testing.T, got, others []shownSummary) {
	want, shown := []string{}, []string{}
	for _, s := range c.summaries {
		isOther := slices.ContainsFunc(others, func(shown shownSummary) bool { return shown.id == s.session.ID })
		if s.session.Summary != nil && !isOther && !c.hasAll(s.session) {
			want = append(want, s.session.ID)
		}
	}
	for _, s := range got {
		shown = append(shown, s.id)
		if i := slices.IndexFunc(c.summaries, func(want summaryOf) bool { return want.session.ID == s.id }); i >= 0 {
			c.checkAge(t, s, c.summaries[i].newest.last)
		}
	}
	slices.Sort(want) // those that were summarized in this sitting come after the others
	slices.Sort(shown)
	checkEqual(t, "earlier sessions", want, shown)
}

// dayWord finds the words for a day in a heading.
var dayWord = regexp.MustCompile(`today|yesterday|\d+ days ago|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|` +
	`\d+ (?:January|February|March)|\d{4}-\d\d-\d\d|just now|\d+ (?:minute|hour)s? ago`)

// checkDayWords holds that a heading names the day of a time, and no other.
func (c historyCase) checkDayWords(t *testing.T, heading string, at time.Time) {
	t.Helper()
	local := at.In(c.expected.zone)
	right := append(c.dayLabels(at), local.Format("2 January"), local.Format(time.DateOnly), local.Weekday().String())
	if c.daysAgo(at) == 0 {
		right = append(right, c.elapsed(at))
	}
	words := dayWord.FindAllString(sinceDay.ReplaceAllString(heading, ""), -1)
	if len(words) == 0 || slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(right, word) }) {
		t.Errorf("the heading %q is not of %q", heading, right)
	}
}

// checkRecentDays holds that the block now says from when the messages before the current one are, where they are not
// all of today.
func (c historyCase) checkRecentDays(t *testing.T, now string) {
	recent := c.window()
	if len(recent) == 0 || c.daysAgo(recent[0].Timestamp) == 0 {
		return
	}
	for _, m := range []conversation.Message{recent[0], recent[len(recent)-1]} {
		local := m.Timestamp.In(c.expected.zone)
		words := append(c.dayLabels(m.Timestamp), local.Format("2 January"))
		if !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(now, word) }) {
			t.Errorf("now does not say %q:\n%s", words, now)
		}
	}
}

// checkBlockMap compares block-map with the session's last messages and the coach's latest summary.
func checkBlockMap(t *testing.T, c historyCase) {
	checkRecent(t, c)
	var now string
	var latest []shownSummary
	for _, m := range c.prompt.Messages {
		if strings.HasPrefix(m.Content, "Local time: ") {
			now = m.Content
		}
		if m.Role == "system" {
			_, shown := readShown(m.Content)
			latest = append(latest, shown...)
		}
	}
	c.checkLatest(t, latest, nil)
	c.checkThread(t, now)
	c.checkRecentDays(t, now)
}

// checkContextFormat compares the recent conversation with the session's last three exchanges, and the previous context
// with the best hits that the session may see.
func checkContextFormat(t *testing.T, c historyCase) {
	c.checkPrevious(t)
	_, recent, _ := strings.Cut(c.prompt.Text, "RECENT CONVERSATION:\n")
	got, _ := readShown(recent)
	want, exchanges := []string{}, 0
	for _, m := range slices.Backward(c.own) {
		if exchanges == 3 {
			break
		}
		want = append(want, mark(&m))
		if m.Role == conversation.RoleUser {
			exchanges++
		}
	}
	slices.Reverse(want)
	checkEqual(t, "recent conversation", want, ids(got))
}

// checkPrevious compares the previous context with the three best summaries. What the session itself came to before its
// last exchanges takes the place of one.
func (c historyCase) checkPrevious(t *testing.T) {
	_, previous := readShown(c.prompt.Text)
	var want, got []string
	for _, s := range previous {
		if got = append(got, s.id); s.id == c.request.SessionID {
			want = append(want, s.id)
		}
	}
	for _, hit := range c.drawHits() {
		seen := func(s conversation.Session) bool { return s.ID == hit.Summary.SessionID && s.ID != c.request.SessionID }
		if len(want) < 3 && slices.ContainsFunc(c.visible, seen) {
			want = append(want, hit.Summary.SessionID)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	checkEqual(t, "previous context", want, got)
	own := func(s conversation.Session) bool {
		return s.ID == c.request.SessionID && s.Summary != nil && !c.hasAll(s)
	}
	if slices.ContainsFunc(c.visible, own) && !slices.Contains(got, c.request.SessionID) {
		t.Errorf("the session's own earlier part is not in the prompt: %q", got)
	}
}
