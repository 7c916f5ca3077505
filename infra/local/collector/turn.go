package collector

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/throughline/throughline/infra/client"
)

// The trace context that OneTurn sends, as an app does that makes spans itself.
const (
	CallerTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	CallerSpan   = "00f067aa0ba902b7"
	CallerHeader = "00-" + CallerTrace + "-" + CallerSpan + "-01"
)

// OneTurn has a turn of the chat as a new user of a local stack whose functions send their spans here, and returns its
// trace. The user has said something in another context before.
func (c *Collector) OneTurn(ctx context.Context, api *client.Client) (Tree, error) {
	for _, s := range []struct{ appContext, id, text string }{
		{"program_designer", "designer", "My left knee hurts on stairs. Swap the lunges."},
		{"coach_conversation", "coach", "Good morning."},
	} {
		if err := api.Open(ctx, s.appContext, "coach", s.id); err != nil {
			return Tree{}, err
		}
		said := map[string]any{"messages": []map[string]any{{"role": "user", "content": s.text}}}
		if err := api.Do(ctx, http.MethodPost, "/v1/sessions/"+s.id+"/messages", said, nil); err != nil {
			return Tree{}, err
		}
	}
	if err := api.Do(ctx, http.MethodPost, "/dev/settle", map[string]any{"timeoutMs": 10000}, nil); err != nil {
		return Tree{}, err
	}
	turn := map[string]any{"sessionId": "coach", "message": "What should I train tomorrow?"}
	last := ""
	err := api.Chat(ctx, turn, func(e client.Event) error { last = e.Name; return nil },
		client.Header{Name: "traceparent", Value: CallerHeader})
	if err == nil && last != "done" {
		err = fmt.Errorf("the turn ended in %q", last)
	}
	if err != nil {
		return Tree{}, err
	}
	return c.Await(ctx, CallerTrace, CallerSpan)
}

// Await waits until all spans of a trace below a caller's span have arrived.
func (c *Collector) Await(ctx context.Context, traceID, caller string) (Tree, error) {
	for {
		spans, more := c.Spans()
		if tree, ok := TreeOf(spans, traceID); ok && tree.Parent == caller && tree.isWhole() {
			return tree, nil
		}
		select {
		case <-ctx.Done():
			return Tree{}, fmt.Errorf("wait for the trace %s: %w", traceID, ctx.Err())
		case <-more:
		}
	}
}

// isWhole reports whether the prompt function has sent its spans, too, where a turn has invoked it.
func (t Tree) isWhole() bool {
	isTurn, hasPrompt := false, false
	t.Walk(func(_ int, s Span) {
		isTurn = isTurn || strings.HasPrefix(s.Name, "invoke_agent")
		hasPrompt = hasPrompt || s.Name == "prompt"
	})
	return hasPrompt || !isTurn
}

// shown are the attributes that Table shows.
var shown = []string{
	"gen_ai.memory.record.count", "gen_ai.usage.input_tokens",
	"gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.response.time_to_first_chunk",
	"throughline.prompt.tokens",
}

// Table writes a line for each span: when it began, how long it took, its name below that of its parent, and some of
// its attributes, without the names' first parts.
func (t Tree) Table() string {
	var out strings.Builder
	t.Walk(func(depth int, s Span) {
		var values []string
		for _, name := range shown {
			if value, ok := s.Attributes[name]; ok {
				_, short, _ := strings.Cut(name, ".")
				values = append(values, short+"="+value)
			}
		}
		line := fmt.Sprintf("%5d ms %5d ms  %s%s  %s", s.Start.Sub(t.Start).Milliseconds(), s.End.Sub(s.Start).Milliseconds(),
			strings.Repeat("  ", depth), s.Name, strings.Join(values, " "))
		fmt.Fprintln(&out, strings.TrimRight(line, " "))
	})
	return out.String()
}
