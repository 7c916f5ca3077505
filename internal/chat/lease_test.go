package chat_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/testing/check"
)

// leases is a store of turns that keeps the lease of one turn, as the table does. Its calls can take time and fail.
type leases struct {
	*fake
	beginTakes  time.Duration
	renewFails  func(at time.Duration) error
	finishTakes time.Duration

	lock    sync.Mutex
	started time.Time
	holders int
	held    int // the holder of the lease
	until   time.Time
	done    bool
}

func (l *leases) BeginTurn(_ context.Context, _ conversation.UserID, _ conversation.Append, lease time.Duration,
) (conversation.Turn, error) {
	turn, first := l.turn, false
	defer func() {
		if first {
			time.Sleep(l.beginTakes)
		}
	}()
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.done {
		turn.Answer = &conversation.Message{ID: "msg_answer"}
		return turn, nil
	}
	if time.Now().Before(l.until) {
		return turn, fault.New(fault.Conflict, "the first request still runs")
	}
	l.holders++
	l.held, l.until = l.holders, time.Now().Add(lease)
	turn.Lease = string(rune('a' + l.held))
	first = l.holders == 1
	return turn, nil
}

func (l *leases) RenewTurn(ctx context.Context, _ conversation.UserID, turn conversation.Turn, lease time.Duration,
) error {
	if l.renewFails != nil {
		if err := l.renewFails(time.Since(l.started)); err != nil {
			<-ctx.Done()
			return errors.Join(err, ctx.Err())
		}
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.done || turn.Lease != string(rune('a'+l.held)) {
		return fault.New(fault.Conflict, "another request has taken this turn over")
	}
	l.until = time.Now().Add(lease)
	return nil
}

func (l *leases) ReleaseTurn(ctx context.Context, user conversation.UserID, turn conversation.Turn) error {
	return l.RenewTurn(ctx, user, turn, 0)
}

func (l *leases) FinishTurn(context.Context, conversation.UserID, conversation.Turn, conversation.NewMessage,
) (conversation.Message, error) {
	time.Sleep(l.finishTakes)
	l.lock.Lock()
	defer l.lock.Unlock()
	l.done = true
	return conversation.Message{ID: "msg_answer"}, nil
}

func (l *leases) Build(ctx context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error) {
	select {
	case <-time.After(14900 * time.Millisecond):
	case <-ctx.Done():
		return prompt.Prompt{}, ctx.Err()
	}
	return l.fake.Build(ctx, user, r)
}

// TestOneRequestGenerates has two requests with one key, which try again every half second. Each step before the first
// token is slow. They never generate at the same time, and the second not at all unless the first lost its lease.
func TestOneRequestGenerates(t *testing.T) {
	t.Parallel()
	down := fault.New(fault.Unavailable, "the table is down")
	for name, c := range map[string]struct {
		beginTakes, openTakes, finishTakes time.Duration
		renewFails                         func(time.Duration) error
		runs                               int // how many requests may generate, one after another
	}{
		"a slow prompt and a slow model": {openTakes: 20 * time.Second, runs: 1},
		"a slow table":                   {beginTakes: 25 * time.Second, finishTakes: 4 * time.Second, runs: 1},
		"everything":                     {25 * time.Second, 70 * time.Second, 4 * time.Second, nil, 1},
		"renewals that fail for a while": {
			openTakes: 90 * time.Second, runs: 1, renewFails: func(at time.Duration) error {
				if at > 15*time.Second && at < 24*time.Second {
					return down
				}
				return nil
			},
		},
		"renewals that fail for good": {
			openTakes: 40 * time.Second, runs: 2, renewFails: func(at time.Duration) error {
				if at < 31*time.Second {
					return down
				}
				return nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &leases{
					fake: newFake(), started: time.Now(), beginTakes: c.beginTakes, finishTakes: c.finishTakes,
					renewFails: c.renewFails,
				}
				var running, most, generated int
				l.model = func(ctx context.Context, _ llm.Request, emit func(string) error) (llm.Completion, error) {
					l.lock.Lock()
					generated++
					running++
					most = max(most, running)
					l.lock.Unlock()
					defer func() { l.lock.Lock(); running--; l.lock.Unlock() }()
					select {
					case <-time.After(c.openTakes):
						return llm.Completion{FinishReason: "stop"}, emit("fine")
					case <-ctx.Done():
						return llm.Completion{}, ctx.Err()
					}
				}
				var requests sync.WaitGroup
				for range 2 {
					requests.Go(func() {
						for !play(t, l) {
							time.Sleep(500 * time.Millisecond)
						}
					})
				}
				requests.Wait()
				if most != 1 || generated > c.runs {
					t.Errorf("%d answers were generated, at most %d at once, want %d and 1", generated, most, c.runs)
				}
				if !l.done {
					t.Error("no answer was stored")
				}
			})
		})
	}
}

// play runs a request to its end and reports whether the turn is done.
func play(t *testing.T, l *leases) (done bool) {
	service := l.service()
	service.Turns, service.Prompts, service.Timeout = l, l, 2*time.Minute
	answer, err := service.Start(t.Context(), "ann", chat.Request{SessionID: "s", Message: "hello"})
	if err != nil {
		return false
	}
	for e := range answer.Events {
		done = e.Name == "done"
	}
	return done
}

// TestStepsBeforeTheEndAreBounded has one step of a turn that takes for ever. The turn ends all the same, and an error
// gives its lease back.
func TestStepsBeforeTheEndAreBounded(t *testing.T) {
	t.Parallel()
	forever := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, within := range map[string]time.Duration{
		"prompt": 20 * time.Second, "manifest": 5 * time.Second, "finish": 5 * time.Second, "model": time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := stuck{fake: newFake(), step: name, forever: forever}
				service := s.service()
				service.Turns, service.Prompts, service.Archive = s, s, s
				if name == "model" {
					s.model = func(ctx context.Context, _ llm.Request, _ func(string) error) (llm.Completion, error) {
						return llm.Completion{}, forever(ctx)
					}
				}
				began := time.Now()
				answer, err := service.Start(t.Context(), "ann", request)
				last := "error"
				if err == nil {
					for e := range answer.Events {
						last = e.Name
					}
				}
				check.Equal(t, within, time.Since(began), "took")
				if want := name != "manifest"; want != (last == "error") {
					t.Errorf("ended with %s", last)
				}
				leases := s.leases()
				if released := len(leases) > 0 && leases[len(leases)-1] == 0; name != "manifest" && !released {
					t.Errorf("leases %v, want the turn released", leases)
				}
			})
		})
	}
}

// stuck is a fake of which one step takes for ever.
type stuck struct {
	*fake
	step    string
	forever func(context.Context) error
}

func (s stuck) Build(ctx context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error) {
	if s.step == "prompt" {
		return prompt.Prompt{}, s.forever(ctx)
	}
	return s.fake.Build(ctx, user, r)
}

func (s stuck) SavePrompt(ctx context.Context, user conversation.UserID, p prompt.StoredPrompt) error {
	if s.step == "manifest" {
		return s.forever(ctx)
	}
	return s.fake.SavePrompt(ctx, user, p)
}

func (s stuck) FinishTurn(ctx context.Context, user conversation.UserID, turn conversation.Turn,
	answer conversation.NewMessage,
) (conversation.Message, error) {
	if s.step == "finish" {
		return conversation.Message{}, s.forever(ctx)
	}
	return s.fake.FinishTurn(ctx, user, turn, answer)
}
