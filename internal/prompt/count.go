package prompt

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// cost is what text takes of a budget. A zero chars limit means that characters don't count.
type cost struct{ tokens, chars int }

func (c cost) add(d cost) cost { return cost{c.tokens + d.tokens, c.chars + d.chars} }

// raised is a limit that lets something go through besides.
func (c cost) raised(by cost) cost {
	c.tokens += by.tokens
	if c.chars > 0 {
		c.chars += by.chars
	}
	return c
}

// within reports whether a cost keeps a limit.
func (c cost) within(limit cost) bool {
	return c.tokens <= limit.tokens && (limit.chars == 0 || c.chars <= limit.chars)
}

// tally adds up the tokens of a rendered prompt from the counts that were stored with its texts, so that a long
// history is not counted again for each prompt. It rests on two facts about the tokenizer, which the tests hold: a
// text splits into the same pieces on either side of a boundary (see boundary), so counts add up there; and a line
// break begins nothing that follows it, as long as that is neither white space nor a slash.
//
// A tally is for one prompt and not for concurrent use.
type tokenCounter struct {
	counter Counter
	// fixed are counts of the formats' own texts, shared by all prompts of a service.
	fixed *sync.Map
	// joints are counts of the texts' first and last words: many begin and end alike, and counting starts afresh for
	// each. They are parts of what users said, so they live as long as one prompt.
	edges map[string]int
}

// count counts a text that was not counted before.
func (t tokenCounter) count(text string) int {
	if text == "" {
		return 0
	}
	return t.counter.Count(text)
}

// constant counts a text of the formats' own, once a process. Digits are counted as zeros: any one to three of them
// are one token.
func (t tokenCounter) constant(text string) int {
	shape := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return '0'
		}
		return r
	}, text)
	if n, ok := t.fixed.Load(shape); ok {
		return n.(int)
	}
	n := t.count(shape)
	t.fixed.Store(shape, n)
	return n
}

// shortBody is the length in bytes up to which counting anew is cheaper than joining.
const shortBody = 96

// framed returns the tokens of lead + space + body + tail, where lead ends in a visible sign, space stands between
// unless lead is empty, and tail is empty or a line feed. stored is the body's own count, 0 where it is not known. The
// result is exact, or a little too high for long bodies without a boundary near their ends; loose says that it may be so
// for the tail.
func (t tokenCounter) framed(prefix, body, tail string, stored int) (tokens int, loose bool) {
	space := ""
	prefixTokens := 0
	switch {
	case prefix != "":
		space, prefixTokens = " ", t.constant(prefix)
	case tail != "" && strings.HasPrefix(body, "/"):
		prefixTokens = slashReserve
	}
	if stored == 0 || len(body) <= shortBody {
		return prefixTokens + t.count(space+body+tail), false
	}
	least, most := t.tailDelta(body, tail)
	return prefixTokens + stored + t.headDelta(space, body) + most, least != most
}

// joint counts the beginning or the end of a text, once a prompt.
func (t tokenCounter) edge(text string) int {
	n, ok := t.edges[text]
	if !ok {
		n = t.count(text)
		t.edges[text] = n
	}
	return n
}

// slashReserve is what a slash that begins a line may add: it joins the line break before it.
const slashReserve = 2

// slack is what a joint may add where no boundary is near.
const slack = 8

// headDelta is what a space before the body adds to its count.
func (t tokenCounter) headDelta(space, body string) int {
	if space == "" {
		return 0
	}
	i := firstBoundary(body)
	if i < 0 {
		return slack
	}
	return t.edge(space+body[:i]) - t.edge(body[:i])
}

// tailDelta is what line feeds behind the body add to its count, at least and at most: the two differ where no boundary
// is near.
func (t tokenCounter) tailDelta(body, tail string) (least, most int) {
	if tail == "" {
		return 0, 0
	}
	last, size := utf8.DecodeLastRuneInString(body)
	if unicode.IsLetter(last) || unicode.IsDigit(last) {
		return 1, 1
	}
	before, _ := utf8.DecodeLastRuneInString(body[:len(body)-size])
	if (last == '.' || last == '!' || last == '?') && unicode.IsLetter(before) {
		return 0, 0 // ".\n", "!\n" and "?\n" are one token each, as are the signs alone
	}
	i := lastBoundary(body)
	if i < 0 {
		return 0, slack
	}
	delta := t.edge(body[i:]+tail) - t.edge(body[i:])
	return delta, delta
}

// reach is how far from a text's ends a boundary is looked for.
const reach = 96

// firstBoundary returns the first boundary of a text, -1 where none is near.
func firstBoundary(text string) int {
	var before rune
	for i, r := range text {
		if i > reach {
			break
		}
		if i > 0 && boundary(before, r) {
			return i
		}
		before = r
	}
	return -1
}

// lastBoundary returns the last boundary of a text, -1 where none is near.
func lastBoundary(text string) int {
	end := len(text)
	behind, size := utf8.DecodeLastRuneInString(text)
	for end -= size; end > 0 && end > len(text)-reach; {
		r, size := utf8.DecodeLastRuneInString(text[:end])
		if boundary(r, behind) {
			return end
		}
		behind = r
		end -= size
	}
	return -1
}

// boundary reports whether the tokenizer always splits between two characters: between a letter and what is neither
// letter, mark nor apostrophe, and between anything visible and a space.
func boundary(before, after rune) bool {
	if unicode.IsLetter(before) {
		return !unicode.IsLetter(after) && !unicode.Is(unicode.M, after) && after != '\'' && after != '\u2019'
	}
	return after == ' ' && !unicode.IsSpace(before)
}
