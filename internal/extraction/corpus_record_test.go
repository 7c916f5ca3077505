package extraction_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/longterm"
)

// records returns the lines of all memories and todos, and of the calls of the model.
func (c *corpusCase) records(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, m := range c.memories(t) {
		words := []string{string(m.Type), string(m.Source)}
		if m.Pinned {
			words = append(words, "pinned")
		}
		if m.Rated {
			words = append(words, fmt.Sprint(m.Confidence))
		}
		words = append(words, c.evidence(m.MessageIDs)...)
		if (m.EndedReason == "") != m.ValidUntil.IsZero() || m.SupersededBy != "" && m.ValidUntil.IsZero() {
			c.problems = append(c.problems, "a memory has only one of validUntil, endedReason and supersededBy")
		}
		words = append(words, c.belief(m)...)
		lines = append(lines, strings.Join(words, " ")+" | "+m.Content)
	}
	for _, todo := range c.todos(t) {
		words := append([]string{"todo", string(todo.Status)}, c.evidence(todo.MessageIDs)...)
		if !todo.CompletedAt.IsZero() {
			words = append(words, "at="+todo.CompletedAt.Format(time.RFC3339))
		}
		if !todo.Due.IsZero() {
			words = append(words, "due="+todo.Due.String())
		}
		if todo.Every != "" {
			words = append(words, "every="+string(todo.Every))
		}
		if todo.By != "" {
			words = append(words, "by="+string(todo.By))
		}
		lines = append(lines, strings.Join(words, " ")+" | "+todo.Content)
	}
	if c.failures > 0 {
		lines = append(lines, fmt.Sprint("failures ", c.failures))
	}
	return append(lines, fmt.Sprint("calls ", c.calls))
}

// belief returns the words for how a memory is known, whom it is about, and when and why it ends or ended.
func (c *corpusCase) belief(m longterm.Memory) (words []string) {
	if m.Status != "" {
		words = append(words, string(m.Status))
	}
	if m.About != "" {
		words = append(words, "about="+strings.ReplaceAll(m.About, " ", "_"))
	}
	if !m.From.IsZero() {
		words = append(words, "from="+m.From.String())
	}
	if !m.Until.IsZero() {
		words = append(words, "to="+m.Until.String())
	}
	if !m.ValidUntil.IsZero() {
		words = append(words, "until="+m.ValidUntil.Format(time.RFC3339))
	}
	if m.EndedReason != "" && m.EndedReason != longterm.EndedReplaced {
		words = append(words, string(m.EndedReason))
	}
	return words
}

func (c *corpusCase) evidence(ids []string) []string {
	var names []string
	for _, id := range ids {
		names = append(names, c.messageLabels[id])
	}
	if len(names) == 0 {
		return nil
	}
	return []string{strings.Join(names, ",")}
}
