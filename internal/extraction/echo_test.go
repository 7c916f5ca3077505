package extraction_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/llm"
)

// echo is a model that makes a fact of each message with "fact" in it. It calls while before it answers.
type echo struct {
	*fixture
	while  func()
	failed error
	inputs []string
	// supersedes and repeats are what the facts name, where the prompt has a memory with that content.
	supersedes, repeats string
	// safety is what the facts are about.
	safety string
}

var newMessage = regexp.MustCompile(`(?m)^\[(m\d+) [^]]*\] user: (.*fact.*)$`)

func (e *echo) Complete(_ context.Context, r llm.Request) (llm.Completion, error) {
	e.mu.Lock()
	e.calls++
	e.inputs = append(e.inputs, r.Messages[1].Content)
	while, failed := e.while, e.failed
	e.mu.Unlock()
	if while != nil {
		while()
	}
	input, facts := r.Messages[1].Content, []map[string]any{}
	for _, m := range newMessage.FindAllStringSubmatch(input, -1) {
		facts = append(facts, map[string]any{
			"type": "PROFILE", "content": m[2], "confidence": 0.9, "messageIds": []string{m[1]}, "safety": e.safety,
			"repeats": strings.Join(knownIDs(input, e.repeats), ""), "supersedes": knownIDs(input, e.supersedes),
		})
	}
	none := []any{}
	text, err := json.Marshal(map[string]any{"facts": facts, "ended": none, "openLoops": none, "closedLoops": none})
	return llm.Completion{Text: string(text), Model: "m", Usage: llm.Usage{TotalTokens: 7}}, errors.Join(err, failed)
}

// knownIDs returns the short id of the memory with that content, in a list.
func knownIDs(input, content string) []string {
	m := regexp.MustCompile(`(?m)^- \[(k\d+)[^]]*\] [A-Z]+: (.*)$`).FindAllStringSubmatch(input, -1)
	for _, line := range m {
		if line[2] == content {
			return []string{line[1]}
		}
	}
	return []string{}
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	e := &echo{fixture: newFixture(t, "ann")}
	e.model = e
	return e
}
