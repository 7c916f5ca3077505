package prompt

import (
	"cmp"
	"fmt"

	"github.com/throughline/throughline/internal/conversation"
)

// MessageScopingStrategy chooses which of a session's own messages an agent sees (working-context-builder, Technical
// Decisions 3). A recipe names one; to add one is to add an entry to strategies.
type MessageScopingStrategy interface {
	// Reach is how many of the session's last messages the strategy has to be given.
	Reach(agent Agent) int
	// SelectMessages returns the chosen messages, oldest first, and a text that stands for older ones, empty for
	// none. messages are oldest first, user's and assistant's only.
	SelectMessages(messages []*conversation.Message, config ScopingConfig) (chosen []*conversation.Message, older string)
}

// ScopingConfig is what a strategy chooses by.
type ScopingConfig struct {
	// MaxMessages is the agent's number of messages, MaxTokens what they may take together.
	MaxMessages, MaxTokens int
	// Relevant, where set, lets a message through.
	Relevant func(*conversation.Message) bool
	// Summary is what the session came to so far, nil where there is no summary.
	Summary *conversation.SessionSummary
}

// The names of the strategies.
const (
	LastN       = "last-n"
	TokenWindow = "token-window"
	Compaction  = "compaction"
)

// StrategyOf returns the strategy of a name; an empty one means LastN, the specification's default.
func StrategyOf(name string) (MessageScopingStrategy, bool) {
	s, ok := strategies[cmp.Or(name, LastN)]
	return s, ok
}

// strategy returns the strategy that a recipe names.
func (r Recipe) strategy() MessageScopingStrategy {
	s, ok := StrategyOf(r.Scoping)
	if !ok {
		panic(fmt.Sprintf("recipe %s: no scoping strategy %q", r.Name, r.Scoping)) // a mistake in the program
	}
	return s
}

var strategies = map[string]MessageScopingStrategy{
	LastN:       lastN{},
	TokenWindow: tokenWindow{},
	Compaction:  compaction{},
}

// lastN is the specification's default: the last messages, as many as the agent sees.
type lastN struct{}

func (lastN) Reach(agent Agent) int { return reachOf(agent, agent.Messages) }

func (lastN) SelectMessages(messages []*conversation.Message, config ScopingConfig) ([]*conversation.Message, string) {
	relevant := filter(messages, config.Relevant)
	return relevant[max(len(relevant)-config.MaxMessages, 0):], ""
}

// tokenWindow takes as many of the last messages as the tokens hold, however many they are, and always the last one.
type tokenWindow struct{}

// windowReach is how many messages a window is looked for in.
const windowReach = 50

func (tokenWindow) Reach(Agent) int { return windowReach }

func (tokenWindow) SelectMessages(messages []*conversation.Message, config ScopingConfig) ([]*conversation.Message, string) {
	relevant := filter(messages, config.Relevant)
	from, tokens := len(relevant), 0
	for from > 0 {
		tokens += max(relevant[from-1].Tokens, 1)
		if config.MaxTokens > 0 && tokens > config.MaxTokens && from < len(relevant) {
			break
		}
		from--
	}
	return relevant[from:], ""
}

// compaction takes the last messages and lets the session's summary stand for the older ones that it covers. Messages
// between the two are told as well, as far as they were read, so that nothing falls into the gap.
type compaction struct{}

func (compaction) Reach(agent Agent) int { return reachOf(agent, 2*agent.Messages) }

func (compaction) SelectMessages(messages []*conversation.Message, config ScopingConfig) ([]*conversation.Message, string) {
	relevant := filter(messages, config.Relevant)
	from := max(len(relevant)-config.MaxMessages, 0)
	if config.Summary == nil || config.Summary.Text == "" {
		return relevant[from:], ""
	}
	for from > 0 && relevant[from-1].Seq > config.Summary.CoveredThrough {
		from--
	}
	first := 1
	if from < len(relevant) {
		first = relevant[from].Seq
	}
	if first <= 1 {
		return relevant[from:], "" // nothing is older than what is told
	}
	return relevant[from:], config.Summary.Text
}

// reachOf reads further back for an agent that leaves messages out.
func reachOf(agent Agent, n int) int {
	if agent.Relevant != nil {
		return 2 * n
	}
	return n
}

func filter(messages []*conversation.Message, keep func(*conversation.Message) bool) []*conversation.Message {
	if keep == nil {
		return messages
	}
	var kept []*conversation.Message
	for _, m := range messages {
		if keep(m) {
			kept = append(kept, m)
		}
	}
	return kept
}
