package openaiserver

import (
	"slices"
	"strings"
	"sync"
)

// The rules of the service's guide "Prompt caching". A prompt is reused up to a breakpoint, from minCached tokens on. A
// request writes maxWrites of its breakpoints. The service also caches requests without a key, and those of models
// without breakpoints. Here those are left alone, so that equal requests get equal answers.
const (
	minCached   = 1024
	maxWrites   = 4
	maxCacheKey = 64
)

// cacheOptions are the service's settings of a cache, for a request and for a breakpoint.
type cacheOptions struct {
	Mode string `json:"mode"`
	TTL  string `json:"ttl"`
}

// validateCache refuses what the service refuses of the fields for its cache.
func (r *chatRequest) validateCache() error {
	if len(r.PromptCacheKey) > maxCacheKey {
		return badRequest("prompt_cache_key", "Invalid 'prompt_cache_key': string too long. Expected a string with maximum "+
			"length %d.", maxCacheKey)
	}
	isMarked := slices.ContainsFunc(r.Messages, func(m chatMessage) bool { return m.Content.breakpoint })
	if !breakpoints.MatchString(r.Model) && (isMarked || r.PromptCacheOptions != nil) {
		return unsupportedParameter("prompt_cache_options and prompt_cache_breakpoint")
	}
	return nil
}

// promptCache has the hashes of the beginnings of prompts that were written, with their keys and models.
type promptCache struct {
	mu      sync.Mutex
	written map[uint64]bool
}

// maxWritten bounds the cache, which then forgets everything.
const maxWritten = 4096

// use returns how many tokens of a request's prompt are in the cache, and writes the prompt to it.
func (c *promptCache) use(r *chatRequest, count func(string) int) int {
	if r.PromptCacheKey == "" || !breakpoints.MatchString(r.Model) {
		return 0
	}
	text, ends := r.cacheable()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.written) > maxWritten || c.written == nil {
		c.written = map[uint64]bool{}
	}
	longest := 0
	for i, end := range ends {
		id := hash(r.PromptCacheKey + "\x00" + r.Model + "\x00" + text[:end])
		if c.written[id] {
			longest = max(longest, end)
		}
		if i < maxWrites {
			c.written[id] = true
		}
	}
	if cached := count(text[:longest]); cached >= minCached {
		return cached
	}
	return 0
}

// cacheable is the request's prompt as one text, and where its beginnings end that the request lets the service cache:
// its breakpoints, and the last message of the user or of a tool unless the request says otherwise. The last is first.
// The form of the answer comes before the messages ("Prompt caching", "What can be cached").
func (r *chatRequest) cacheable() (text string, ends []int) {
	var b strings.Builder
	for _, t := range r.Tools {
		b.WriteString(t.Function.Name + "\n" + string(t.Function.Parameters) + "\n")
	}
	if f := r.ResponseFormat; f != nil {
		b.WriteString(f.JSONSchema.Name + "\n" + string(f.JSONSchema.Schema) + "\n")
	}
	implicit := 0
	for _, m := range r.Messages {
		b.WriteString(m.Role + "\n" + m.Content.text + "\n")
		for _, call := range m.ToolCalls {
			b.WriteString(call.Function.Name + "\n" + call.Function.Arguments + "\n")
		}
		if m.Content.breakpoint {
			ends = append(ends, b.Len())
		}
		if m.Role == "user" || m.Role == "tool" {
			implicit = b.Len()
		}
	}
	if o := r.PromptCacheOptions; implicit > 0 && (o == nil || o.Mode != "explicit") && !slices.Contains(ends, implicit) {
		ends = append(ends, implicit)
	}
	slices.Sort(ends)
	slices.Reverse(ends)
	return b.String(), ends
}
