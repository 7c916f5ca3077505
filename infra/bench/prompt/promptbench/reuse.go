package promptbench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/prompt"
)

// Prices are what a million input tokens of the chat model cost, in US dollars.
type Prices struct {
	Input  float64 `json:"input"`
	Cached float64 `json:"cached"`
}

// The rules of the provider's cache (OpenAI, "Prompt caching"): a prefix is cached from minCached tokens on, and for
// cacheLifetime. Writing it costs writeFactor times the price of input on GPT-5.6 and later.
const (
	minCached     = 1024
	cacheLifetime = 30 * time.Minute
	writeFactor   = 1.25
)

// The turns that the median is of: from firstCounted on, the chat has a past.
const firstCounted = 6

// The layouts that are compared: unified, and unified of a stage with CACHE_FIRST off.
const (
	byAge  = "by how often it changes"
	filled = "the same, CACHE_FIRST=off"
)

// Reuse is how much of the prompts of a chat a provider's cache can reuse, with one layout and budget.
type Reuse struct {
	Layout string `json:"layout"`
	Budget int    `json:"budget"`
	// Tokens is the mean of the prompts.
	Tokens int `json:"tokens"`
	// Median is the share of a prompt's tokens that are a common prefix with the turn before, over the turns from
	// firstCounted on. Earlier is that with any earlier prompt of the chat. Across is the median of the turns before which
	// a summary or an extraction came in, Least the least of them, Rewritten the least across a new spine.
	Median    float64 `json:"median"`
	Earlier   float64 `json:"earlier"`
	Across    float64 `json:"across"`
	Least     float64 `json:"least"`
	Rewritten float64 `json:"rewritten"`
	// Cost is what the input tokens of a thousand such chats cost in US dollars, Uncached what they cost without a cache.
	Cost     float64 `json:"cost"`
	Uncached float64 `json:"uncached"`
	Turns    []Share `json:"-"`
}

// Share is the common prefix of one turn's prompt with the turn before, in tokens.
type Share struct {
	Turn   int `json:"turn"`
	Prefix int `json:"prefix"`
	Tokens int `json:"tokens"`
	// After names what came in between.
	After string `json:"after,omitempty"`
}

func (s Share) share() float64 { return float64(s.Prefix) / float64(s.Tokens) }

// filledOrder is the recipe of a stage with CACHE_FIRST off. It exists in this benchmark only.
const filledOrder = "unified-filled"

// withFilled returns recipes and, as the last one, that of filledOrder.
func withFilled(recipes []prompt.Recipe) []prompt.Recipe {
	i := slices.IndexFunc(recipes, func(r prompt.Recipe) bool { return r.Name == prompt.Unified })
	fills := recipes[i]
	fills.Name, fills.CacheFirst = filledOrder, false
	return append(slices.Clone(recipes), fills)
}

// barBudget is the budget that has limits, unified's own.
const barBudget = 4000

var reuseBudgets = []int{2000, barBudget, 16_000}

// measureReuse plays a day of a chat and compares each turn's prompt with those before it. For this time the recipes of
// the process have filledOrder.
func measureReuse(ctx context.Context, s *services, turns int, p Prices) ([]Reuse, error) {
	shipped := prompt.Recipes
	prompt.Recipes = withFilled(shipped)
	defer func() { prompt.Recipes = shipped }()
	var all []*reuseMeter
	for _, budget := range reuseBudgets {
		all = append(all,
			&reuseMeter{Reuse: Reuse{Layout: byAge, Budget: budget}, recipe: prompt.Unified, services: s},
			&reuseMeter{Reuse: Reuse{Layout: filled, Budget: budget}, recipe: filledOrder, services: s})
	}
	d, err := startDay(ctx, s)
	if err != nil {
		return nil, err
	}
	for turn := range min(turns, len(d.lines("says"))) {
		after, err := d.ask(ctx, turn)
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", turn+1, err)
		}
		for _, m := range all {
			d.request.Budget = &prompt.Budget{Tokens: m.Budget}
			built, err := d.build(ctx, d.prompts, m.recipe)
			if err != nil {
				return nil, fmt.Errorf("turn %d: %w", turn+1, err)
			}
			m.add(d.now, after, built)
		}
		if err := d.answer(ctx, turn); err != nil {
			return nil, fmt.Errorf("turn %d: %w", turn+1, err)
		}
	}
	out := make([]Reuse, len(all))
	for i, m := range all {
		out[i] = m.result(p)
	}
	return out, nil
}

// part is one part of a prompt as the model's server gets it: the tools, or a message.
type part struct {
	role, text string
	tokens     int
}

// sentPrompt is what was sent at one turn.
type sentPrompt struct {
	at    time.Time
	parts []part
	// front are the tokens in front of the message with what changes with each turn, 0 if there is no such message.
	tokens, front int
}

// reuseMeter collects the prompts of one layout and budget.
type reuseMeter struct {
	Reuse
	recipe   string
	services *services
	sent     []sentPrompt
	earlier  []float64
	// cached and written are tokens that the cache has, and that it is given.
	all, cached, written int
}

func (m *reuseMeter) add(at time.Time, after string, p prompt.Prompt) {
	now := sent(m.services, at, p)
	share := Share{Turn: len(m.sent) + 1, Tokens: now.tokens, After: after}
	longest, cached := 0, 0
	for i, before := range m.sent {
		prefix := commonPrefix(m.services, before.parts, now.parts)
		longest = max(longest, prefix)
		if i == len(m.sent)-1 {
			share.Prefix = prefix
		}
		if at.Sub(before.at) <= cacheLifetime && prefix >= minCached {
			cached = max(cached, prefix)
		}
	}
	m.all, m.cached = m.all+now.tokens, m.cached+cached
	if now.front >= minCached {
		m.written += max(now.front-cached, 0)
	}
	m.sent, m.Turns = append(m.sent, now), append(m.Turns, share)
	if share.Turn >= firstCounted {
		m.earlier = append(m.earlier, float64(longest)/float64(now.tokens))
	}
}

func (m *reuseMeter) result(p Prices) Reuse {
	var shares, across, rewritten []float64
	for _, s := range m.Turns {
		if s.Turn < firstCounted {
			continue
		}
		shares = append(shares, s.share())
		switch {
		case s.After == afterSpine:
			rewritten = append(rewritten, s.share())
		case s.After != "":
			across = append(across, s.share())
		}
	}
	r := m.Reuse
	if len(shares) == 0 {
		return r
	}
	r.Tokens = m.all / len(m.Turns)
	r.Median, r.Earlier = upperQuantile(shares, 0.5), upperQuantile(m.earlier, 0.5)
	if len(across) > 0 {
		r.Across, r.Least = upperQuantile(across, 0.5), slices.Min(across)
	}
	if len(rewritten) > 0 {
		r.Rewritten = slices.Min(rewritten)
	}
	const chats, million = 1000, 1e6
	plain := float64(m.all-m.cached-m.written) + writeFactor*float64(m.written)
	r.Uncached = float64(m.all) * p.Input * chats / million
	r.Cost = (plain*p.Input + float64(m.cached)*p.Cached) * chats / million
	return r
}

// sent returns a prompt in the parts that the model's server gets, tools first.
func sent(s *services, at time.Time, p prompt.Prompt) sentPrompt {
	var parts []part
	for _, t := range p.Tools {
		parts = append(parts, part{role: "tool", text: t.Name + t.Description + string(t.Parameters)})
	}
	if p.System != "" {
		parts = append(parts, part{role: "system", text: p.System})
	}
	for _, m := range p.Messages {
		parts = append(parts, part{role: m.Role, text: m.Content})
	}
	out := sentPrompt{at: at, parts: parts}
	for i := range parts {
		if i > 1 && parts[i].role == "system" {
			out.front = out.tokens
		}
		parts[i].tokens = s.tokens.Count(parts[i].text)
		out.tokens += parts[i].tokens
	}
	return out
}

// commonPrefix counts the tokens with which two prompts begin alike.
func commonPrefix(s *services, a, b []part) int {
	tokens := 0
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			if a[i].role == b[i].role {
				tokens += s.tokens.Count(commonText(a[i].text, b[i].text))
			}
			break
		}
		tokens += b[i].tokens
	}
	return tokens
}

// commonText returns the text with which two texts begin alike, up to the last word that both have whole.
func commonText(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	if n < len(b) {
		n = max(strings.LastIndexAny(b[:n], " \n"), 0)
	}
	return b[:n]
}
