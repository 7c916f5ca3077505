package openaiserver

import (
	"slices"
	"strings"
	"sync"
)

// The rules of the service's guide "Prompt caching". A prompt is reused from minCached tokens on. Models with
// breakpoints reuse it up to one, and write maxWrites of them for a request. Earlier models reuse any beginning, in
// steps of cacheStep. The service also caches requests without a key. Here those are left alone, so that equal
// requests get equal answers.
const (
	minCached   = 1024
	cacheStep   = 128
	maxWrites   = 4
	maxCacheKey = 64
)

// keptPrompts is how many prompts of a key are kept, keptKeys how many keys. The oldest are forgotten.
const (
	keptPrompts = 4
	keptKeys    = 256
)

// cacheOptions are the service's settings of a cache, for a request and for a breakpoint.
type cacheOptions struct {
	Mode string `json:"mode"`
	TTL  string `json:"ttl"`
}

// validateCache refuses what the service refuses of the fields for its cache.
func (r *chatRequest) validateCache() error {
	if n := len(r.PromptCacheKey); n > maxCacheKey {
		return badRequest("prompt_cache_key", "Invalid 'prompt_cache_key': string too long. Expected a string with maximum "+
			"length %d, but got a string with length %d instead.", maxCacheKey, n)
	}
	if breakpoints.MatchString(r.Model) {
		return nil
	}
	if r.PromptCacheOptions != nil {
		return unsupportedParameter("prompt_cache_options")
	}
	if slices.ContainsFunc(r.Messages, func(m chatMessage) bool { return m.Content.breakpoint }) {
		return unsupportedParameter("prompt_cache_breakpoint")
	}
	return nil
}

// cachedPrompt is the prompt of an earlier request.
type cachedPrompt struct {
	text string
	// ends are where its beginnings end that were written to the cache, in bytes. nil means all of them.
	ends []int
}

// promptCache has the last prompts of each key and model.
type promptCache struct {
	mu      sync.Mutex
	prompts map[string][]cachedPrompt
	// keys are in the order of their first use.
	keys []string
}

// use returns how many tokens of a request's prompt are in the cache, and writes the prompt to it.
func (c *promptCache) use(r *chatRequest, count func(string) int) int {
	if r.PromptCacheKey == "" {
		return 0
	}
	text, ends := r.cacheable()
	key := r.PromptCacheKey + "\x00" + r.Model
	c.mu.Lock()
	earlier := slices.Clone(c.prompts[key])
	c.add(key, cachedPrompt{text, slices.Clone(ends[:min(len(ends), maxWrites)])})
	c.mu.Unlock()
	if !breakpoints.MatchString(r.Model) {
		return commonTokens(text, earlier, count)
	}
	for _, end := range ends {
		for _, p := range earlier {
			if slices.Contains(p.ends, end) && strings.HasPrefix(p.text, text[:end]) {
				return atLeast(minCached, count(text[:end]))
			}
		}
	}
	return 0
}

func (c *promptCache) add(key string, p cachedPrompt) {
	if c.prompts == nil {
		c.prompts = map[string][]cachedPrompt{}
	}
	if c.prompts[key] == nil {
		c.keys = append(c.keys, key)
	}
	all := append(c.prompts[key], p)
	c.prompts[key] = all[max(0, len(all)-keptPrompts):]
	if len(c.keys) > keptKeys {
		delete(c.prompts, c.keys[0])
		c.keys = c.keys[1:]
	}
}

// cacheable is the request's prompt as one text, and where its beginnings end that the request lets the service cache:
// its breakpoints, and the last message of the user or of a tool unless the request says otherwise. The last is first.
func (r *chatRequest) cacheable() (text string, ends []int) {
	var b strings.Builder
	for _, t := range r.Tools {
		b.WriteString(t.Function.Name + "\n" + string(t.Function.Parameters) + "\n")
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

// commonTokens counts the longest beginning that a text has in common with an earlier prompt.
func commonTokens(text string, earlier []cachedPrompt, count func(string) int) int {
	longest := 0
	for _, p := range earlier {
		n := 0
		for n < len(text) && n < len(p.text) && text[n] == p.text[n] {
			n++
		}
		longest = max(longest, n)
	}
	if longest < minCached { // no token is shorter than a byte
		return 0
	}
	tokens := count(strings.ToValidUTF8(text[:longest], ""))
	return atLeast(minCached, tokens-tokens%cacheStep)
}

func atLeast(least, n int) int {
	if n < least {
		return 0
	}
	return n
}
