package dynamo

import (
	"context"
	"sync"
)

// turnstile lets the writers of one process to one session through one at a time, in the order of their coming. What
// they write is right without it; it spares them the transactions that they would lose to each other. A Lambda
// function serves one request at a time and never waits here.
type turnstile struct {
	mu    sync.Mutex
	gates map[memoKey]*turnGate
}

type turnGate struct {
	open    chan struct{} // holds one token while nobody is inside
	waiting int
}

func newTurnstile() *turnstile { return &turnstile{gates: make(map[memoKey]*turnGate)} }

// enter waits for this writer's turn and returns what lets the next one in.
func (t *turnstile) enter(ctx context.Context, k memoKey) (leave func(), err error) {
	t.mu.Lock()
	g, ok := t.gates[k]
	if !ok {
		g = &turnGate{open: make(chan struct{}, 1)}
		g.open <- struct{}{}
		t.gates[k] = g
	}
	g.waiting++
	t.mu.Unlock()
	select {
	case <-g.open:
		return func() { g.open <- struct{}{}; t.drop(k, g) }, nil
	case <-ctx.Done():
		t.drop(k, g)
		return nil, ctx.Err()
	}
}

func (t *turnstile) drop(k memoKey, g *turnGate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if g.waiting--; g.waiting == 0 {
		delete(t.gates, k)
	}
}
