package promptbench

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
	"github.com/throughline/throughline/internal/conversation"
)

// Chat is the remote calls of whole chat turns. The calls of the coach function, and of the prompt function that it
// invokes, are made until the turn's answer is done. The calls of the stream's functions come after the turn.
type Chat struct {
	Turns int `json:"turns"`
	// Instances is how many instances each function of the stream has.
	Instances int `json:"instances"`
	// Calls are the most that a turn made until it was done. Depth is the most of them that followed each other before the
	// first token.
	Calls int `json:"calls"`
	Depth int `json:"depth"`
	// First and FirstDepth are the same numbers for the session's first turn, which the other fields leave out.
	First      int `json:"firstTurnCalls"`
	FirstDepth int `json:"firstTurnDepth"`
	// After is the mean number of calls after a turn.
	After float64 `json:"after"`
	// Steps are the calls of the turn that made the most, in the order of their beginnings. Of several such turns it is
	// the first.
	Steps []Step `json:"steps"`
	// Followers are the calls after the turns.
	Followers []Follower `json:"followers"`
	// FirstToken is the time to the first token, without the chat model's.
	FirstToken Times `json:"firstToken"`
}

// Step is one call of a turn.
type Step struct {
	Operation
	// Depth is one more than that of the deepest call that it may have waited for.
	Depth int `json:"depth"`
}

// Follower is how often a function of the stream makes one kind of call per turn, as a mean.
type Follower struct {
	Operation
	Mean float64 `json:"mean"`
}

// The functions that take part in a chat. The first two work until the answer is done, the others after it.
const (
	coachFunction     = "coach"
	promptFunction    = "prompt"
	summarizeFunction = "summarize"
	rememberFunction  = "remember"
)

// In a chat all services but the model have the same latency, which is long beside the machine's own delays. So a call
// begins when exactly the calls of smaller depth have ended, and the times show how deep each call is. The model takes
// longer, as a real one does: the stream's functions have the user's message before the answer is there.
const (
	chatLatency  = 150 * time.Millisecond
	modelLatency = 2 * time.Second
)

// measureChat plays turns of one session on the local stack, whose functions reach their services over links.
func measureChat(
	ctx context.Context, endpoint, table string, turns int, atFirst Latencies, progress func(string),
) (c Chat, err error) {
	latency := Latencies{DynamoDB: chatLatency, Embedding: chatLatency, Pinecone: chatLatency, Model: modelLatency}
	services, err := startServices(ctx, endpoint, table, latency)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, services.Close()) }()
	progress("writing a user's history, and starting the stack")
	now := time.Now().UTC().Truncate(time.Minute)
	h, err := services.writeHistory(ctx, "chat", sessionSizes(recentMessages), now)
	if err != nil {
		return c, err
	}
	running, err := services.Stack(ctx, func(name string, build stack.Constructor) stack.Constructor {
		return services.linked(name, atFirst, build)
	})
	if err != nil {
		return c, err
	}
	session, err := services.openSession(ctx, running, h.user)
	if err != nil {
		return c, err
	}
	services.instant.Store(false)
	progress("playing turns of a chat")
	played, err := session.play(ctx, 0, turns+1)
	if err != nil {
		return c, err
	}
	c = countCalls(played[0], played[1:])
	progress("measuring the time to the first token")
	services.first.Store(true)
	if played, err = session.play(ctx, turns+1, turns); err != nil {
		return c, err
	}
	c.FirstToken = firstToken(played, atFirst)
	instances := running.Info().Instances
	c.Instances = min(instances[summarizeFunction], instances[rememberFunction])
	return c, nil
}

// play plays turns of the session, beginning with the turn of a number.
func (c *chatSession) play(ctx context.Context, from, turns int) ([]turn, error) {
	played := make([]turn, turns)
	for i := range played {
		var err error
		if played[i], err = c.turn(ctx, from+i); err != nil {
			return nil, fmt.Errorf("play turn %d: %w", from+i, err)
		}
	}
	return played, nil
}

type chatSession struct {
	*services
	stack *stack.Stack
	api   *client.Client
	id    string
}

// openSession creates the session, and waits until the stream's functions have handled what was written before.
func (s *services) openSession(
	ctx context.Context, running *stack.Stack, user conversation.UserID,
) (*chatSession, error) {
	c := &chatSession{services: s, stack: running, id: "chat"}
	var err error
	if c.api, err = client.New(running.URL()).As(ctx, string(user)); err != nil {
		return nil, err
	}
	body := map[string]any{"context": "coach_conversation", "coachId": coach, "sessionId": c.id}
	if err := c.api.Do(ctx, http.MethodPost, "/v1/sessions", body, nil); err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	return c, rig.Settle(ctx, c.stack)
}

// turn is the remote calls of one turn, and the time from its request to the first token.
type turn struct {
	calls
	first time.Duration
}

type calls []call

// turn sends a message, reads the answer to its end, and waits for what follows.
func (c *chatSession) turn(ctx context.Context, n int) (turn, error) {
	c.drain()
	var t turn
	var last client.Event
	began := time.Now()
	message := map[string]any{"sessionId": c.id, "message": sampleText(n)}
	err := c.api.Chat(ctx, message, func(e client.Event) error {
		if e.Name == "token" && t.first == 0 {
			t.first = time.Since(began)
		}
		last = e
		return nil
	}, client.Key("turn-"+strconv.Itoa(n)))
	if err != nil {
		return t, err
	}
	if last.Name != "done" {
		return t, fmt.Errorf("the answer ends with %q: %s", last.Name, last.Data)
	}
	if err := rig.Settle(ctx, c.stack); err != nil {
		return t, err
	}
	t.calls = c.drain()
	return t, nil
}

func countCalls(first turn, turns []turn) Chat {
	c := Chat{Turns: len(turns), First: len(first.steps()), FirstDepth: first.depth()}
	kinds := map[Operation]int{}
	after := 0
	for _, t := range turns {
		c.Depth = max(c.Depth, t.depth())
		if steps := t.steps(); len(steps) > c.Calls {
			c.Calls, c.Steps = len(steps), stepsOf(steps)
		}
		for _, call := range t.followers() {
			kinds[call.Operation]++
			after++
		}
	}
	c.After = float64(after) / float64(len(turns))
	for kind, n := range kinds {
		c.Followers = append(c.Followers, Follower{kind, float64(n) / float64(len(turns))})
	}
	slices.SortFunc(c.Followers, func(a, b Follower) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Call, b.Call))
	})
	return c
}

// steps returns the calls until the answer was done.
func (all calls) steps() []call { return slices.DeleteFunc(slices.Clone(all), call.follows) }

// followers returns the calls after the answer.
func (all calls) followers() []call {
	return slices.DeleteFunc(slices.Clone(all), func(c call) bool { return !c.follows() })
}

func (c call) follows() bool { return c.Function != coachFunction && c.Function != promptFunction }

// depth returns the depth of the call that brings the first token: the coach function's last call of the chat model.
func (all calls) depth() (deep int) {
	for _, s := range stepsOf(all.steps()) {
		asksModel := s.Call == "responses" || s.Call == "completions" // in either of its two APIs
		if s.Function == coachFunction && asksModel {
			deep = s.Depth
		}
	}
	return deep
}

func stepsOf(calls []call) []Step {
	out := make([]Step, len(calls))
	for i, d := range callDepths(calls) {
		out[i] = Step{calls[i].Operation, d}
	}
	return out
}

// callsOf returns how many of the steps call a service, and the mean number of calls of it after a turn.
func (c Chat) callsOf(service string) (steps int, after float64) {
	for _, s := range c.Steps {
		if s.Service == service {
			steps++
		}
	}
	for _, f := range c.Followers {
		if f.Service == service {
			after += f.Mean
		}
	}
	return steps, after
}
