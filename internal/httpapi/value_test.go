package httpapi_test

import (
	"net/url"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

func TestTimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-02-05T11:00:00Z":           "2026-02-05T11:00:00.000Z",
		"2026-02-05t11:00:00z":           "2026-02-05T11:00:00.000Z",
		"2026-02-05T11:00:00.1Z":         "2026-02-05T11:00:00.100Z",
		"2026-02-05T11:00:00.123456789Z": "2026-02-05T11:00:00.123Z",
		"2026-02-05T11:00:00.9999Z":      "2026-02-05T11:00:00.999Z",
		"2026-02-05T11:00:00+14:00":      "2026-02-04T21:00:00.000Z",
		"2024-02-29T00:00:00-00:00":      "2024-02-29T00:00:00.000Z",
		"0001-01-01T00:00:00.001Z":       "0001-01-01T00:00:00.001Z",
		"2026-02-05T11:00:00,5Z":         "",
		"2026-02-05T11:00Z":              "",
		"2026-02-05T1:00:00Z":            "",
		"2026-02-05T24:00:00Z":           "",
		"2026-02-05T11:00:60Z":           "",
		"2026-02-05T11:00:00":            "",
		"2026-02-05T11:00:00.Z":          "",
		"2026-02-05 11:00:00Z":           "",
		"2026-02-05T11:00:00+24:00":      "",
		"2026-02-05T11:00:00+0200":       "",
		"2026-02-30T11:00:00Z":           "",
		"2025-02-29T00:00:00Z":           "",
		"2026-13-01T00:00:00Z":           "",
		"26-02-05T11:00:00Z":             "",
		"+2026-02-05T11:00:00Z":          "",
		"0000-12-31T23:59:59Z":           "",
		"0001-01-01T00:00:00Z":           "",
		"0001-01-01T00:00:00.0004Z":      "",
		"0001-01-01T00:00:00+01:00":      "",
		"9999-12-31T23:59:59-01:00":      "",
		" 2026-02-05T11:00:00Z":          "",
		"2026-02-05T11:00:00Z\n":         "",
	} {
		h, _, _ := newMessages(t)
		newSession(t, h, "s1")
		message := post(one(object{"timestamp": text}))
		profile := as("ann", "PUT", "/v1/profile", object{"createdAt": text})
		timeline := as("ann", "GET", "/v1/messages?from="+url.QueryEscape(text))
		if want == "" {
			expectProblem(t, h, 422, "invalid", "messages[0].timestamp", message)
			expectProblem(t, h, 422, "invalid", "createdAt", profile)
			expectProblem(t, h, 422, "invalid", "from", timeline)
			continue
		}
		var out struct{ Messages []struct{ Timestamp string } }
		expect(t, h, 201, message).decode(t, &out)
		check.Equal(t, want, out.Messages[0].Timestamp, "message at %q is at", text)
		check.Equal[any](t, want, answer(t, h, 200, profile)["createdAt"], "profile of %q is of", text)
		expect(t, h, 200, timeline)
	}
}

// TestSpansBelowAMillisecond queries spans with times that are more precise than stored times.
func TestSpansBelowAMillisecond(t *testing.T) {
	t.Parallel()
	h, _, _ := newMessages(t)
	newSession(t, h, "s1")
	expect(t, h, 201, post(one(object{"timestamp": "2026-02-05T11:00:00.123Z"})))
	for span, want := range map[string]int{
		"from=11:00:00.123&to=11:00:00.1230001": 1, "from=11:00:00.1230001&to=11:00:00.124": 0,
		"from=11:00:00.1229999&to=11:00:00.123": 0, "from=11:00:00.123&to=11:00:00.123": 0,
		"from=11:00:00.1231&to=11:00:00.1230": -1,
	} {
		query := check.Got(url.ParseQuery(span))(t)
		day := func(name string) string { return "2026-02-05T" + query.Get(name) + "Z" }
		c := as("ann", "GET", "/v1/messages?from="+day("from")+"&to="+day("to"))
		recalled := as("ann", "POST", "/v1/recall", object{"query": "x", "from": day("from"), "to": day("to")})
		recaller, _ := newContext()
		if want < 0 {
			expectProblem(t, h, 422, "invalid", "to", c)
			expectProblem(t, recaller, 422, "invalid", "to", recalled)
			continue
		}
		var page struct{ Items []object }
		expect(t, h, 200, c).decode(t, &page)
		if len(page.Items) != want {
			t.Errorf("%s: %d messages, want %d", span, len(page.Items), want)
		}
		expect(t, recaller, 200, recalled)
	}
}
