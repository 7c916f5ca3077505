package prompt_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestAYear builds the prompts of a simulated user of a year. In every recipe, each text is in the prompt once, under
// its own day and, if another coach heard it, under the coach's name. Of the last seven days nothing is missing without
// a reason, and nothing is left out for the budget while the budget has room.
func TestAYear(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newFixture()
		y, r := drawYear(t, w.user("u"))
		service := w.service(y.now)
		for _, recipe := range recipeNames() {
			for _, budget := range []*prompt.Budget{nil, {Tokens: 200_000}} {
				r.Recipe, r.Budget = recipe, budget
				built := check.Got(service.Build(t.Context(), "u", r))(t)
				c := yearCase{
					year: y, request: r, prompt: built,
					rules: expected{now: y.now, zone: y.zones[len(y.zones)-1]},
				}
				c.checkMarks(t)
				c.checkReasons(t)
				if budget != nil && (recipe == prompt.Unified || recipe == prompt.TieredHistory) {
					c.checkWeek(t)
				}
				if t.Failed() {
					t.Fatalf("%s at %s:\n%s", recipe, y.now.In(c.rules.zone), everything(built))
				}
			}
		}
	})
}

// yearCase is one prompt of a year.
type yearCase struct {
	*year
	request prompt.Request
	prompt  prompt.Prompt
	rules   expected
}

var (
	yearMark = regexp.MustCompile(`mark\d{4}x`)
	// dayWords are the words for days and times that a label may have.
	dayWords = regexp.MustCompile(`today|yesterday|\d+ (?:day|month|year)s? ago` +
		`|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day` +
		`|\d+ (?:January|February|March|April|May|June|July|August|September|October|November|December)(?: \d{4})?` +
		`|\d{4}-\d\d-\d\d|just now|less than a minute ago|\d+ (?:minute|hour)s? ago`)
	// elapsedToday are the words for a time of today. A label may have the time of the newest message of several.
	elapsedToday = regexp.MustCompile(`just now|(?:minute|hour)s? ago`)
	// quotedBy is what is in front of a quoted message.
	quotedBy = regexp.MustCompile(`(?:User|Assistant)( \([^)]*\))?: "$`)
)

// checkMarks checks each line of the prompt that has a mark.
func (c yearCase) checkMarks(t *rapid.T) {
	shown, heading := map[string]bool{}, ""
	for l := range strings.Lines(systemText(c.prompt) + "\n" + c.prompt.Text) {
		if strings.HasPrefix(l, "#") || strings.HasPrefix(l, "<conversation ") {
			heading = l
		}
		for _, place := range yearMark.FindAllStringIndex(l, -1) {
			mark := l[place[0]:place[1]]
			if shown[mark] {
				t.Errorf("%s is in the prompt twice: %s", mark, l)
			}
			shown[mark] = true
			c.checkLabel(t, c.marks[mark], heading, l, l[:place[0]])
		}
	}
	for _, m := range c.prompt.Messages {
		if mark := yearMark.FindString(m.Content); m.Role != "system" && mark != "" {
			if shown[mark] {
				t.Errorf("%s is in the prompt twice", mark)
			}
			shown[mark] = true
			if c.marks[mark].session != c.request.SessionID {
				t.Errorf("%s of %s is one of the session's messages", mark, c.marks[mark].session)
			}
		}
	}
	if c.request.Recipe == prompt.TieredHistory {
		c.checkDaysOnce(t, shown)
	}
}

// checkDaysOnce checks that no day has both its summary and all of its messages in tiered-history. Other recipes have
// messages for other reasons, such as a search.
func (c yearCase) checkDaysOnce(t *rapid.T, shown map[string]bool) {
	for mark, day := range c.marks {
		if day.what != "day" || !shown[mark] {
			continue
		}
		all := true
		for other, m := range c.marks {
			isOfDay := m.what == "message" && m.session == day.session && !m.at.Before(day.from) && !m.at.After(day.at)
			if isOfDay && !shown[other] {
				all = false
			}
		}
		if all {
			t.Errorf("%s sums up a day that is in the prompt in full", mark)
		}
	}
}

func (c yearCase) date(at time.Time) string { return at.In(c.rules.zone).Format(time.DateOnly) }

// checkLabel checks who and when a text is said to be of. before is the line up to its mark.
func (c yearCase) checkLabel(t *rapid.T, of said, heading, line, before string) {
	for id, name := range coachNames {
		isOther := id == of.coach && id != c.request.CoachID
		if names := strings.Contains(heading+" "+line, "with "+name+" "); names != isOther {
			t.Errorf("names %s: %t, but %s heard it: %s", name, names, of.coach, line)
		}
	}
	right := c.wordsFor(of.at)
	// A day of the zone that the user was in may be two of this one. What is in the prompt of it may be its first part.
	if of.what == "day" && c.date(of.from) != c.date(of.at) {
		right = append(right, c.wordsFor(of.from)...)
	}
	isToday := c.rules.daysAgo(of.at) == 0
	words := c.labelOf(heading, before)
	// The format of context-format has no days. The latest summary may have none.
	if len(words) == 0 && c.prompt.Text == "" && of.what != "summary" {
		t.Errorf("%s of %s has no day: %s%s", of.what, c.date(of.at), heading, line)
	}
	for _, word := range words {
		if !slices.Contains(right, word) && (!isToday || !elapsedToday.MatchString(word)) {
			t.Errorf("%s of %s is under %q: %s%s", of.what, c.date(of.at), word, heading, line)
		}
	}
}

// wordsFor are the words that name the day of a time.
func (c yearCase) wordsFor(at time.Time) []string {
	local := at.In(c.rules.zone)
	return append(c.rules.dayLabels(at), local.Format("2 January"), local.Format("2 January 2006"),
		local.Format(time.DateOnly), local.Weekday().String(), c.rules.elapsed(at), c.rules.age(at))
}

// labelOf are the words for a day that are nearest to a text: in front of it in its line, or in the heading.
func (c yearCase) labelOf(heading, before string) []string {
	before = sinceDay.ReplaceAllString(before, "")
	if quoted := quotedBy.FindStringSubmatch(before); quoted != nil {
		if words := dayWords.FindAllString(quoted[1], -1); len(words) > 0 {
			return words
		}
		before, _, _ = strings.Cut(before, "]")
	}
	if words := dayWords.FindAllString(before, -1); len(words) > 0 {
		return words[len(words)-1:]
	}
	return dayWords.FindAllString(sinceDay.ReplaceAllString(heading, ""), -1)
}

// checkWeek checks that each of the last seven days of each session with the coach is in the prompt or in the
// manifest.
func (c yearCase) checkWeek(t *rapid.T) {
	shown := map[string]bool{}
	for _, mark := range yearMark.FindAllString(everything(c.prompt), -1) {
		of := c.marks[mark]
		shown[c.dayOf(of.session, of.at)] = true
		if of.what == "day" { // a day of the zone that the user was in may be two of this one
			shown[c.dayOf(of.session, of.from)] = true
		}
	}
	for _, b := range c.prompt.Manifest.Blocks {
		for _, item := range b.Items {
			at, err := time.Parse(time.RFC3339, item.OccurredAt)
			if err == nil && item.Decision != pack.Included && item.Reason != "" {
				shown[c.dayOf(item.SessionID, at)] = true
			}
		}
	}
	for mark, m := range c.marks {
		days := c.rules.daysAgo(m.at)
		if m.what == "message" && m.coach == c.request.CoachID && days >= 1 && days <= 7 && !shown[c.dayOf(m.session, m.at)] {
			t.Errorf("%s of %s on %s is neither in the prompt nor in the manifest", mark, m.session, c.date(m.at))
		}
	}
}

// dayOf identifies a day of an open chat. Other sessions are one sitting, which may pass midnight.
func (c yearCase) dayOf(session string, at time.Time) string {
	if strings.HasSuffix(session, "-chat") || strings.HasSuffix(session, "-screen") {
		return session + " " + c.date(at)
	}
	return session
}

// labelTokens are about what the label takes of a text that is left out, which the manifest does not count.
const labelTokens = 40

// checkReasons checks that what is left out has a reason, and that the budget is none while there is room.
func (c yearCase) checkReasons(t *rapid.T) {
	full := fmt.Sprintf("the budget of %d tokens was reached", c.prompt.Tokens.Budget)
	for _, b := range c.prompt.Manifest.Blocks {
		for _, item := range b.Items {
			if item.Decision != pack.Included && item.Reason == "" {
				t.Errorf("%s: %s is %s without a reason", b.Name, item.ID, item.Decision)
			}
			room := c.prompt.Tokens.Budget - c.prompt.Tokens.Total
			if item.Decision == pack.Dropped && item.Reason == full && item.Tokens+labelTokens <= room {
				t.Errorf("%s: %s of %d tokens is left out for the budget, which has room for %d",
					b.Name, item.ID, item.Tokens, room)
			}
		}
	}
}
