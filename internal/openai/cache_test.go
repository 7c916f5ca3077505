package openai_test

import (
	"testing"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestTheCacheFieldsOfEachFamily looks at what requests say about the service's prompt cache. Whatever does not get the
// Responses API may refuse the fields.
func TestTheCacheFieldsOfEachFamily(t *testing.T) {
	t.Parallel()
	type sentCache struct{ Key, Options, Input any }
	item := func(role, text string) any {
		return map[string]any{"type": "message", "role": role, "content": text}
	}
	plain := []any{
		item("system", "be kind"),
		item("user", "hello"),
		item("assistant", "hi"),
		item("user", "now"),
	}
	marked := func(role, text string) any {
		return map[string]any{"type": "message", "role": role, "content": []any{map[string]any{
			"type": "input_text", "text": text, "prompt_cache_breakpoint": map[string]any{"mode": "explicit"},
		}}}
	}
	explicit := map[string]any{"mode": "explicit"}
	breakpoints := []any{marked("system", "be kind"), marked("user", "hello"), plain[2], plain[3]}
	for _, tt := range []struct {
		model, base string
		want        sentCache
	}{
		{"gpt-6-astra", ownService, sentCache{"session", explicit, breakpoints}},
		{"gpt-6-luna", ownService, sentCache{"session", explicit, breakpoints}},
		{"gpt-6-luna", otherService, sentCache{"session", explicit, breakpoints}},
		{"gpt-5.6-terra", ownService, sentCache{"session", explicit, breakpoints}},
		{"gpt-5.5", ownService, sentCache{"session", nil, plain}},
		{"gpt-5-mini", ownService, sentCache{"session", nil, plain}},
		{"gpt-4o-mini", ownService, sentCache{"session", nil, plain}},
		{"gpt-7", ownService, sentCache{"session", nil, plain}},
		{"gpt-5-mini", otherService, sentCache{}},
		{"gpt-4o-mini", otherService, sentCache{}},
		{"gpt-oss:20b", otherService, sentCache{}},
		{"llama3", otherService, sentCache{}},
	} {
		t.Run(tt.model+" "+tt.base, func(t *testing.T) {
			t.Parallel()
			client, sent := recorded(t, config.OpenAI{BaseURL: tt.base})
			check.Got(client.Complete(t.Context(), llm.Request{
				Model: tt.model, CacheKey: "session", Messages: []llm.Message{
					{Role: "system", Content: "be kind", Reusable: true},
					{Role: "user", Content: "hello", Reusable: true},
					{Role: "assistant", Content: "hi", Reusable: true},
					{Role: "user", Content: "now"},
				},
			}))(t)
			got := sentCache{sent.body["prompt_cache_key"], sent.body["prompt_cache_options"], sent.body["input"]}
			check.Same(t, tt.want, got, "the result")
		})
	}
}
