package summary_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/testing/check"
)

// dayAnswer is what the fake model says of the last day: what it was so far, and what the user said.
func dayAnswer(prompt string) string {
	var parts []string
	before, messages, _ := strings.Cut(prompt, "NEW MESSAGES:\n")
	if _, day, ok := strings.Cut(before, "THE LAST DAY SO FAR:\n"); ok {
		parts = append(parts, strings.TrimSpace(day))
	}
	for line := range strings.Lines(messages) {
		if _, text, ok := strings.Cut(line, "] user: "); ok {
			parts = append(parts, strings.TrimSpace(text))
		}
	}
	return strings.Join(parts, " ")
}

// daysOf are a session's days, "2026-11-20 07:30-07:45 text", in a zone.
func daysOf(s conversation.Session, zone *time.Location) []string {
	var out []string
	if s.Summary == nil {
		return nil
	}
	for _, d := range s.Summary.Days {
		out = append(out, fmt.Sprintf("%s-%s %s", d.From.In(zone).Format("2006-01-02 15:04"),
			d.To.In(zone).Format("15:04"), d.Text))
	}
	return out
}

// until sleeps until a time of the test's clock, which is fake.
func until(at time.Time) { time.Sleep(time.Until(at)) }

// TestDaysOfAnOpenSession keeps a session open for 28 days, with two sittings each. It has a summary for each of its
// last days, in the user's zone, of the very words of that day. Each sitting costs one call.
func TestDaysOfAnOpenSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.timezone = "Asia/Tokyo"
		tokyo := check.Got(time.LoadLocation(f.timezone))(t)
		s := f.service()
		const days = 28
		for i := range days {
			for j, hour := range []int{7, 20} {
				until(time.Date(2026, 11, 1+i, hour, 30, 0, 0, tokyo))
				f.say("chat", fmt.Sprintf("d%d.%d", i, j))
				time.Sleep(20 * time.Minute)
				f.sweep(t, s)
			}
		}
		var want []string
		for i := days - 9; i < days; i++ {
			day := time.Date(2026, 11, 1+i, 0, 0, 0, 0, tokyo).Format(time.DateOnly)
			want = append(want, fmt.Sprintf("%s 07:30-20:30 d%d.0 d%d.1", day, i, i))
		}
		if diff := cmp.Diff(want, daysOf(f.session("chat"), tokyo)); diff != "" || f.calls != 2*days {
			t.Errorf("%d calls, days (-want +got):\n%s", f.calls, diff)
		}
	})
}

// TestDaysOfABacklog summarises messages of 20 days at once, as of an import. The days that are kept take a call each,
// all the days before them one.
func TestDaysOfABacklog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		start := time.Date(2026, 11, 1, 22, 0, 0, 0, time.UTC)
		for i := range 20 {
			until(start.AddDate(0, 0, i))
			f.say("chat", fmt.Sprintf("d%d", i), fmt.Sprintf("e%d", i))
		}
		time.Sleep(20 * time.Minute)
		s := f.service()
		for range 4 {
			f.sweep(t, s)
			time.Sleep(time.Minute)
		}
		var want []string
		for i := 11; i < 20; i++ {
			want = append(want, fmt.Sprintf("%s 22:00-22:00 d%d e%d", start.AddDate(0, 0, i).Format(time.DateOnly), i, i))
		}
		if diff := cmp.Diff(want, daysOf(f.session("chat"), time.UTC)); diff != "" || f.calls != 10 {
			t.Errorf("%d calls, days (-want +got):\n%s", f.calls, diff)
		}
		if !strings.Contains(f.prompts[0], "d10") || strings.Contains(f.prompts[0], "d11") {
			t.Errorf("the model reads first\n%s", f.prompts[0])
		}
	})
}

// TestDaysWithoutTheModel has a model that fails for two days. The fallback covers both and quotes each under its own
// day. When the model answers again, its summary replaces the fallback.
func TestDaysWithoutTheModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.failModel = errors.New("down")
		until(time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC))
		f.say("chat", "I ran 5 km in Porto.")
		until(time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC))
		f.say("chat", "I rowed 2000 m in Braga.")
		time.Sleep(20 * time.Minute)
		s := f.service()
		f.sweep(t, s)
		want := []string{
			"2026-11-01 08:00-08:00 The user said: “I ran 5 km in Porto.”",
			"2026-11-02 09:00-09:00 The user said: “I rowed 2000 m in Braga.”",
		}
		check.Same(t, want, daysOf(f.session("chat"), time.UTC), "days without the model")
		f.failModel = nil
		time.Sleep(2 * time.Hour)
		f.sweep(t, s)
		now := f.session("chat")
		want[1] = "2026-11-02 09:00-09:00 I ran 5 km in Porto. I rowed 2000 m in Braga."
		if diff := cmp.Diff(want, daysOf(now, time.UTC)); diff != "" || now.Summary.Kind != conversation.ByModel {
			t.Errorf("%s, days (-want +got):\n%s", now.Summary.Kind, diff)
		}
	})
}

// TestDaysOfATalkOverMidnight summarises a talk over midnight, the first time in vain, as when the worker is killed
// before it stores the summary. Both days are there once.
func TestDaysOfATalkOverMidnight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		until(time.Date(2026, 11, 1, 23, 50, 0, 0, time.UTC))
		f.say("chat", "before")
		until(time.Date(2026, 11, 2, 0, 5, 0, 0, time.UTC))
		f.say("chat", "after")
		f.complete("chat")
		f.fallDue("ann", "chat", time.Now())
		f.failSave = func(summary.Summary) error { f.failSave = nil; return errors.New("killed") }
		s := f.service()
		for range 4 {
			f.sweep(t, s)
			f.fallDue("ann", "chat", time.Now())
		}
		want := []string{
			"2026-11-01 23:50-23:50 model: NEW MESSAGES: [2026-11-01 23:50 Sunday] user: before", "2026-11-02 00:05-00:05 after",
		}
		if diff := cmp.Diff(want, daysOf(f.session("chat"), time.UTC)); diff != "" || f.calls != 3 {
			t.Errorf("%d calls, days (-want +got):\n%s", f.calls, diff)
		}
	})
}

// TestAnOnlyDayIsItsSummary checks that the model is asked for a day's text only once the session has several days, of
// which one may be kept. Until then the summary is that of the day.
func TestAnOnlyDayIsItsSummary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		s := f.service()
		model := &requestLog{Completer: s.Model}
		s.Model = model
		summarize := func(at time.Time, text string) (asked bool) {
			t.Helper()
			until(at)
			f.say("chat", text)
			time.Sleep(20 * time.Minute)
			f.sweep(t, s)
			return strings.Contains(string(model.last.Schema.JSON), `"day"`)
		}
		first := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC)
		for i, hour := range []time.Duration{0, 3} {
			if summarize(first.Add(hour*time.Hour), fmt.Sprint("one", i)) {
				t.Errorf("sitting %d of the only day asks for the day", i)
			}
			now := f.session("chat").Summary
			if len(now.Days) != 1 || now.Days[0].Text != now.Text || strings.Contains(f.prompts[i], "THE LAST DAY SO FAR") {
				t.Errorf("the day is %+v, the summary %q, of\n%s", now.Days, now.Text, f.prompts[i])
			}
		}
		only := f.session("chat").Summary.Text
		for i, hour := range []time.Duration{24, 27} {
			if !summarize(first.Add(hour*time.Hour), fmt.Sprint("two", i)) {
				t.Errorf("sitting %d of the second day does not ask for the day", i)
			}
		}
		want := []string{"2026-11-01 08:00-11:00 " + only, "2026-11-02 08:00-11:00 two0 two1"}
		check.Same(t, want, daysOf(f.session("chat"), time.UTC), "days")
		for i, hour := range []time.Duration{480, 483} {
			if !summarize(first.Add(hour*time.Hour), fmt.Sprint("late", i)) {
				t.Errorf("sitting %d of the only day that is kept does not ask for the day", i)
			}
		}
	})
}
