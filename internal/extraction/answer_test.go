package extraction_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/extraction"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// script is a model that answers with a text.
type script string

func (s script) Complete(context.Context, llm.Request) (llm.Completion, error) {
	return llm.Completion{Text: string(s), Model: "m"}, nil
}

// TestLargestAnswer stores all of an answer that one transaction, of at most 100 writes, does not hold: the watermark
// is raised with the last part. Nothing is lost, and the wishes to forget come first.
func TestLargestAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "ann")
	f.stores = dynamotest.New(t, dynamo.WithClock(f.clock))
	var facts, ended, opened, closed []any
	for i := range 202 { // more than may be live at once
		memory := longterm.Memory{Type: longterm.ProfileMemory, Content: fmt.Sprint("known ", i), Source: longterm.Extracted}
		todo := longterm.Todo{Content: fmt.Sprint("open ", i), CoachID: coach, Status: longterm.Pending}
		memory.SaidAt, todo.CreatedAt = f.now.Add(-time.Hour), f.now.Add(-time.Hour)
		if _, _, err := f.stores.Memories.Create(t.Context(), f.user, memory, noKey); err != nil {
			t.Fatal(err)
		}
		if i < 102 {
			if _, _, err := f.stores.Todos.Create(t.Context(), f.user, todo, noKey); err != nil {
				t.Fatal(err)
			}
		}
		if i >= 20 {
			continue
		}
		ids := []string{"m1"}
		facts = append(facts, map[string]any{
			"type": "PROFILE", "content": fmt.Sprint("new ", i), "confidence": 0.9, "messageIds": ids,
		})
		ended = append(ended, map[string]any{"id": fmt.Sprint("k", i+1), "reason": "forgotten", "messageIds": ids})
		opened = append(opened, map[string]any{"content": fmt.Sprint("todo ", i), "confidence": 0.9, "messageIds": ids})
		closed = append(closed, map[string]any{"id": fmt.Sprint("l", i+1), "outcome": "dropped", "messageIds": ids})
	}
	answer, err := json.Marshal(map[string]any{
		"facts": facts, "ended": ended, "openLoops": opened, "closedLoops": closed,
	})
	check.OK(t, err)
	f.model = script(answer)
	f.say(t, "a", "Much has happened.")
	f.extract(t, "a")
	want := extraction.Counts{Calls: 1, NewMemories: 20, Forgotten: 20, OpenedLoops: 20, ClosedLoops: 20}
	if f.counts != want {
		t.Errorf("counted are %+v, want %+v", f.counts, want)
	}
}
