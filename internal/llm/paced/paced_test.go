package paced_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/paced"
)

// service is a model that answers after a time, a number of calls at once. It refuses further ones.
type service struct {
	mu              sync.Mutex
	takes           time.Duration
	atOnce          int
	active          int
	asked, answered int
	failure         error
}

func (s *service) Complete(context.Context, llm.Request) (llm.Completion, error) {
	s.mu.Lock()
	s.asked++
	if s.failure != nil || s.active >= s.atOnce {
		err := s.failure
		s.mu.Unlock()
		time.Sleep(time.Millisecond)
		if err == nil {
			err = fault.New(fault.RateLimited, "")
		}
		return llm.Completion{}, err
	}
	s.active++
	s.mu.Unlock()
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	s.answered++
	return llm.Completion{}, nil
}

func ask(t *testing.T, m *paced.Model) error {
	t.Helper()
	time.Sleep(time.Millisecond)
	_, err := m.Complete(t.Context(), llm.Request{})
	return err
}

// drain asks the model until so many calls were answered, as often at once as the model says.
func drain(ctx context.Context, m *paced.Model, s *service, want int) {
	var calls sync.WaitGroup
	var mu sync.Mutex
	active := 0
	for {
		s.mu.Lock()
		isDone := s.answered >= want
		s.mu.Unlock()
		if isDone {
			break
		}
		mu.Lock()
		begins := active < m.AtOnce()
		if begins {
			active++
		}
		mu.Unlock()
		if begins {
			calls.Go(func() {
				_, _ = m.Complete(ctx, llm.Request{})
				mu.Lock()
				defer mu.Unlock()
				active--
			})
		}
		time.Sleep(2 * time.Millisecond)
	}
	calls.Wait()
}

// TestABacklogIsDrained asks a service that bears 20 calls at once, with 160 at first. Most of what it bears is used,
// and few calls are refused.
func TestABacklogIsDrained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{takes: 5 * time.Second, atOnce: 20}
		m := paced.New(s, 160, time.Now)
		began := time.Now()
		drain(t.Context(), m, s, 4_000)
		used := float64(s.answered) / (float64(s.atOnce) * time.Since(began).Seconds() / s.takes.Seconds())
		refused := float64(s.asked-s.answered) / float64(s.answered)
		t.Logf("%.0f%% of the limit is used, %.1f%% of the calls are refused", 100*used, 100*refused)
		if used < 0.7 || refused > 0.06 {
			t.Errorf("%.2f of the limit is used, %.3f refused", used, refused)
		}
	})
}

// TestAFailingServiceIsLeftAlone counts the calls of an outage of an hour, and what follows it.
func TestAFailingServiceIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"down":      fault.New(fault.Unavailable, ""),
		"late":      context.DeadlineExceeded,
		"wrong key": fault.New(fault.Internal, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &service{takes: time.Second, atOnce: 160, failure: failure}
				m := paced.New(s, 160, time.Now)
				for range 4 {
					_ = ask(t, m)
				}
				if m.AtOnce() != 160 || m.IsFailing() {
					t.Errorf("after 4 failures: %d at once, failing %v", m.AtOnce(), m.IsFailing())
				}
				_ = ask(t, m)
				if err := ask(t, m); m.AtOnce() != 0 || !m.IsFailing() || s.asked != 5 || !fault.Is(err, fault.Unavailable) {
					t.Errorf("after 5 failures: %d at once, %d asked, %v", m.AtOnce(), s.asked, err)
				}
				for range 3600 {
					time.Sleep(time.Second)
					_ = ask(t, m)
				}
				if s.asked < 60 || s.asked > 70 {
					t.Errorf("%d calls in an outage of an hour, want one a minute", s.asked)
				}
				s.failure = nil
				time.Sleep(time.Minute)
				if err := ask(t, m); err != nil || m.IsFailing() || m.AtOnce() < 1 {
					t.Errorf("after the outage: %v, %d at once", err, m.AtOnce())
				}
				drain(t.Context(), m, s, 400)
				if m.AtOnce() < 80 {
					t.Errorf("400 answers later: %d at once", m.AtOnce())
				}
			})
		})
	}
}

// TestLimits checks what a service at its limits changes, with and without advice.
func TestLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{failure: fault.New(fault.RateLimited, "")}
		m := paced.New(s, 160, time.Now)
		_ = ask(t, m)
		if m.AtOnce() != 80 || !m.IsFailing() {
			t.Errorf("%d at once, failing %v", m.AtOnce(), m.IsFailing())
		}
		s.failure = &fault.Error{Code: fault.RateLimited, RetryAfter: 20 * time.Second}
		_ = ask(t, m)
		if m.AtOnce() != 0 {
			t.Errorf("%d at once before the time of the advice", m.AtOnce())
		}
		time.Sleep(20 * time.Second)
		if m.AtOnce() != 40 {
			t.Errorf("%d at once after it", m.AtOnce())
		}
		time.Sleep(time.Minute)
		if m.IsFailing() {
			t.Error("it is failing a minute later")
		}
	})
}

// TestCallsAtOnceAreOneFailure has many calls refused together, which say no more than one does.
func TestCallsAtOnceAreOneFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{failure: fault.New(fault.RateLimited, "")}
		m := paced.New(s, 160, time.Now)
		time.Sleep(time.Millisecond)
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() { _, _ = m.Complete(t.Context(), llm.Request{}) })
		}
		if calls.Wait(); m.AtOnce() != 80 {
			t.Errorf("%d at once, want half", m.AtOnce())
		}
	})
}

// TestWhatIsNoFailure checks that an answer of no use, and a caller that goes away, change nothing.
func TestWhatIsNoFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		m := paced.New(s, 160, time.Now)
		for _, s.failure = range []error{llm.ErrRefused, llm.ErrMalformed, errors.Join(context.Canceled)} {
			for range 9 {
				_ = ask(t, m)
			}
		}
		if m.AtOnce() != 160 || m.IsFailing() {
			t.Errorf("%d at once, failing %v", m.AtOnce(), m.IsFailing())
		}
	})
}

// TestAnIllModelIsLeftAlone has a model whose answers are of no use: it is asked once a minute, and is well with the
// first answer that is of use. Single ones, with time or good answers between them, are the fault of their records.
func TestAnIllModelIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{atOnce: 100}
		m := paced.New(s, 4, time.Now)
		for range 20 {
			m.Judge(false)
			time.Sleep(3 * time.Minute)
		}
		for range 20 {
			m.Judge(false)
			m.Judge(true)
		}
		if m.IsFailing() || ask(t, m) != nil {
			t.Fatal("single bad answers stop all calls")
		}
		before := s.asked
		for began := time.Now(); time.Since(began) < time.Hour; time.Sleep(time.Second) {
			if ask(t, m) == nil {
				m.Judge(false)
			}
		}
		if asked := s.asked - before; asked > 75 || !m.IsFailing() {
			t.Errorf("an ill model is asked %d times in an hour; failing: %t", asked, m.IsFailing())
		}
		time.Sleep(2 * time.Minute)
		if ask(t, m) != nil {
			t.Fatal("it is not asked again")
		}
		if m.Judge(true); m.IsFailing() || ask(t, m) != nil {
			t.Error("it is not well")
		}
	})
}
