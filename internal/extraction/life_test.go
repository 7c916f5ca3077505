package extraction_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// safetySubject is the subject whose statements are about safety.
const safetySubject = "work"

var (
	// lifeBegan is before the first statement, and no time at which a day begins in any zone.
	lifeBegan = dynamotest.Now.Add(24*time.Hour + time.Millisecond)
	subjects  = []string{"home", safetySubject, ofAnother}
)

// ofAnother is the subject whose statements are those of safetySubject, about another person.
const ofAnother = "Mia: " + safetySubject

// TestLives draws what a user says over weeks, each statement in a session of its own, and when a capable model reads
// it: at once, or late in any order where mayBeLate. Then what holds, and what a prompt tells, is what holds for who
// hears everything in order.
func TestLives(t *testing.T) {
	t.Parallel()
	f, lives := newFixture(t, ""), 0
	f.model = lifeModel{}
	rapid.Check(t, func(rt *rapid.T) {
		lives++
		f.user = conversation.UserID(fmt.Sprint("life", lives))
		prefs := longterm.DefaultPreferences()
		prefs.Timezone = rapid.SampledFrom(lifeZones).Draw(rt, "home")
		check.Got(f.stores.Preferences.Put(t.Context(), f.user, prefs))(t)
		life := drawLife(rt, prefs.Location())
		var order, unread []int
		zones := lifeZones
		read := func(isDue func(said) bool) {
			for _, i := range rapid.Permutation(unread).Draw(rt, "read") {
				if isDue(life[i]) {
					if mayBeOver(life, life[i], f.clock()) {
						zones = []string{prefs.Timezone}
					}
					f.extract(t, fmt.Sprint("s", i))
					order, unread = append(order, i), slices.DeleteFunc(unread, func(j int) bool { return i == j })
				}
			}
		}
		for i, s := range life {
			f.advance(s.at.Sub(f.clock()))
			f.create(t, fmt.Sprint("s", i))
			f.append(t, fmt.Sprint("s", i), conversation.NewMessage{Role: conversation.RoleUser, Content: s.String()})
			if unread = append(unread, i); !mayBeLate(life, unread) || rapid.Bool().Draw(rt, "at once") {
				if s.verb != "forget" || len(unread) > maxBeforeWish+1 { // else it is read by itself
					read(func(o said) bool { return o.subject == s.subject && o != s })
				}
				read(func(o said) bool { return o == s })
			}
		}
		f.advance(time.Duration(rapid.IntRange(1, 12).Draw(rt, "hours")) * time.Hour)
		read(func(said) bool { return true })
		now := f.clock().In(prefs.Location())
		want, got := holding(life, now), slices.DeleteFunc(f.told(t, now), isNoLonger)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("read in the order %v (-want +got):\n%s%v\n%+v", order, diff, life, f.memories(t))
		}
		zone := rapid.SampledFrom(zones).Draw(rt, "zone")
		want = holding(life, f.clock().In(check.Got(time.LoadLocation(zone))(t)))
		told := slices.DeleteFunc(f.promptLines(t, "s0", f.clock(), zone), isNoLonger)
		told = slices.DeleteFunc(told, func(line string) bool { return strings.Contains(line, ", over") })
		for i, line := range told {
			told[i], _, _ = strings.Cut(line[len("- "):], " (")
			told[i], _, _ = strings.Cut(told[i], namesDay)
			if line[0] == '!' != isSafe(told[i]) {
				rt.Errorf("%q stands under the wrong heading", line)
			}
		}
		slices.Sort(told)
		if diff := gocmp.Diff(want, told, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("the prompt in "+zone+", read in the order %v (-want +got):\n%s%v", order, diff, life)
		}
	})
}

// mayBeOver reports whether something of a statement's subject may be over in one zone, and not in another, when the
// statement is read: what is over for the extraction is not replaced by what is read late.
func mayBeOver(life []said, s said, now time.Time) bool {
	return slices.ContainsFunc(life, func(o said) bool {
		comes := o.isPlan() && o.from.After(s.at.Add(-day)) && o.from.Before(now.Add(day))
		return o.subject == s.subject && (o.until != "" || comes)
	})
}

// told returns the valid memories as prompts tell them.
func (f *fixture) told(t *testing.T, now time.Time) (out []string) {
	t.Helper()
	for _, m := range f.memories(t) {
		if said, _, _ := strings.Cut(m.Content, namesDay); m.Valid(now) {
			if m.About != "" {
				said = m.About + ": " + said
			}
			out = append(out, said)
		}
	}
	slices.Sort(out)
	return out
}

// isSafe reports whether a subject, or a statement about it, is about safety.
func isSafe(subject string) bool {
	return strings.HasPrefix(strings.TrimPrefix(subject, "Mia: "), safetySubject)
}

// maxBeforeWish is how many unread sessions are read before a wish to forget.
const maxBeforeWish = 3

// mayBeLate reports whether the last of the statements that are not read may be read late, after others of its subject,
// or before them: it drops and forgets nothing, and is no third plan. The first of three plans does not end with the
// second, which nobody sees once the third has replaced it. Nor does it end with a plan for some days, which may be
// over, or before its day with a plan of which only the move is read.
func mayBeLate(life []said, unread []int) bool {
	s, plans := life[unread[len(unread)-1]], 0
	for _, i := range unread {
		if life[i].subject == s.subject && life[i].isPlan() {
			plans++
		}
	}
	hides := func(o said) bool {
		isMove := o.verb == "move" && o.value == s.value && s.verb == "plan"
		return o.subject == s.subject && (isMove || o.isPlan() && o.until != "")
	}
	return s.until == "" && !slices.ContainsFunc(life, hides) &&
		(s.verb == "state" || s.verb == "end" || s.isPlan() && s.verb != "putOff" && plans < 3)
}

// TestLivesWithoutAStatement draws what a user says, each statement in a session of its own, and deletes one of the
// sessions. Then what holds is what holds for who has never heard that statement.
func TestLivesWithoutAStatement(t *testing.T) {
	t.Parallel()
	f, lives := newFixture(t, ""), 0
	f.model = lifeModel{}
	erasing := f.stores.Erasure(dynamotest.NoIndex{}, f.clock)
	rapid.Check(t, func(rt *rapid.T) {
		lives++
		f.user = conversation.UserID(fmt.Sprint("without", lives))
		life := drawLife(rt, time.UTC)
		for i := range life {
			isPlan := func(s said) bool { return s.isPlan() && s.subject == life[i].subject }
			// A wish to forget stays one. A plan that was given up, or replaced by another one, has given back what it had.
			isTakenBack := slices.Contains([]string{"deny", "drop", "forget"}, life[i].verb)
			if isTakenBack || isPlan(life[i]) && slices.ContainsFunc(life[:i], isPlan) {
				life[i].verb = "state"
			}
			if current, plan := heard(life[:i], life[i].subject, life[i].at); current == "" && plan != "" {
				life[i].verb = "end" // see drawLife
			}
			if life[i].value = fmt.Sprint("place", i); life[i].verb == "state" {
				life[i].from = life[i].at
			}
			f.advance(life[i].at.Sub(f.clock()))
			f.create(t, fmt.Sprint("s", i))
			f.append(t, fmt.Sprint("s", i), conversation.NewMessage{Role: conversation.RoleUser, Content: life[i].String()})
			f.extract(t, fmt.Sprint("s", i))
		}
		f.advance(time.Hour)
		gone := rapid.IntRange(0, len(life)-1).Draw(rt, "deleted")
		isSame := func(s said) bool { return s.subject == life[gone].subject }
		isLast := !slices.ContainsFunc(life[gone+1:], isSame)
		if life[gone].verb == "end" && (!isSafe(life[gone].subject) || !isLast) || life[gone].until != "" && !isLast {
			return // what it ended holds again, beside what was said after its end or its last day
		}
		before := f.memories(t)
		check.OK(t, erasing.DeleteSession(t.Context(), f.user, fmt.Sprint("s", gone)))
		want := holding(slices.Delete(slices.Clone(life), gone, gone+1), f.clock())
		got := slices.DeleteFunc(f.told(t, f.clock()), isNoLonger)
		if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("without %d (-want +got):\n%s%v\nbefore %+v\nafter %+v", gone, diff, life, before, f.memories(t))
		}
	})
}

// holding returns what holds of the subjects at a time, sorted.
func holding(life []said, now time.Time) (want []string) {
	for _, subject := range subjects {
		current, plan := heard(life, subject, now)
		for _, value := range []string{current, plan} {
			if content := subject + " " + value; value != "" && !slices.Contains(want, content) {
				want = append(want, content)
			}
		}
	}
	slices.Sort(want)
	return want
}

// said is one statement about a subject. verb is state, plan, move (the plan to another day), putOff (the plan whose
// day has come), end, deny (what holds), drop (the plan) or forget. until is the last day of what is said to hold for
// some days.
type said struct {
	verb, subject, value, until string
	at, from                    time.Time
}

// isPlan reports whether a statement is a plan for a day to come.
func (s said) isPlan() bool { return s.verb == "plan" || s.verb == "move" || s.verb == "putOff" }

func (s said) String() string {
	subject := strings.ReplaceAll(s.subject, " ", "")
	return strings.Join([]string{s.verb, subject, s.value, s.from.Format(time.DateOnly), cmp.Or(s.until, "-")}, " ")
}

var lifeVerbs = []string{"state", "state", "plan", "plan", "move", "putOff", "end", "deny", "drop", "forget"}

// lifeZones are where the day is another one than in UTC for some hours, in both directions.
var lifeZones = []string{"UTC", "Pacific/Kiritimati", "America/Los_Angeles"}

func drawLife(rt *rapid.T, zone *time.Location) []said {
	life := make([]said, rapid.IntRange(1, 8).Draw(rt, "statements"))
	at := lifeBegan.In(zone)
	for i := range life {
		s := said{
			verb:    rapid.SampledFrom(lifeVerbs).Draw(rt, "verb"),
			subject: rapid.SampledFrom(subjects).Draw(rt, "subject"), value: fmt.Sprint("place", i),
		}
		at = at.AddDate(0, 0, rapid.IntRange(1, 5).Draw(rt, "days"))
		s.at, s.from = at, at
		if s.isPlan() {
			s.from = at.AddDate(0, 0, rapid.IntRange(1, 12).Draw(rt, "ahead"))
		}
		current, plan := heard(life[:i], s.subject, at)
		if s.verb == "state" && current == "" && plan != "" {
			s.verb = "drop" // what would hold until the plan begins is told by no model
		}
		switch {
		case s.verb == "end" && current != "":
			s.value = current
		case s.verb == "deny" && current != "" && timesSaid(life[:i], s.subject, current) == 1:
			s.value = current
		case s.verb == "deny":
			s.verb = "end"
		case s.verb == "move" && plan != "":
			s.value = plan
		case s.verb == "putOff" && plan == "" && hasBegun(life[:i], s.subject, current):
			s.value = current
		case s.verb == "move", s.verb == "putOff":
			s.verb = "plan"
		}
		for _, before := range life[:i] { // a plan that has come true, or what was true before
			isSaid := before.isPlan() || before.verb == "state"
			isAlike := isSaid && before.until == "" && isSafe(before.subject) == isSafe(s.subject)
			if s.verb == "state" && isAlike && rapid.Bool().Draw(rt, "as before") {
				s.value = before.value
			}
		}
		isNew := s.value == fmt.Sprint("place", i) && (s.verb == "state" || s.verb == "plan")
		if isNew && rapid.IntRange(0, 3).Draw(rt, "for some days") == 0 {
			s.until = s.from.AddDate(0, 0, rapid.IntRange(0, 9).Draw(rt, "until")).Format(time.DateOnly)
		}
		life[i] = s
	}
	return life
}

// hasBegun reports whether all that was said of a value is that it was planned, and it is the newest of its subject.
func hasBegun(life []said, subject, value string) bool {
	of := slices.DeleteFunc(slices.Clone(life), func(s said) bool { return s.subject != subject })
	return value != "" && of[len(of)-1].isPlan() && of[len(of)-1].value == value &&
		timesSaid(life, subject, value) == 1 && of[len(of)-1].until == ""
}

// timesSaid is how often a value was said to hold, or planned.
func timesSaid(life []said, subject, value string) (n int) {
	for _, s := range life {
		if s.subject == subject && s.value == value && (s.isPlan() || s.verb == "state") {
			n++
		}
	}
	return n
}

// heard returns what holds of a subject at a time, and what is planned then, for who hears the statements in order.
func heard(life []said, subject string, now time.Time) (current, plan string) {
	var from time.Time
	until := map[string]string{}
	var before []string // what held before that
	hold := func(value string) {
		if value != current {
			before, current = append(before, current), value
		}
	}
	begin := func(at time.Time) {
		if plan != "" && from.Format(time.DateOnly) <= at.Format(time.DateOnly) {
			hold(plan)
			plan = ""
		}
		if day := until[current]; day != "" && day < at.Format(time.DateOnly) {
			current = ""
		}
	}
	for _, s := range life {
		if s.subject != subject {
			continue
		}
		if begin(s.at); s.verb == "state" || s.verb == "plan" {
			until[s.value] = s.until
		} else if s.isPlan() && until[s.value] < s.from.Format(time.DateOnly) {
			until[s.value] = ""
		}
		switch s.verb {
		case "state":
			if hold(s.value); plan == s.value {
				plan = ""
			}
		case "plan", "move":
			plan, from = s.value, s.from
		case "putOff":
			before, current = before[:len(before)-1], before[len(before)-1]
			plan, from = s.value, s.from
		case "deny":
			before, current = before[:len(before)-1], before[len(before)-1]
		case "end":
			current = ""
		case "drop":
			plan = ""
		case "forget":
			current, plan = "", ""
		}
	}
	begin(now)
	return current, plan
}
