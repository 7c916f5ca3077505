// Package scoping has the strategies that choose which of a session's own messages an agent sees.
package scoping

import (
	"cmp"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
)

// Strategy selects which of a session's own messages an agent sees (working-context-builder, Technical
// Decisions 3). A recipe names one. To add one, add an entry to strategies.
type Strategy struct {
	// Reach is how many of the session's last relevant messages the strategy needs.
	Reach func(config Config) int
	// Select returns the selected messages, oldest first, and a text that replaces older ones, empty for none. messages
	// are oldest first, and only the user's and the assistant's.
	Select func(messages []*conversation.Message, config Config) (chosen []*conversation.Message, older string)
}

// Config is what a strategy selects by.
type Config struct {
	// MaxMessages is the request's or the agent's number of messages.
	MaxMessages int
	// MaxTokens limits the tokens of a token window, WindowMessages its messages. 0 does not limit.
	MaxTokens, WindowMessages int
	// Step, if set, is by how many of the session's messages a window moves that would have more than MaxMessages.
	Step int
	// Relevant, if set, reports whether a message may be selected. It filters the messages before they are limited.
	Relevant func(*conversation.Message) bool
	// Summary is the session's summary so far, or nil.
	Summary *conversation.SessionSummary
}

// The names of the strategies.
const (
	LastN       = "last-n"
	TokenWindow = "token-window"
	Compaction  = "compaction"
)

// Find returns the strategy of a name. The empty name means LastN, the specification's default.
func Find(name string) (Strategy, bool) {
	s, ok := strategies[cmp.Or(name, LastN)]
	return s, ok
}

// Names returns the names of the strategies.
func Names() []string { return []string{LastN, TokenWindow, Compaction} }

var strategies = map[string]Strategy{
	LastN:       {func(c Config) int { return c.MaxMessages }, lastN},
	TokenWindow: {func(c Config) int { return c.WindowMessages }, tokenWindow},
	Compaction:  {func(c Config) int { return 2 * c.MaxMessages }, compaction},
}

// WindowMessages is how many messages a token window has at most if the request does not say it.
const WindowMessages = 50

// lastN selects the last messages, as many as the agent sees. It is the specification's default.
func lastN(messages []*conversation.Message, config Config) ([]*conversation.Message, string) {
	relevant := filterMessages(messages, config.Relevant)
	if len(relevant) <= config.MaxMessages {
		return relevant, ""
	}
	return afterStep(relevant[len(relevant)-config.MaxMessages:], config.Step), ""
}

// tokenWindow selects as many of the last messages as the token limit holds, and always the last one.
func tokenWindow(messages []*conversation.Message, config Config) ([]*conversation.Message, string) {
	relevant := filterMessages(messages, config.Relevant)
	from, tokens := len(relevant), 0
	for from > 0 {
		tokens += relevant[from-1].Tokens
		full := config.MaxTokens > 0 && tokens > config.MaxTokens && from < len(relevant)
		if full || config.WindowMessages > 0 && len(relevant)-from >= config.WindowMessages {
			break
		}
		from--
	}
	return relevant[from:], ""
}

// compaction selects the last messages and replaces the older ones by the session's summary as far as it covers them.
// It also selects the messages between the two, as far as they were read, so that nothing is missing.
func compaction(messages []*conversation.Message, config Config) ([]*conversation.Message, string) {
	relevant := filterMessages(messages, config.Relevant)
	from := max(len(relevant)-config.MaxMessages, 0)
	if config.Summary == nil {
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
		return relevant[from:], "" // nothing is older than these
	}
	return relevant[from:], config.Summary.Text
}

func filterMessages(messages []*conversation.Message, keep func(*conversation.Message) bool) []*conversation.Message {
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

// leastStep is by how many messages a window moves at least, if it has more.
const leastStep = 8

// Step is by how many messages a window moves that should begin alike for some turns: more than half of it, and even,
// because a turn has two messages. 0 is a window that does not move in steps.
func Step(messages int) int { return min((messages-1)&^1, max(leastStep, (messages/2+2)&^1)) }

// afterStep leaves out messages from the beginning of a window, up to a multiple of step. The window then begins with
// the same message for some turns.
func afterStep(window []*conversation.Message, step int) []*conversation.Message {
	if step == 0 || len(window) <= step {
		return window
	}
	edge := (window[0].Seq + step - 2) / step * step
	return slices.DeleteFunc(slices.Clone(window), func(m *conversation.Message) bool { return m.Seq <= edge })
}
