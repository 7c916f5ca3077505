package rank

import "math"

// messageTokens is about what a message takes in a prompt besides its content: who said it, and when.
const messageTokens = 8

// Value is what a message of that many tokens is worth to a budget. Filled by probability alone, a budget goes to few
// long messages; filled by probability per token, it goes to many short ones. Between the two, with the root of the
// tokens, budgets hold most evidence where messages are long, and no less where they are short.
func Value(probability float64, tokens int) float64 {
	return probability / math.Sqrt(float64(max(tokens, 0)+messageTokens))
}
