package prompt_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestSafetyGivesWayLast has a long conversation and a pinned memory in a small budget; and one so small that the
// memory is cut, which the manifest warns of.
func TestSafetyGivesWayLast(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	var lines []line
	for i := range 10 {
		lines = append(lines, says(0, strings.Repeat("squats ", 100)), answers(0, strings.Repeat("lunges ", 100)))
		lines[2*i].text += string(rune('a' + i))
	}
	p.converse("s", "coach_conversation", "c", now.Add(-30*minute), lines...)
	fact := "Allergic to peanuts, " + strings.Repeat("severely ", 60)
	p.snapshot.Memories = []longterm.Memory{{
		ID: "m", Type: longterm.ProfileMemory, Content: fact, Pinned: true, Source: longterm.Seeded,
		Tokens: tokens.Count(fact),
	}}
	r := prompt.Request{Context: "coach_conversation", SessionID: "s", CoachID: "c", Message: "Snacks?"}
	for budget, isWhole := range map[int]bool{prompt.MinBudget: false, 400: true, 900: true} {
		r.Budget = &prompt.Budget{Tokens: budget}
		got := build(t, w.service(now), "u", r)
		warned := slices.ContainsFunc(got.Manifest.Warnings, func(s string) bool { return strings.Contains(s, "safety") })
		text := systemText(got)
		hasAll, hasPart := strings.Contains(text, strings.TrimSpace(fact)), strings.Contains(text, "peanuts, severely")
		if hasAll != isWhole || warned == isWhole || !hasPart {
			t.Errorf("budget %d: warned %v\n%s", budget, warned, text)
		}
	}
}

// TestLongSafety has a fact of 3,000 characters and three short ones in budgets that do not hold the long one: each
// recipe tells its beginning, and the others whole.
func TestLongSafety(t *testing.T) {
	t.Parallel()
	for _, recipe := range prompt.Recipes {
		w := newFixture()
		p := w.user("u")
		p.converse("s", "coach_conversation", "c", now.Add(-30*minute), says(0, "Hello."))
		for i, fact := range []string{"Latex.", "Nuts.", "Penicillin.", "Bees, " + strings.Repeat("very badly ", 280)} {
			p.snapshot.Memories = append(p.snapshot.Memories, longterm.Memory{
				ID: fmt.Sprint(i), Type: longterm.ProfileMemory, Content: fact, Pinned: true, Source: longterm.Seeded,
				Tokens: tokens.Count(fact), CreatedAt: now.Add(time.Duration(i) * time.Minute),
			})
		}
		got := everything(build(t, w.service(now), "u", prompt.Request{
			Recipe: recipe.Name, Context: "coach_conversation", SessionID: "s", CoachID: "c", Message: "Honey?",
			Budget: &prompt.Budget{Tokens: 500},
		}))
		for _, want := range []string{"Latex.", "Nuts.", "Penicillin.", "Bees, very badly"} {
			check.Contains(t, got, want, "%s", recipe.Name)
		}
	}
}

// TestSafetyIsInEveryRecipe asks something that names no danger in each recipe: a pinned memory stands there all the
// same, before all else that may be left out, once.
func TestSafetyIsInEveryRecipe(t *testing.T) {
	t.Parallel()
	for _, recipe := range prompt.Recipes {
		w := newFixture()
		p := w.user("u")
		p.converse("s", "coach_conversation", "c", now.Add(-30*minute),
			says(0, "Hello."), answers(0, strings.Repeat("Hi. ", 900)))
		for i, fact := range []string{"Severe latex allergy.", "Likes jazz."} {
			p.snapshot.Memories = append(p.snapshot.Memories, longterm.Memory{
				ID: fact, Type: longterm.ProfileMemory, Content: fact, Pinned: i == 0, Source: longterm.Extracted,
				Tokens: tokens.Count(fact),
			})
		}
		for _, budget := range []int{400, 4000} {
			r := prompt.Request{
				Recipe: recipe.Name, Context: "coach_conversation", SessionID: "s", CoachID: "c",
				Message: "Plan a birthday party with balloons.", Budget: &prompt.Budget{Tokens: budget},
			}
			got := everything(build(t, w.service(now), "u", r))
			if strings.Count(got, "Severe latex allergy.") != 1 {
				t.Errorf("%s of %d tokens does not say it once:\n%s", recipe.Name, budget, got)
			}
		}
	}
}

// TestSafetySaysWhatIsPlanned has a medicine that is taken and one that is planned: no recipe tells the two alike.
func TestSafetySaysWhatIsPlanned(t *testing.T) {
	t.Parallel()
	for _, recipe := range prompt.Recipes {
		w := newFixture()
		p := w.user("u")
		p.converse("s", "coach_conversation", "c", now.Add(-30*minute), says(0, "Hello."))
		from := check.Got(longterm.ParseMoment("2026-02-09"))(t)
		for _, m := range []longterm.Memory{
			{Content: "Takes warfarin 5 mg."}, {Content: "Takes apixaban 5 mg.", Status: longterm.Planned, From: from},
		} {
			m.ID, m.Type, m.Pinned, m.Source = m.Content, longterm.ProfileMemory, true, longterm.Seeded
			p.snapshot.Memories = append(p.snapshot.Memories, m)
		}
		r := prompt.Request{
			Recipe: recipe.Name, Context: "coach_conversation", SessionID: "s", CoachID: "c", Message: "Which pills?",
		}
		got := everything(build(t, w.service(now), "u", r))
		if !strings.Contains(got, "Takes apixaban 5 mg. (planned, from 9 February 2026") ||
			strings.Contains(got, "warfarin 5 mg. (planned") {
			t.Errorf("%s:\n%s", recipe.Name, got)
		}
	}
}

// TestSafetyBeforeAPlanElsewhere has a dose that another is to replace on the 9th, as said in UTC, where that day has
// begun, and a user for whom it is still the 8th: SAFETY tells both, in every recipe.
func TestSafetyBeforeAPlanElsewhere(t *testing.T) {
	t.Parallel()
	day := func(text string) longterm.Moment { return check.Got(longterm.ParseMoment(text))(t) }
	at := day("2026-02-09").Start(time.UTC)
	for _, recipe := range prompt.Recipes {
		for zone, want := range map[string]bool{"America/Los_Angeles": true, "UTC": false, "Pacific/Auckland": false} {
			w := newFixture()
			p := w.user("u")
			p.converse("s", "coach_conversation", "c", at.Add(-30*minute), says(0, "Hello."))
			for _, m := range []longterm.Memory{
				{
					ID: "a", Content: "Takes warfarin 5 mg.", Until: day("2026-02-08"), ValidUntil: at, SupersededBy: "b",
					EndedReason: longterm.EndedReplaced,
				},
				{ID: "b", Content: "Takes warfarin 3 mg.", Status: longterm.Planned, From: day("2026-02-09")},
			} {
				m.Type, m.Pinned = longterm.ProfileMemory, true
				p.snapshot.Memories = append(p.snapshot.Memories, m)
			}
			r := prompt.Request{
				Recipe: recipe.Name, Context: "coach_conversation", SessionID: "s", CoachID: "c", Message: "Pills?",
				Timezone: zone,
			}
			got := everything(build(t, w.service(at.Add(time.Hour)), "u", r))
			if strings.Contains(got, "Takes warfarin 5 mg.") != want || !strings.Contains(got, "Takes warfarin 3 mg.") {
				t.Errorf("%s, %s:\n%s", recipe.Name, zone, got)
			}
		}
	}
}

// TestSafetyUntilAPlan has a dose, four other facts and a plan that is to replace the dose, or follows it as the next
// step of a taper, in budgets for some of them: no recipe tells the plan without the dose.
func TestSafetyUntilAPlan(t *testing.T) {
	t.Parallel()
	from := check.Got(longterm.ParseMoment("2026-02-09"))(t)
	for _, recipe := range prompt.Recipes {
		told := 0
		for budget := prompt.MinBudget; budget <= 600; budget += 10 {
			w := newFixture()
			p := w.user("u")
			p.converse("s", "coach_conversation", "c", now.Add(-30*minute), says(0, "Hello."))
			for i := range 6 {
				m := longterm.Memory{
					ID: fmt.Sprint(i), Type: longterm.ProfileMemory, Pinned: true, CreatedAt: now.Add(minute * time.Duration(i-60)),
					Content: fmt.Sprintf("Child %d is allergic to %s.", i, strings.Repeat("peanuts and ", 8)),
				}
				switch i {
				case 0:
					m.Content, m.Until = "Takes warfarin 5 mg.", from.Before()
					if isLinked := (budget-prompt.MinBudget)%20 == 0; isLinked {
						m.ValidUntil, m.EndedReason, m.SupersededBy = from.Start(time.UTC), longterm.EndedReplaced, "5"
					}
				case 5:
					m.Content, m.Status, m.From = "Takes warfarin 3 mg.", longterm.Planned, from
				}
				m.Tokens = tokens.Count(m.Content)
				p.snapshot.Memories = append(p.snapshot.Memories, m)
			}
			r := prompt.Request{
				Recipe: recipe.Name, Context: "coach_conversation", SessionID: "s", CoachID: "c", Message: "Pills?",
				Budget: &prompt.Budget{Tokens: budget},
			}
			got := everything(build(t, w.service(now), "u", r))
			plan, dose := strings.Contains(got, "warfarin 3 mg."), strings.Contains(got, "warfarin 5 mg.")
			if plan {
				told++
			}
			if plan && !dose {
				t.Errorf("%s in %d tokens:\n%s", recipe.Name, budget, got)
			}
		}
		if told == 0 {
			t.Errorf("%s never tells the plan", recipe.Name)
		}
	}
}

// TestSafetyAfterAnExchange has a dose that was to be taken until a day instead of another one. After that day nobody
// has said what holds: SAFETY tells both, in every recipe, and nothing of a medicine that only ended.
func TestSafetyAfterAnExchange(t *testing.T) {
	t.Parallel()
	day := func(text string) longterm.Moment { return check.Got(longterm.ParseMoment(text))(t) }
	was := longterm.Memory{
		Content: "Takes warfarin 5 mg.", ValidUntil: now.AddDate(0, 0, -9), SupersededBy: "low",
		EndedReason: longterm.EndedReplaced,
	}
	is := longterm.Memory{ID: "low", Content: "Takes warfarin 3 mg.", Until: day("2026-01-20")}
	forgotten, held := is, is
	forgotten.ValidUntil, forgotten.EndedReason = now, longterm.EndedForgotten
	held.Until = day("2026-02-20")
	first, wasFirst := was, was
	first.ID, first.Content, first.Until = "first", "Takes warfarin 4 mg.", day("2026-01-15")
	wasFirst.SupersededBy = first.ID
	planned, low := is, was
	planned.From, low.Until = day("2026-01-12"), day("2026-01-11")
	for _, recipe := range prompt.Recipes {
		for name, one := range map[string]struct {
			memories []longterm.Memory
			want     int
		}{
			"over":     {[]longterm.Memory{was, is}, 1},
			"no other": {[]longterm.Memory{is}, 0}, "forgotten": {[]longterm.Memory{was, forgotten}, 0},
			"not over": {[]longterm.Memory{was, held}, 0}, "prolonged": {[]longterm.Memory{wasFirst, first, is}, 1},
			"passing": {[]longterm.Memory{first, is}, 0}, "planned": {[]longterm.Memory{low, planned}, 1},
		} {
			w := newFixture()
			p := w.user("u")
			p.converse("s", "coach_conversation", "c", now.Add(-30*minute), says(0, "Hello."))
			for _, m := range one.memories {
				m.ID, m.Type, m.Pinned = cmp.Or(m.ID, "m"), longterm.ProfileMemory, true
				p.snapshot.Memories = append(p.snapshot.Memories, m)
			}
			r := prompt.Request{
				Recipe: recipe.Name, Context: "coach_conversation", SessionID: "s", CoachID: "c", Message: "Pills?",
			}
			got := everything(build(t, w.service(now), "u", r))
			const line = "Takes warfarin 3 mg. (before that: Takes warfarin 5 mg.) (until 20 January 2026, over"
			if strings.Count(got, line) != one.want || strings.Count(got, "warfarin 5") != one.want ||
				strings.Contains(got, "warfarin 4") {
				t.Errorf("%s, %s:\n%s", recipe.Name, name, got)
			}
		}
	}
}

// TestSafetyNamesPersons has the same allergy of the user and of two children, and two allergies of two persons of one
// name: each stands under SAFETY with whose it is.
func TestSafetyNamesPersons(t *testing.T) {
	t.Parallel()
	for _, pinned := range []bool{true, false} {
		w := newFixture()
		p := w.user("u")
		p.converse("s", "coach_conversation", "c", now.Add(-30*minute), says(0, "Hello."))
		for i, m := range []longterm.Memory{
			{Content: "Es alérgica a los cacahuetes."},
			{Content: "Es alérgica a los cacahuetes.", About: "Ana, hija de la usuaria"},
			{Content: "Es alérgica a los cacahuetes.", About: "Eva, hija de la usuaria"},
			{Content: "Mia is allergic to penicillin.", About: "Mia, the user's daughter"},
			{Content: "Mia is allergic to walnuts.", About: "Mia, the user's cousin"},
			{Content: "Karl is allergic to eggs.", About: "Karl, the user's son"},
			{Content: "Karl is allergic to eggs.", About: ""},
		} {
			m.ID, m.Type, m.Pinned, m.Source = fmt.Sprint("m", i), longterm.ProfileMemory, pinned, longterm.Seeded
			m.Tokens, m.CreatedAt = tokens.Count(m.Content), now.Add(time.Duration(i-10)*time.Hour)
			p.snapshot.Memories = append(p.snapshot.Memories, m)
		}
		r := prompt.Request{Context: "coach_conversation", SessionID: "s", CoachID: "c", Message: "Snacks?"}
		got := systemText(build(t, w.service(now), "u", r))
		for _, want := range []string{
			"- Es alérgica", "Ana, hija de la usuaria: Es alérgica", "Eva, hija de la usuaria: Es alérgica",
			"Mia, the user's daughter: Mia is allergic to penicillin", "Mia, the user's cousin: Mia is allergic to walnuts",
			"- Karl is allergic to eggs",
		} {
			if strings.Count(got, want) != 1 {
				t.Errorf("pinned %v: %q stands %d times in\n%s", pinned, want, strings.Count(got, want), got)
			}
		}
	}
}
