package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
)

// newSpines returns a handler with one spine, drawn from workout logs, and with preferences.
func newSpines(t *testing.T, change func(*longterm.Preferences)) http.Handler {
	t.Helper()
	b, _ := base()
	preferences := longterm.DefaultPreferences()
	change(&preferences)
	return httpapi.Messages(httpapi.MessagesDeps{
		Base: b, Spines: spines{preferences: preferences}, Cursors: cursorKey(t, "1"),
	})
}

func TestSpinesFollowThePreferences(t *testing.T) {
	t.Parallel()
	all := conversation.Contexts()
	for name, tc := range map[string]struct {
		change   func(*longterm.Preferences)
		withheld []string
		text     string
	}{
		"as set at first":  {func(*longterm.Preferences) {}, []string{}, "so far"},
		"memory off":       {func(p *longterm.Preferences) { p.Memory = false }, all, ""},
		"no cross-context": {func(p *longterm.Preferences) { p.CrossContext = false }, all, ""},
		"its context apart": {
			func(p *longterm.Preferences) { p.Unshared = map[string]bool{"workout_log": true} },
			without(all, "workout_log"), "so far",
		},
		"another one apart": {
			func(p *longterm.Preferences) { p.Unshared = map[string]bool{"coach_conversation": true} },
			[]string{"coach_conversation"},
			"so far",
		},
	} {
		var got struct {
			Items []struct {
				CoachID, Text, CoveredTo   string
				Wins, Patterns, WithheldIn []string
			}
		}
		expect(t, newSpines(t, tc.change), 200, call{
			method: "GET", path: "/v1/spines", user: "ann", scopes: "throughline/user",
		}).decode(t, &got)
		if len(got.Items) != 1 || got.Items[0].CoachID != "c1" || got.Items[0].Patterns == nil ||
			got.Items[0].CoveredTo != "2026-02-05T12:00:00.000Z" {
			t.Fatalf("%s: got %+v", name, got)
		}
		check.Same(t, tc.withheld, got.Items[0].WithheldIn, "%s: withheld in", name)
		if one := got.Items[0]; one.Text != tc.text || (len(one.Wins) > 0) != (tc.text != "") {
			t.Errorf("%s: text %q, wins %q, want the text %q", name, one.Text, one.Wins, tc.text)
		}
	}
}

// without returns a list without one of its items.
func without(list []string, item string) []string {
	var out []string
	for _, other := range list {
		if other != item {
			out = append(out, other)
		}
	}
	return out
}

func TestSpinesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b, _ := base()
	h := httpapi.Messages(httpapi.MessagesDeps{
		Base: b, Spines: spines{fail: fault.New(fault.Unavailable, "busy")}, Cursors: cursorKey(t, "1"),
	})
	expectProblem(t, h, 503, "unavailable", "", as("ann", "GET", "/v1/spines"))
}

func TestUsage(t *testing.T) {
	t.Parallel()
	b, _ := base()
	for name, tc := range map[string]struct {
		spent httpapi.QuotaReader
		want  object
	}{
		"half": {usage{}, object{"used": number("500"), "limit": number("1000"), "resetsAt": "2026-02-06T00:00:00.000Z"}},
		"without a limit": {
			noQuota{}, object{"used": nil, "limit": nil, "resetsAt": "2026-02-06T00:00:00.000Z"},
		},
	} {
		h := httpapi.Messages(httpapi.MessagesDeps{Base: b, Usage: tc.spent, Cursors: cursorKey(t, "1")})
		got := answer(t, h, 200, as("ann", "GET", "/v1/usage"))
		check.Same(t, tc.want, got, "%s", name)
	}
}
