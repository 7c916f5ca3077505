package paced_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/paced"
	"github.com/throughline/throughline/internal/testing/check"
)

var (
	long   = flag.Bool("long", false, "play outages of 24 hours, too")
	update = flag.Bool("update", false, "play all outages, and write their figures into docs/benchmarks.md")
)

// The stage that is played: a model that takes 5 s for a call and grants 8 calls a second, of which chats take a
// quarter and new background work another, so that half is left for what an outage has left behind.
const (
	granted   = 8.0
	chatRate  = 2.0
	workRate  = 2.0
	takes     = 5 * time.Second
	instances = 4
	atOnce    = 160
)

// limitedService grants calls at a rate, and says when to come back where it refuses one.
type limitedService struct {
	limit           *rate.Limiter
	asked, answered int
	mu              sync.Mutex
}

func newLimitedService() *limitedService {
	return &limitedService{limit: rate.NewLimiter(granted, int(2*granted))}
}

func (s *limitedService) Complete(context.Context, llm.Request) (llm.Completion, error) {
	s.mu.Lock()
	s.asked++
	if !s.limit.AllowN(time.Now(), 1) {
		s.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		return llm.Completion{}, &fault.Error{Code: fault.RateLimited, RetryAfter: time.Second}
	}
	s.answered++
	s.mu.Unlock()
	time.Sleep(takes)
	return llm.Completion{}, nil
}

// backlog is the background work that is due.
type backlog struct {
	mu   sync.Mutex
	left int
}

func (b *backlog) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left == 0 {
		return false
	}
	b.left--
	return true
}

func (b *backlog) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
}

func (b *backlog) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left
}

// outcome is what a simulation has measured.
type outcome struct {
	due                         int
	took                        time.Duration
	used, refused               float64
	chats, waited, failed       int
	longestWait, ideal, allWait time.Duration
}

// simulation plays a stage after an outage.
type simulation struct {
	service, own *limitedService // own is that of the background calls, which may be the same
	work         backlog
	calls        sync.WaitGroup
	mu           sync.Mutex
	out          outcome
	done, failed int // background calls
}

// chat asks as the chat's client does: three attempts, with the service's advice between them.
func (s *simulation) chat() {
	began := time.Now()
	var err error
	for range 3 {
		before := time.Now()
		if _, err = s.service.Complete(context.Background(), llm.Request{}); err == nil {
			wait := before.Sub(began)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.out.chats++
			if wait > 0 {
				s.out.waited++
			}
			s.out.longestWait, s.out.allWait = max(s.out.longestWait, wait), s.out.allWait+wait
			return
		}
		time.Sleep(time.Second)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.chats++
	s.out.failed++
}

// instance works on what is due, as often at once as its model says. What fails is due again.
func (s *simulation) instance(ctx context.Context, random *rand.Rand) {
	m := paced.New(s.own, atOnce, time.Now)
	var active int
	var mu sync.Mutex
	for ctx.Err() == nil {
		for {
			mu.Lock()
			begins := active < m.AtOnce() && s.work.take()
			if begins {
				active++
			}
			mu.Unlock()
			if !begins {
				break
			}
			s.calls.Go(func() {
				_, err := m.Complete(ctx, llm.Request{})
				s.mu.Lock()
				if err == nil {
					s.done++
				} else {
					s.failed++
					s.work.add(1)
				}
				s.mu.Unlock()
				mu.Lock()
				defer mu.Unlock()
				active--
			})
		}
		time.Sleep(time.Duration(200+random.IntN(100)) * time.Millisecond)
	}
}

// every calls something at a rate, at random times.
func every(ctx context.Context, random *rand.Rand, perSecond float64, do func()) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(random.ExpFloat64() / perSecond * float64(time.Second)))
		do()
	}
}

// play simulates what follows an outage, until the backlog is gone.
func play(t *testing.T, outage time.Duration, ownKey bool) outcome {
	t.Helper()
	s := &simulation{service: newLimitedService()}
	if s.own = s.service; ownKey {
		s.own = newLimitedService()
	}
	s.work.left = int(workRate * outage.Seconds())
	s.out.due = s.work.left
	ctx, stop := context.WithCancel(t.Context())
	began := time.Now()
	random := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 7)) }
	var running sync.WaitGroup
	running.Go(func() { every(ctx, random(1), chatRate, func() { s.calls.Go(s.chat) }) })
	running.Go(func() { every(ctx, random(2), workRate, func() { s.work.add(1) }) })
	for i := range instances {
		running.Go(func() { s.instance(ctx, random(uint64(i)+3)) })
	}
	for time.Sleep(time.Hour); s.work.size() > 2*instances && time.Since(began) < 100*time.Hour; {
		time.Sleep(time.Second)
	}
	s.out.took = time.Since(began)
	stop()
	running.Wait()
	s.calls.Wait()
	free := granted - chatRate - workRate
	if ownKey {
		free = granted - workRate
	}
	s.out.ideal = time.Duration(float64(s.out.due) / free * float64(time.Second))
	s.out.used = float64(s.own.answered) / (granted * s.out.took.Seconds())
	s.out.refused = float64(s.failed) / float64(s.done)
	return s.out
}

// TestAfterAnOutage plays what follows outages of 6 hours, and in make soak of 24, with the chat's key and with a key
// of the background's own, and what chats wait meanwhile.
func TestAfterAnOutage(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	for _, c := range []struct {
		name   string
		outage time.Duration
		ownKey bool
	}{
		{"none", 0, false},
		{"6 h", 6 * time.Hour, false},
		{"24 h", 24 * time.Hour, false},
		{"6 h, a key of its own", 6 * time.Hour, true},
		{"24 h, a key of its own", 24 * time.Hour, true},
	} {
		if c.outage > 6*time.Hour && !*long && !*update {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			o := playMedian(t, c.outage, c.ownKey)
			chats := float64(o.chats)
			waited, failed := 100*float64(o.waited)/chats, 100*float64(o.failed)/chats
			t.Logf("%s: %.0f%% used, %.2f%% of the chats waited, %.3f%% failed", c.name, 100*o.used, waited, failed)
			took, ideal := fmt.Sprintf("%.1f h", o.took.Hours()), fmt.Sprintf("%.1f h", o.ideal.Hours())
			if o.due == 0 {
				took, ideal = "", ""
			}
			fmt.Fprintf(&rows, "| %s | %d | %s | %s | %.0f%% | %.1f%% | %.1f%% | %.0f ms | %.1f s | %.2f%% |\n", c.name, o.due,
				took, ideal, 100*o.used, 100*o.refused, waited, float64(o.allWait.Milliseconds())/chats,
				o.longestWait.Seconds(), failed)
			if !o.isDrained() || waited > 5 || failed > 0.1 {
				t.Errorf("%s: %+v", c.name, o)
			}
			if c.ownKey && o.waited+o.failed > 0 {
				t.Errorf("%s: %d chats waited, %d failed", c.name, o.waited, o.failed)
			}
		})
	}
	if *update {
		writeFigures(t, rows.String())
	}
}

// isDrained reports whether what was due has been done in time, with most of the limit.
func (o outcome) isDrained() bool { return o.due == 0 || o.used >= 0.8 && o.took <= o.ideal*13/10 }

// playMedian plays an outage. If it is not drained in time it is played twice again, and the play in the middle counts:
// how callers take turns differs from play to play, and so does the time, by a few percent.
func playMedian(t *testing.T, length time.Duration, ownKey bool) outcome {
	t.Helper()
	plays := []outcome{play(t, length, ownKey)}
	for !plays[0].isDrained() && len(plays) < 3 {
		plays = append(plays, play(t, length, ownKey))
	}
	slices.SortFunc(plays, func(a, b outcome) int { return cmp.Compare(a.took, b.took) })
	return plays[len(plays)/2]
}

// writeFigures replaces the rows of the table in docs/benchmarks.md.
func writeFigures(t *testing.T, rows string) {
	t.Helper()
	const page, begin, end = "../../../docs/benchmarks.md", "<!-- begin outage -->\n", "<!-- end outage -->"
	text := check.Got(os.ReadFile(page))(t)
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("docs/benchmarks.md has no place for the figures of an outage")
	}
	head := "| outage | due at its end | drained in | at best | of the limit used | calls refused | chats that waited | " +
		"mean wait | longest | chats that failed |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n"
	check.OK(t, os.WriteFile(page, []byte(before+begin+head+rows+end+after), 0o600))
}
