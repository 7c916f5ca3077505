// Package cutoff scores rankings of messages: which share of a question's evidence is among the first messages, and
// which is within a budget of tokens.
package cutoff

import (
	"cmp"
	"slices"

	"github.com/throughline/throughline/internal/recall/rank"
)

// PromptTokens is the budget of a prompt.
const PromptTokens = 4000

// ranks are numbers of first messages, budgets are numbers of tokens.
var (
	ranks   = [...]int{5, 10, 25}
	budgets = [...]int{500, 1000, 2000, PromptTokens}
)

// Names are the names of the cutoffs.
var Names = [...]string{"R@5", "R@10", "R@25", "B500", "B1000", "B2000", "B4000"}

// The places of some cutoffs among Names and Shares.
const (
	R5, R10             = 0, 1
	B500, B1000, Prompt = len(ranks), len(ranks) + 1, len(Names) - 1
)

// CharsPerToken is how many characters a token is taken to have.
const CharsPerToken = 4

// Shares are the shares of a question's evidence within each cutoff, or means of them.
type Shares [len(Names)]float64

// Message is one message of a ranking.
type Message struct {
	Chars int
	// Relevant says that the message is evidence.
	Relevant bool
	// Score is the probability that it is.
	Score float64
}

// ByValue orders messages by their value for their tokens, as recall fills the budget that a request names.
func ByValue(list []Message) []Message {
	value := func(m Message) float64 { return rank.Value(m.Score, m.Chars/CharsPerToken) }
	return slices.SortedStableFunc(slices.Values(list), func(a, b Message) int { return cmp.Compare(value(b), value(a)) })
}

// Of scores a ranking, and another order of its messages in which budgets are filled. Only whole messages count. The
// evidence is how many messages are relevant, in the ranking or not.
func Of(ranking, packing []Message, evidence int) (s Shares) {
	share := 1 / float64(evidence)
	for place, m := range ranking {
		for k, most := range ranks {
			if place < most && m.Relevant {
				s[k] += share
			}
		}
	}
	var used [len(budgets)]int
	for _, m := range packing {
		for b, tokens := range budgets {
			if used[b]+m.Chars > CharsPerToken*tokens {
				continue
			}
			used[b] += m.Chars
			if m.Relevant {
				s[len(ranks)+b] += share
			}
		}
	}
	return s
}
