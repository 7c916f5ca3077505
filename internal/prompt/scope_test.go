package prompt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
)

// divided is a user with a secret in every place that a preference governs.
func divided(w *fixture) (prompt.Request, *person) {
	p := w.user("u")
	there := summarize(p.converse("there", "program_designer", "c", now.Add(-time.Hour), says(0, "secret-message"),
		answers(minute, "ok")), "secret-summary")
	past := summarize(p.converse("past", "program_designer", "c", now.Add(-30*time.Hour), says(0, "secret-old")),
		"secret-past")
	same := summarize(p.converse("same", "coach_conversation", "c", now.Add(-31*time.Hour), says(0, "same-context")),
		"same-summary")
	p.converse("here", "coach_conversation", "c", now.Add(-2*minute), says(0, "own words"))
	extracted := longterm.Memory{
		ID: "x", Content: "secret-extracted", Type: longterm.ProfileMemory,
		Source: longterm.Extracted,
	}
	p.snapshot.Memories = []longterm.Memory{
		extracted,
		{ID: "s", Content: "seeded fact", Type: longterm.ProfileMemory, Source: longterm.Seeded},
	}
	p.snapshot.Spines = map[string]longterm.Spine{"c": {Text: "secret-spine"}}
	hit := extracted
	hit.ID, hit.Content = "h", "secret-extracted-hit"
	p.hits = []recall.Hit{
		summaryHit(there, 0.9), summaryHit(past, 0.8), summaryHit(same, 0.7),
		{ID: "a", Message: &p.messages[0], Score: 0.9},
		{ID: "b", Memory: &hit, Score: 0.8},
	}
	return prompt.Request{Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next as we said"}, p
}

// Preferences hold in every recipe, for whatever any source brings.
func TestPreferences(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		set   func(*longterm.Preferences)
		never []string
		still []string
	}{
		"crossContext off": {
			func(p *longterm.Preferences) { p.CrossContext = false },
			[]string{"secret-", "same-"},
			[]string{"own words", "seeded fact"},
		},
		"designer not shared": {
			func(p *longterm.Preferences) { p.Unshared = map[string]bool{"program_designer": true} },
			[]string{"secret-message", "secret-summary", "secret-old", "secret-past", "secret-spine"},
			[]string{"same-summary", "seeded fact"},
		},
		"coach not shared": {
			func(p *longterm.Preferences) { p.Unshared = map[string]bool{"coach_conversation": true} },
			[]string{"secret-message", "secret-summary", "secret-old", "secret-past", "secret-spine"},
			[]string{"same-summary", "seeded fact"},
		},
		"memory off": {
			func(p *longterm.Preferences) { p.Memory = false },
			[]string{"secret-extracted"},
			[]string{"secret-message", "seeded fact"},
		},
		"all on": {
			func(*longterm.Preferences) {}, nil, []string{
				"secret-message", "secret-past", "secret-extracted",
				"secret-extracted-hit", "secret-spine",
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newFixture()
			r, p := divided(w)
			tt.set(&p.access.Preferences)
			for _, recipe := range prompt.Recipes {
				r.Recipe = recipe.Name
				text := everything(build(t, w.service(now), "u", r))
				for _, never := range tt.never {
					check.Lacks(t, text, never, "%s", recipe.Name)
				}
				for _, still := range tt.still {
					if recipe.Name == prompt.Unified && !strings.Contains(text, still) {
						t.Errorf("unified lacks %q:\n%s", still, text)
					}
				}
			}
		})
	}
}

// TestWithheldIsCounted counts in the manifest what preferences keep from a context, with the reason and no word of it.
func TestWithheldIsCounted(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r, p := divided(w)
	withheld := func() []prompt.Item {
		var items []prompt.Item
		for _, i := range blockOf(t, build(t, w.service(now), "u", r), "relevant_messages").Items {
			if i.Kind == "withheld" {
				items = append(items, i)
			}
		}
		return items
	}
	if items := withheld(); len(items) > 0 {
		t.Errorf("a user who shares all has %+v", items)
	}
	p.access.Preferences.Unshared = map[string]bool{"program_designer": true}
	p.snapshot.Memories[0].MessageIDs = []string{"msg_there_1"}
	want := "the user's preferences keep 3 messages, 2 sessions and 1 fact of those that were read from this context"
	if items := withheld(); len(items) != 1 || items[0].Reason != want || items[0].Decision != "dropped" {
		t.Errorf("the manifest has %+v, want %q", items, want)
	}
}

// TestSecretsAreCounted has a found message with a password: another session's manifest says that there is one. It does
// not count one that is forgotten, or that the user keeps from there.
func TestSecretsAreCounted(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	p.converse("there", "program_designer", "c", now.Add(-50*time.Hour), says(0, "The vault's password is Gulls7noon!"),
		says(minute, "The door's password is Terns8noon!"))
	p.converse("apart", "workout_log", "c", now.Add(-49*time.Hour), says(0, "The safe's password is Ducks9noon!"))
	p.messages[1].Forgotten, p.access.Preferences.Unshared = true, map[string]bool{"workout_log": true}
	for i := range p.messages {
		p.hits = append(p.hits, recall.Hit{ID: p.messages[i].ID, Score: 0.9, Message: &p.messages[i]})
	}
	p.converse("here", "program_designer", "c", now.Add(-minute), says(0, "hello"))
	const counted = "of those that were found, 1 message with a secret, such as a password, " +
		"may be told in its own session only"
	for session, want := range map[string]string{"here": counted, "there": ""} {
		r := prompt.Request{Context: "program_designer", SessionID: session, CoachID: "c", Message: "the vault's password?"}
		items := blockOf(t, build(t, w.service(now), "u", r), "relevant_messages").Items
		got := ""
		if i := slices.IndexFunc(items, func(i prompt.Item) bool { return i.ID == "secrets" }); i >= 0 {
			got = items[i].Reason
		}
		check.Equal(t, want, got, "asked in %s", session)
	}
}

// TestRecalls has a context that names those whose messages its prompts find: no recipe brings those of others, found
// or referred to. Facts and notes come as before.
func TestRecalls(t *testing.T) {
	app := *registry.Live()
	app.Contexts = slices.Clone(app.Contexts)
	app.Contexts[0].Recalls, app.Contexts[0].Reads = []string{"workout_log"}, nil
	registry.Use(&app)
	t.Cleanup(func() { registry.Use(nil) })
	w := newFixture()
	p := w.user("u")
	for _, in := range []string{"program_designer", "workout_log"} {
		p.converse(in, in, "c", now.Add(-50*time.Hour), says(0, in+" pole vault"), answers(minute, in+" answer"))
	}
	for i := range p.messages {
		p.hits = append(p.hits, recall.Hit{ID: p.messages[i].ID, Score: 0.9, Message: &p.messages[i]})
	}
	note := longterm.CheckIn{ID: "n", Note: "a note", Timestamp: now}
	p.hits = append(p.hits, recall.Hit{ID: "n", Score: 0.9, CheckIn: &note})
	p.converse("here", "coach_conversation", "c", now.Add(-minute), says(0, "hello"))
	for _, message := range []string{"pole vault?", "as we discussed, the pole vault"} {
		for _, recipe := range []string{prompt.Unified, prompt.ContextFormat, prompt.BlockMap} {
			text := everything(build(t, w.service(now), "u", prompt.Request{
				Recipe: recipe, Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: message,
			}))
			if strings.Contains(text, "program_designer pole") || recipe == prompt.Unified &&
				(!strings.Contains(text, "workout_log pole") || !strings.Contains(text, "a note")) {
				t.Errorf("%s, %q:\n%s", recipe, message, text)
			}
		}
	}
	check.Same(t, []string{"workout_log"}, w.asked.Recalls, "the search was asked for")
	const kept = " messages of those that were read or found are of contexts that this one does not recall"
	for _, tt := range []struct {
		recalls []string
		want    string
	}{
		{nil, ""},
		{[]string{"workout_log"}, "2" + kept},
		{[]string{}, "4" + kept},
	} {
		app.Contexts[0].Recalls = tt.recalls
		reason := ""
		built := build(t, w.service(now), "u", prompt.Request{
			Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "pole vault?", SkipSave: true,
		})
		for _, i := range blockOf(t, built, "relevant_messages").Items {
			if i.Kind == "withheld" && i.ID == "recalls" {
				reason = i.Reason
			}
		}
		text := everything(built)
		found := strings.Contains(text, "workout_log pole")
		if reason != tt.want || found != (tt.recalls == nil || len(tt.recalls) > 0) {
			t.Errorf("recalls %#v: the manifest has %q, found %v\n%s", tt.recalls, reason, found, text)
		}
	}
}

// TestNoWallAndNoLeak builds prompts for 40 users at once, in every context and with each of two coaches. A search that
// filters nothing brings all that the user ever said. What is shared is in the prompt, from every context. What a user
// keeps apart, what another user said, and what another coach heard without being named is in none.
func TestNoWallAndNoLeak(t *testing.T) {
	t.Parallel()
	const users = 40
	contexts := registry.Live().ContextNames()
	w := newFixture()
	for i := range users {
		p := w.user(userID(i))
		if i%2 == 1 {
			p.access.Preferences.Unshared = map[string]bool{contexts[i%len(contexts)]: true}
		}
		p.snapshot.Coaches = map[string]longterm.Coach{"mia": {ID: "mia", Name: "Mia"}, "tom": {ID: "tom", Name: "Tom"}}
		for n, in := range contexts {
			for _, coach := range []string{"mia", "tom"} {
				p.converse(in+coach, in, coach, now.Add(-time.Duration(60+n)*time.Hour),
					says(0, fmt.Sprintf("%s said in %s to %s: javelin.", secret(i), in, coach)))
			}
			p.converse("new-"+in, in, "mia", now.Add(-minute))
		}
		for n := range p.messages {
			p.hits = append(p.hits, recall.Hit{ID: p.messages[n].ID, Score: 0.9, Message: &p.messages[n]})
		}
	}
	s := w.service(now)
	var wait sync.WaitGroup
	for i := range users {
		wait.Go(func() {
			for _, in := range contexts {
				built, err := s.Build(t.Context(), userID(i), prompt.Request{
					Context: in, SessionID: "new-" + in, CoachID: "mia", Message: "javelin?", SkipSave: true,
				})
				if err != nil {
					t.Error(err)
					return
				}
				checkWords(t, systemText(built), i, in, w.user(userID(i)).access.Preferences)
			}
		})
	}
	wait.Wait()
}

// checkWords checks what a prompt that is asked for in a context has of what a user has said.
func checkWords(t *testing.T, text string, user int, in string, preferences longterm.Preferences) {
	t.Helper()
	if strings.Count(text, "secret-") != strings.Count(text, secret(user)) {
		t.Errorf("user %d has another's word:\n%s", user, text)
	}
	for _, from := range registry.Live().ContextNames() {
		for _, coach := range []string{"mia", "tom"} {
			_, before, _ := strings.Cut(text, "# EARLIER MESSAGES THAT MAY MATTER NOW")
			heading, _, told := strings.Cut(before, fmt.Sprintf("%s said in %s to %s", secret(user), from, coach))
			if told != preferences.Shares(from, in) {
				t.Errorf("user %d in %s: what was said in %s to %s is told: %v", user, in, from, coach, told)
			}
			heading = heading[strings.LastIndex(heading, "## ")+1:]
			if told && (coach == "tom") != strings.Contains(heading, "with Tom") {
				t.Errorf("user %d in %s: words of %s stand under %q", user, in, coach, heading)
			}
		}
	}
}

// unaskedStore lists sessions without asking whether they are wanted.
type unaskedStore struct{ *fixture }

func (s unaskedStore) CoachSessions(ctx context.Context, user conversation.UserID, of conversation.CoachSessions,
	page conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	of.Allows = func(context.Context, string) (bool, error) { return true, nil }
	return s.fixture.CoachSessions(ctx, user, of, page)
}

// The selection leaves out what the user does not share, even if the store lists it.
func TestSelectionHoldsPreferences(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r, p := divided(w)
	p.access.Preferences.CrossContext = false
	deps := w.deps(now)
	deps.Store = unaskedStore{w}
	for _, recipe := range prompt.Recipes {
		r.Recipe = recipe.Name
		check.Lacks(t, everything(build(t, prompt.New(deps), "u", r)), "secret-", "%s has a secret", recipe.Name)
	}
}

// What belongs to another coach, is stored as a system message, or is no longer valid reaches no prompt.
func TestWhatNeverEnters(t *testing.T) {
	t.Parallel()
	w := newFixture()
	p := w.user("u")
	summarize(p.converse("tom", "program_designer", "tom", now.Add(-minute), says(0, "secret-tom")), "secret-tom-summary")
	p.converse("here", "coach_conversation", "c", now.Add(-2*minute), line{0, conversation.RoleSystem, "secret-system"},
		says(minute, "own words"))
	p.snapshot.Spines = map[string]longterm.Spine{"tom": {Text: "secret-spine"}}
	p.snapshot.Todos = []longterm.Todo{{ID: "t", CoachID: "tom", Content: "secret-todo", Status: longterm.Pending}}
	p.snapshot.Memories = []longterm.Memory{
		{ID: "1", Content: "secret-lapsed", Type: longterm.ProfileMemory, ValidUntil: now.Add(-minute), Pinned: true},
		{ID: "2", Content: "secret-superseded", Type: longterm.ProfileMemory, SupersededBy: "3"},
	}
	for _, m := range p.snapshot.Memories {
		p.hits = append(p.hits, recall.Hit{ID: m.ID, Memory: &m, Score: 1})
	}
	p.hits = append(p.hits, summaryHit(&p.sessions[0], 1))
	for i := range p.messages {
		if p.messages[i].Role == conversation.RoleSystem {
			p.hits = append(p.hits, recall.Hit{ID: p.messages[i].ID, Message: &p.messages[i], Score: 1})
		}
	}
	for _, recipe := range prompt.Recipes {
		text := everything(build(t, w.service(now), "u", prompt.Request{
			Recipe: recipe.Name, Context: "coach_conversation", SessionID: "here", CoachID: "c", Message: "next",
		}))
		check.Lacks(t, text, "secret-", "%s has a secret", recipe.Name)
	}
}

// TestSecretsStayWithTheirUsers builds prompts for 100 users at once. Every record of a user has a secret word. No
// prompt has another user's word, and no stored manifest has any. Every kind of record is in some prompt.
func TestSecretsStayWithTheirUsers(t *testing.T) {
	t.Parallel()
	const users = 100
	w := newFixture()
	var kinds []string
	requests := make([]prompt.Request, users)
	for i := range users {
		kinds = nil
		requests[i] = everyRecord(w.user(userID(i)), func(kind string) string {
			kinds = append(kinds, kind)
			return secret(i) + " " + kind
		})
	}
	deps := w.deps(now)
	deps.StoreText = false
	s := prompt.New(deps)
	shown := make([]string, users)
	var wait sync.WaitGroup
	for i := range users {
		wait.Go(func() {
			for _, recipe := range prompt.Recipes {
				r := requests[i]
				r.Recipe = recipe.Name
				shown[i] += secretsOf(t, s, i, r)
			}
		})
	}
	wait.Wait()
	for _, kind := range kinds {
		if !strings.Contains(shown[0], secret(0)+" "+kind) {
			t.Errorf("no recipe has the %s", kind)
		}
	}
}

func userID(i int) conversation.UserID { return conversation.UserID(fmt.Sprint("user", i)) }

func secret(i int) string { return fmt.Sprintf("secret-%03d", i) }

// secretsOf builds a prompt and returns it. It checks the prompt for other users' secrets, and what is stored of it for
// any.
func secretsOf(t *testing.T, s *prompt.Service, user int, r prompt.Request) string {
	t.Helper()
	p, err := s.Build(t.Context(), userID(user), r)
	if err != nil {
		t.Error(err)
		return ""
	}
	text := everything(p)
	if own, all := strings.Count(text, secret(user)), strings.Count(text, "secret-"); own == 0 || own != all {
		t.Errorf("user %d, %s: %d own secrets of %d", user, r.Recipe, own, all)
	}
	record, err := s.Get(t.Context(), userID(user), p.ID)
	if err != nil {
		t.Error(err)
		return ""
	}
	if stored, err := json.Marshal(record); err != nil || strings.Contains(string(stored), "secret-") {
		t.Errorf("user %d, %s: stored are %s, %v", user, r.Recipe, stored, err)
	}
	return text
}
