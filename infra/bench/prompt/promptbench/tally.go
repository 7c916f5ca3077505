package promptbench

import (
	"cmp"
	"slices"
)

// Chat is what whole turns of a chat take in remote calls. Those of the coach function and of the prompt function,
// which it invokes, come until the turn's answer is done; those of the stream's functions are behind it.
type Chat struct {
	Turns int `json:"turns"`
	// Calls are the most that a turn made until it was done, Depth how many of them at most followed each other before
	// the first token. First and FirstDepth are those of the session's first turn, which is none of the others.
	Calls      int `json:"calls"`
	Depth      int `json:"depth"`
	First      int `json:"firstTurnCalls"`
	FirstDepth int `json:"firstTurnDepth"`
	// Behind is a turn's mean.
	Behind float64 `json:"behind"`
	// Steps are the calls of the first turn that made the most, in the order of their beginnings.
	Steps []Step `json:"steps"`
	// Followers are the calls behind the turns.
	Followers []Follower `json:"followers"`
}

// Step is one call of a turn.
type Step struct {
	Function string `json:"function"`
	Service  string `json:"service"`
	Call     string `json:"call"`
	// Depth is one more than that of the deepest call which it may have waited for.
	Depth int `json:"depth"`
}

// Follower is how often a function of the stream makes one kind of call, as a turn's mean.
type Follower struct {
	Function string  `json:"function"`
	Service  string  `json:"service"`
	Call     string  `json:"call"`
	Mean     float64 `json:"mean"`
}

// chatOf tallies the turns of a session, whose first is apart.
func chatOf(first turn, turns []turn) Chat {
	c := Chat{Turns: len(turns), First: len(first.steps()), FirstDepth: first.depth()}
	kinds := map[remote]int{}
	behind := 0
	for _, t := range turns {
		c.Depth = max(c.Depth, t.depth())
		if steps := t.steps(); len(steps) > c.Calls {
			c.Calls, c.Steps = len(steps), stepsOf(steps)
		}
		for _, call := range t.followers() {
			kinds[call.remote]++
			behind++
		}
	}
	c.Behind = float64(behind) / float64(len(turns))
	for kind, n := range kinds {
		c.Followers = append(c.Followers, Follower{kind.by, kind.to, kind.what, float64(n) / float64(len(turns))})
	}
	slices.SortFunc(c.Followers, func(a, b Follower) int {
		return cmp.Or(cmp.Compare(a.Function, b.Function), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Call, b.Call))
	})
	return c
}

// steps are the calls until the answer was done.
func (t turn) steps() []span { return slices.DeleteFunc(slices.Clone(t), span.follows) }

// followers are the calls behind the answer.
func (t turn) followers() []span {
	return slices.DeleteFunc(slices.Clone(t), func(c span) bool { return !c.follows() })
}

func (c span) follows() bool { return c.by != coachFunction && c.by != promptFunction }

// depth is that of the call which brings the first token: the coach's last of the chat model.
func (t turn) depth() (deep int) {
	for _, s := range stepsOf(t.steps()) {
		if s.Function == coachFunction && s.Call == completion {
			deep = s.Depth
		}
	}
	return deep
}

// completion is what a call of the chat model asks for.
const completion = "completions"

func stepsOf(calls []span) []Step {
	out := make([]Step, len(calls))
	for i, d := range depths(calls) {
		out[i] = Step{calls[i].by, calls[i].to, calls[i].what, d}
	}
	return out
}

// of counts a service's calls among the steps, and sums the means of those among the followers.
func (c Chat) of(service string) (steps int, behind float64) {
	for _, s := range c.Steps {
		if s.Service == service {
			steps++
		}
	}
	for _, f := range c.Followers {
		if f.Service == service {
			behind += f.Mean
		}
	}
	return steps, behind
}
