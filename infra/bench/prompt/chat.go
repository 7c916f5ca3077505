package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// chat is the remote calls of whole chat turns. The calls of the coach function, and of the prompt function that it
// invokes, are made until the turn's answer is done. The calls of the stream's functions come after the turn.
type chat struct {
	turns int
	// calls are the most that a turn made until it was done. depth is the most of them that followed each other before
	// the first token. first and firstDepth are the same numbers for the session's first turn, which the others leave
	// out.
	calls, depth, first, firstDepth int
	// after is the mean number of calls after a turn.
	after float64
	// steps are the calls of the first of the turns that made the most, in the order of their beginnings.
	steps []call
	// followers are how often functions of the stream make each kind of call per turn, as a mean.
	followers map[string]float64
}

// The functions that work until the answer is done. The others work after it.
const (
	coachFunction  = "coach"
	promptFunction = "prompt"
)

// In a chat all services but the model have the same latency, which is long beside the machine's own delays. So a call
// begins when exactly the calls of smaller depth have ended, and the times show how deep each call is. The model takes
// longer, as a real one does: the stream's functions have the user's message before the answer is there.
const chatLatency = 150 * time.Millisecond

var chatLatencies = latencies{
	dynamoDB: chatLatency, embedding: chatLatency, pinecone: chatLatency, lambda: chatLatency, model: 2 * time.Second,
}

// measureChat plays turns of one session on the local stack, whose functions reach their services over links.
func measureChat(ctx context.Context, endpoint, table string, turns int) (c chat, err error) {
	services, err := startServices(ctx, endpoint, table, chatLatencies)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	h, err := services.writeHistory(ctx, "chat", sessionSizes(recentMessages), time.Now().UTC().Truncate(time.Minute))
	if err != nil {
		return c, err
	}
	stack, err := services.Stack(ctx, string(h.user), 15*time.Minute, services.linked)
	if err != nil {
		return c, err
	}
	if err := errors.Join(stack.Open(ctx, coachSession, coach), stack.Settle(ctx)); err != nil {
		return c, err
	}
	services.isSlow.Store(true)
	played := make([][]call, turns+1)
	for n := range played {
		services.drain()
		if err := stack.Turn(ctx, coachSession, n, sampleText(n)); err != nil {
			return c, fmt.Errorf("play turn %d: %w", n, err)
		}
		played[n] = services.drain()
	}
	return countCalls(played), nil
}

// countCalls counts the calls of turns, of which the first one counts for itself.
func countCalls(turns [][]call) chat {
	c := chat{turns: len(turns) - 1, followers: map[string]float64{}}
	for n, calls := range turns {
		steps := slices.DeleteFunc(slices.Clone(calls), call.follows)
		depth := setDepths(steps)
		if n == 0 {
			c.first, c.firstDepth = len(steps), depth
			continue
		}
		if c.depth = max(c.depth, depth); len(steps) > c.calls {
			c.calls, c.steps = len(steps), steps
		}
		for _, call := range calls {
			if call.follows() {
				c.followers[call.String()] += 1 / float64(c.turns)
				c.after += 1 / float64(c.turns)
			}
		}
	}
	return c
}

func (c call) follows() bool { return c.function != coachFunction && c.function != promptFunction }
