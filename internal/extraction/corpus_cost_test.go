package extraction_test

import (
	"sync"
	"testing"

	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/token"
)

// cost adds up what the model is asked about the messages of the user.
type cost struct {
	mu                             sync.Mutex
	messages, calls, tokens, fixed int
}

var countTokens = sync.OnceValue(token.New)

// add counts one request: its rules and the form of its answer are the same in each.
func (c *cost) add(r llm.Request) {
	fixed := countTokens().Count(r.Messages[0].Content) + countTokens().Count(string(r.Schema.JSON))
	all := fixed
	for _, m := range r.Messages[1:] {
		all += countTokens().Count(m.Content)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls, c.tokens, c.fixed = c.calls+1, c.tokens+all, c.fixed+fixed
}

func (c *cost) addMessages(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages += n
}

// print prints the cost of a message: go test ./internal/extraction -run 'TestCorpus$' -v
func (c *cost) print(t *testing.T) {
	t.Logf("%d messages of the user: %.2f calls and %.0f tokens a message, %d%% of them fixed",
		c.messages, float64(c.calls)/float64(c.messages), float64(c.tokens)/float64(c.messages), 100*c.fixed/c.tokens)
}
