package prompt_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

var errBroken = errors.New("connection refused")

// Every combination of sources that fail or are late gives a prompt that says what is missing, in the manifest and to
// the metrics.
func TestEveryCombinationDegradesInSight(t *testing.T) {
	t.Parallel()
	sources := []string{"embedding", "pinecone", "long_term", "sessions", "search"}
	for mask := range 1 << len(sources) {
		for _, slow := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture()
				r := ann(t, w)
				var want []string
				for i, source := range sources {
					if mask&(1<<i) == 0 {
						continue
					}
					want = append(want, source)
					w.breakSource(source, slow)
				}
				if slices.Contains(want, "search") { // then nobody hears what it would have said
					want = slices.DeleteFunc(want, func(s string) bool { return s == "embedding" || s == "pinecone" })
				}
				checkDegraded(t, w, r, want, slow)
			})
		}
	}
}

// breakSource makes a source fail, or answer after a minute. The search itself reports which source failed.
func (w *fixture) breakSource(source string, slow bool) {
	switch {
	case source == "embedding" || source == "pinecone":
		w.found = append(w.found, recall.Degradation{Source: source, Reason: "is not available at the moment"})
	case slow:
		w.delay[source] = time.Minute
	default:
		w.fail[source] = errBroken
	}
}

func checkDegraded(t *testing.T, w *fixture, r prompt.Request, want []string, slow bool) {
	t.Helper()
	var observed prompt.Observation
	deps := w.deps(now)
	deps.Deadlines = gather.Deadlines{} // the service's own
	deps.Observe = func(_ context.Context, o prompt.Observation) { observed = o }
	began := time.Now()
	p := build(t, prompt.New(deps), "ann", r)
	if took := time.Since(began); slow && took > 2*time.Second {
		t.Errorf("%v: took %v", want, took)
	}
	var got []string
	for _, d := range p.Manifest.Degraded {
		got = append(got, d.Source)
		if d.Reason == "" || strings.Contains(d.Reason, "refused") {
			t.Errorf("%s: reason %q", d.Source, d.Reason)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) || !slices.Equal(observed.Degraded, p.Manifest.Degraded) {
		t.Errorf("degraded %v, want %v; observed %v", got, want, observed.Degraded)
	}
	// The session's own messages and the swap in the other context are there whatever else is not.
	if text := everything(p); !strings.Contains(text, "Nice work!") || !strings.Contains(text, "banded glute bridges") {
		t.Errorf("%v: the prompt lacks what the store has:\n%s", want, text)
	}
}

// A store that can't be read is an error, never a silent empty history.
func TestUnreadableStoreIsAnError(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"session", "messages", "resolve", "before", "tail"} {
		t.Run(source, func(t *testing.T) {
			w := newFixture()
			r := ann(t, w)
			w.timelineLag = 10 // the session's end has to be read
			if source == "tail" {
				r.MessageID = ""
			}
			w.fail[source] = errBroken
			_, err := w.service(now).Build(t.Context(), "ann", r)
			if f := fault.From(err); f == nil || f.Code != fault.Unavailable || f.RetryAfter <= 0 ||
				strings.Contains(f.Message, "refused") {
				t.Errorf("error %v", err)
			}
		})
	}
	w := newFixture()
	r := ann(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.delay["messages"] = time.Hour
	check.Fault(t, check.ErrorOf(w.service(now).Build(ctx, "ann", r)), fault.Unavailable, "a caller that left")
}

func TestUnknownSessionIsNotFound(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := ann(t, w)
	check.Fault(t, check.ErrorOf(w.service(now).Build(t.Context(), "bob", r)), fault.NotFound, "another user's session")
	r.Context = "workout_log"
	check.Fault(t, check.ErrorOf(w.service(now).Build(t.Context(), "ann", r)), fault.NotFound,
		"a session of another context")
}

// ailing is ann's world without its long-term memory, and a service whose clock can be set.
func ailing(t *testing.T) (*fixture, *prompt.Service, prompt.Request, *time.Time) {
	t.Helper()
	w := newFixture()
	r := ann(t, w)
	clock := now
	deps := w.deps(now)
	deps.Now = func() time.Time { return clock }
	w.fail["long_term"] = errBroken
	return w, prompt.New(deps), r, &clock
}

// A source that keeps failing is left alone for a while, then tried again.
func TestBreaker(t *testing.T) {
	t.Parallel()
	w, s, r, clock := ailing(t)
	for range 8 {
		build(t, s, "ann", r)
	}
	if w.calls["long_term"] != 5 {
		t.Errorf("asked %d times", w.calls["long_term"])
	}
	*clock = clock.Add(11 * time.Second)
	w.fail["long_term"] = nil
	if p := build(t, s, "ann", r); len(p.Manifest.Degraded) != 0 || w.calls["long_term"] != 6 {
		t.Errorf("after the pause: degraded %v, asked %d times", p.Manifest.Degraded, w.calls["long_term"])
	}
	build(t, s, "ann", r)
	if w.calls["long_term"] != 7 {
		t.Error("not closed again after a success")
	}
}

// When the pause is over one prompt tries the source again; others go on without until it is known what became of it.
func TestBreakerLetsOneTry(t *testing.T) {
	t.Parallel()
	w, s, r, clock := ailing(t)
	for range 5 {
		build(t, s, "ann", r)
	}
	*clock = clock.Add(11 * time.Second)
	w.fail["long_term"] = nil
	w.during["long_term"] = func() {
		if p := build(t, s, "ann", r); len(p.Manifest.Degraded) != 1 || p.Manifest.Degraded[0].Source != "long_term" {
			t.Errorf("beside the one that tries: degraded %v", p.Manifest.Degraded)
		}
	}
	if p := build(t, s, "ann", r); len(p.Manifest.Degraded) != 0 || w.calls["long_term"] != 6 {
		t.Errorf("degraded %v, asked %d times", p.Manifest.Degraded, w.calls["long_term"])
	}
}

// An embedding that keeps failing is spared too, and the manifest names it all the while.
func TestBreakerOfWhatTheSearchNeeds(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := ann(t, w)
	s := w.service(now)
	w.breakSource("embedding", false)
	for i := range 7 {
		p := build(t, s, "ann", r)
		if len(p.Manifest.Degraded) != 1 || p.Manifest.Degraded[0].Source != "embedding" {
			t.Errorf("prompt %d: degraded %v", i, p.Manifest.Degraded)
		}
	}
	if w.calls["search"] != 5 {
		t.Errorf("asked %d times", w.calls["search"])
	}
}

// A session that has not moved to the shared store is read from its tail, and the manifest says that others' messages
// may be missing.
func TestNotMigratedIsNamed(t *testing.T) {
	t.Parallel()
	w := newFixture()
	r := ann(t, w)
	p := w.user("ann")
	for i := range p.sessions {
		if p.sessions[i].ID == "chat" {
			p.sessions[i].Adopted = adopted{}
		}
	}
	got := build(t, w.service(now), "ann", r)
	if diff := cmp.Diff([]recall.Degradation{recall.NotMigrated}, got.Manifest.Degraded); diff != "" || w.endReads() != 1 {
		t.Errorf("the session's end was read %d times, degraded (-want +got)\n%s", w.endReads(), diff)
	}
	for i := range p.sessions {
		p.sessions[i].Adopted = nil
	}
	p.access.NotMigrated = true // others of the user's sessions have not
	got = build(t, w.service(now), "ann", r)
	check.Same(t, []recall.Degradation{recall.NotMigrated}, got.Manifest.Degraded, "in a session that has: degraded")
}
