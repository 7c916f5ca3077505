package query_test

import (
	"testing"

	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestIsGreeting reads greetings in several languages, and what only begins with one.
func TestIsGreeting(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Good morning!": true, "Thanks a lot": true, "你好": true, "Привет, как дела?": true, "ありがとう": true, "": false,
		"你好，我的狗怎么样": false, "Hello, how far did I run yesterday?": false, "Привет, как моя собака?": false,
	} {
		check.Equal(t, want, query.IsGreeting(text), "%q is a greeting", text)
	}
}
