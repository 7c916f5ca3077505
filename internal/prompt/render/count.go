package render

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/llm"
)

// Constants has the token counts of the formats' own texts. Its zero value is empty. It is safe for concurrent use.
type Constants struct{ sync.Map }

// tokenCounter adds up the tokens of a rendered prompt from the counts that are stored with its texts, so that a long
// history is not counted again for each prompt. It relies on two properties of the tokenizer, which tests hold:
//
//   - The tokenizer always splits at a boundary (see isBoundary), so the counts of the text before it and the text
//     after it add up.
//   - A line feed does not join the text that follows it, unless that text begins with white space or a slash.
//
// A tokenCounter is for one prompt. It is not safe for concurrent use.
type tokenCounter struct {
	counter llm.Counter
	// constants has the counts of the formats' own texts. All prompts of a service share it.
	constants *Constants
	// edges holds the counts of the texts' first and last words, of which many are equal. They are parts of what users
	// said, so they are dropped with the prompt.
	edges map[string]int
}

// count counts a text that has no stored count.
func (t tokenCounter) count(text string) int {
	if text == "" {
		return 0
	}
	return t.counter.Count(text)
}

// constant counts one of the formats' own texts, once per process. It counts each digit as a zero, because one to three
// digits are always one token.
func (t tokenCounter) constant(text string) int {
	shape := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return '0'
		}
		return r
	}, text)
	if n, ok := t.constants.Load(shape); ok {
		return n.(int)
	}
	n := t.count(shape)
	t.constants.Store(shape, n)
	return n
}

// joinReserve is what a slash or white space at the beginning of a text may add, because it joins the line feed before
// it.
const joinReserve = 2

// shortBodyBytes is the length up to which counting a body again is cheaper than counting its edges.
const shortBodyBytes = 24

// framed returns the tokens of prefix + space + body + suffix. The prefix ends in a visible character, and no space is
// written after an empty one; the suffix is empty or line feeds. stored is the body's own count, or 0 if it is unknown.
func (t tokenCounter) framed(prefix, body, suffix string, stored int) int {
	if prefix == "" && suffix == "" && stored > 0 {
		return stored
	}
	space, tokens := "", 0
	switch {
	case prefix != "":
		space, tokens = " ", t.constant(prefix)
	case suffix != "" && joinsLineFeed(body):
		tokens = joinReserve
	}
	first, last := 0, len(body)
	if space != "" {
		first = firstBoundary(body)
	}
	if suffix != "" {
		last = lastBoundary(body)
	}
	if stored == 0 || len(body) <= shortBodyBytes || first < 0 || last < 0 {
		return tokens + t.count(space+body+suffix)
	}
	return tokens + stored + t.added(space, body[:first], "") + t.added("", body[last:], suffix)
}

// joinsLineFeed reports whether a text's first character may join a line feed before it.
func joinsLineFeed(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return first == '/' || unicode.IsSpace(first)
}

// added is what text before and after an edge of a body adds to the body's count. The edge ends at a boundary.
func (t tokenCounter) added(before, edge, after string) int {
	return t.edge(before+edge+after) - t.edge(edge)
}

// edge counts the beginning or the end of a text, once per prompt.
func (t tokenCounter) edge(text string) int {
	n, ok := t.edges[text]
	if !ok {
		n = t.count(text)
		t.edges[text] = n
	}
	return n
}

// boundaryReachBytes is how far from the ends of a text a boundary is looked for.
const boundaryReachBytes = 96

// firstBoundary returns the index of the first boundary in a text that follows a space, or -1 if none is near its
// beginning.
func firstBoundary(text string) int {
	before := ' '
	for i, r := range text {
		if i > boundaryReachBytes {
			break
		}
		if isBoundary(before, r) {
			return i
		}
		before = r
	}
	return -1
}

// lastBoundary returns the index of the last boundary in a text to which line feeds are added, or -1 if none is near
// its end. The end of the text is a boundary itself if it is one before a line feed.
func lastBoundary(text string) int {
	after := '\n'
	for end := len(text); end > 0 && end > len(text)-boundaryReachBytes; {
		before, size := utf8.DecodeLastRuneInString(text[:end])
		if isBoundary(before, after) {
			return end
		}
		after = before
		end -= size
	}
	return -1
}

// isBoundary reports whether the tokenizer always splits between two characters: after a letter, unless a letter, a
// mark or an apostrophe follows, and before a space that follows a visible character.
func isBoundary(before, after rune) bool {
	if unicode.IsLetter(before) {
		return !unicode.IsLetter(after) && !unicode.Is(unicode.M, after) && after != '\''
	}
	return after == ' ' && !unicode.IsSpace(before)
}
