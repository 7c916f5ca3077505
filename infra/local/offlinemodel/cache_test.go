package offlinemodel_test

import (
	"fmt"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/internal/testing/check"
)

// squats is a text of many tokens, which differ from number to number.
func squats(number, words int) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "%d squats of %d. ", i, number)
	}
	return b.String()
}

// part is a text of a message, with a breakpoint after it or without.
func part(text string, breakpoint bool) []openai.ResponseInputText {
	p := openai.ResponseInputText{Type: "input_text", Text: text}
	if breakpoint {
		p.PromptCacheBreakpoint = &openai.ResponsePromptCacheBreakpoint{Mode: "explicit"}
	}
	return []openai.ResponseInputText{p}
}

// turnOf is a request of a session: the system text, a message of the user with its answer, what changes each turn, and
// the current message.
func turnOf(model, key, system, changing string, breakpoints bool) openai.CreateResponseRequest {
	r := openai.CreateResponseRequest{Model: model, PromptCacheKey: key, Input: []any{
		openai.ResponseInputMessage{Role: "system", Content: part(system, breakpoints)},
		openai.ResponseInputMessage{Role: "user", Content: part(squats(1, 100), breakpoints)},
		openai.ResponseInputMessage{Role: "assistant", Content: "Well done."},
		openai.ResponseInputMessage{Role: "system", Content: changing},
		openai.ResponseInputMessage{Role: "user", Content: "And now?"},
	}}
	if breakpoints {
		r.PromptCacheOptions = &openai.ResponsePromptCacheOptions{Mode: "explicit"}
	}
	return r
}

// TestCachedTokens asks a request, another one, and that one again, and looks at what each gets from the cache.
func TestCachedTokens(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t)
	const before, now = "gpt-5.5", "gpt-6-luna"
	system := squats(0, 250)
	for i, tt := range []struct {
		name, first, second string
		model               string
		system              string
		breakpoints         bool
		// least and most are the bounds of the cached tokens of the second request, and step what divides them.
		least, most, step int
		// again is the least number of cached tokens when the second request is repeated, 0 for none at all.
		again int
	}{
		{"a model without breakpoints", "k", "k", before, system, false, 0, 0, 1, 0},
		{"breakpoints", "k", "k", now, system, true, 2200, 3000, 1, 2200},
		{"breakpoints, another system text", "k", "k", now, squats(7, 250), true, 0, 0, 1, 2200},
		{"no breakpoints where they are needed", "k", "k", now, system, false, 0, 0, 1, 2200},
		{"another key", "k", "l", now, system, true, 0, 0, 1, 2200},
		{"no key", "", "", now, system, false, 0, 0, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key := func(name string) string {
				if name == "" {
					return ""
				}
				return fmt.Sprint(name, i)
			}
			first := turnOf(tt.model, key(tt.first), system, "It is 9:00.", tt.breakpoints)
			second := turnOf(tt.model, key(tt.second), tt.system, "It is 9:05.", tt.breakpoints)
			for n, request := range []openai.CreateResponseRequest{first, second, second} {
				got := check.Got(client.CreateResponse(t.Context(), request))(t)
				cached := got.Usage.InputTokensDetails.CachedTokens
				if n == 0 && cached != 0 {
					t.Errorf("the first request has %d cached tokens", cached)
				}
				if n == 1 && (cached < tt.least || cached > tt.most || cached%tt.step != 0 || cached > got.Usage.InputTokens) {
					t.Errorf("%d of %d tokens are cached", cached, got.Usage.InputTokens)
				}
				if n == 2 && (cached < tt.again || tt.again == 0 && cached != 0) {
					t.Errorf("%d tokens are cached of the same request, want at least %d", cached, tt.again)
				}
			}
		})
	}
}
