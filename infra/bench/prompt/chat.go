package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/local/stack"
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
	steps     []call
	followers []follower
}

// follower is how often a function of the stream makes one kind of call per turn, as a mean.
type follower struct {
	operation
	mean float64
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
	running, err := services.Stack(ctx, 15*time.Minute, services.linked)
	if err != nil {
		return c, err
	}
	api, err := client.New(running.URL()).As(ctx, string(h.user))
	if err != nil {
		return c, err
	}
	body := map[string]any{"context": "coach_conversation", "coachId": coach, "sessionId": "chat"}
	if err := api.Do(ctx, http.MethodPost, "/v1/sessions", body, nil); err != nil {
		return c, fmt.Errorf("create session: %w", err)
	}
	if err := rig.Settle(ctx, running); err != nil {
		return c, err
	}
	services.instant.Store(false)
	played := make([][]call, turns+1)
	for n := range played {
		if played[n], err = services.turn(ctx, running, api, n); err != nil {
			return c, fmt.Errorf("play turn %d: %w", n, err)
		}
	}
	return countCalls(played), nil
}

// turn sends a message, reads the answer to its end, waits for what follows, and returns the calls of all.
func (s *services) turn(ctx context.Context, running *stack.Stack, api *client.Client, n int) ([]call, error) {
	s.drain()
	var last client.Event
	message := map[string]any{"sessionId": "chat", "message": sampleText(n)}
	err := api.Chat(ctx, message, func(e client.Event) error {
		last = e
		return nil
	}, client.Key("turn-"+strconv.Itoa(n)))
	if err == nil && last.Name != "done" {
		err = fmt.Errorf("the answer ends with %q: %s", last.Name, last.Data)
	}
	if err == nil {
		err = rig.Settle(ctx, running)
	}
	return s.drain(), err
}

// countCalls counts the calls of turns, of which the first one counts for itself.
func countCalls(turns [][]call) chat {
	c := chat{turns: len(turns) - 1}
	means := map[operation]float64{}
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
				means[call.operation] += 1 / float64(c.turns)
				c.after += 1 / float64(c.turns)
			}
		}
	}
	for of, mean := range means {
		c.followers = append(c.followers, follower{of, mean})
	}
	slices.SortFunc(c.followers, func(a, b follower) int { return cmp.Compare(a.String(), b.String()) })
	return c
}

func (c call) follows() bool { return c.function != coachFunction && c.function != promptFunction }
