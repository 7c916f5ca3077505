package token

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
)

// The tokenizer takes white space up to its last line break as one piece: `\s*[\r\n]+`. The library's expression ends
// such a piece at the first group of line breaks. It therefore counts too many tokens for a blank line with spaces, and
// its time for many such lines is quadratic. This file counts those runs, which it calls mixed.

// maxPiece is the longest piece, in bytes, that is merged at once. Longer runs of mixed white space are merged in
// parts, which keeps the time linear. Their count is then not exact, but text has no such runs.
const maxPiece = 128

// mixedRun returns the bounds of the first piece of mixed white space at or after from, or -1 and -1.
func mixedRun(text string, from int) (start, end int) {
	for at := from; ; {
		i := strings.IndexAny(text[at:], "\r\n")
		if i < 0 {
			return -1, -1
		}
		first := at + i
		last, runEnd, mixed := lineBreaks(text, first)
		if mixed {
			if start = pieceStart(text, from, first); isMixed(text[start:last]) {
				return start, last
			}
		}
		at = runEnd
	}
}

// lineBreaks reads the white space that begins with the line break at first. It returns the end of its last line break,
// its own end, and whether there is other white space between two line breaks.
func lineBreaks(text string, first int) (last, end int, mixed bool) {
	end, last = first, first
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if !unicode.IsSpace(r) {
			break
		}
		if r == '\n' || r == '\r' {
			mixed = mixed || end > last
			last = end + size
		}
		end += size
	}
	return last, end, mixed
}

// isMixed reports whether white space that ends in a line break has other white space after its first line break.
func isMixed(run string) bool {
	first := strings.IndexAny(run, "\r\n")
	return first >= 0 && strings.Trim(run[first:], "\r\n") != ""
}

// pieceStart returns the start of the piece with the line break at first. The piece includes the white space before
// that line break. If it directly follows a symbol, it starts after the line breaks that belong to the symbol's own
// piece.
func pieceStart(text string, from, first int) int {
	start := max(len(strings.TrimRightFunc(text[:first], unicode.IsSpace)), from)
	if start < first || start == 0 {
		return start
	}
	r, _ := utf8.DecodeLastRuneInString(text[:start])
	if unicode.In(r, unicode.L, unicode.N, unicode.M) {
		return start
	}
	for start < len(text) && (text[start] == '\n' || text[start] == '\r') {
		start++
	}
	return start
}

// whitespace counts one piece of white space.
func (c *Counter) whitespace(piece string) int {
	c.derive.Do(c.deriveRanks)
	total := 0
	for len(piece) > maxPiece {
		part := truncate.Bytes(piece, maxPiece)
		total += merge(part, c.ranks)
		piece = piece[len(part):]
	}
	return total + merge(piece, c.ranks)
}

// deriveRanks finds the tokens of the vocabulary that white space may merge into. A token's id is its rank.
func (c *Counter) deriveRanks() {
	c.ranks = map[string]int{}
	const vocabulary = 199998
	for id := range uint(vocabulary) {
		if token, err := c.codec.Decode([]uint{id}); err == nil && partOfSpace(token) {
			c.ranks[token] = int(id)
		}
	}
}

// partOfSpace reports whether every byte of the token occurs in the UTF-8 of some white space.
func partOfSpace(token string) bool {
	for i := range len(token) {
		if !spaceBytes[token[i]] {
			return false
		}
	}
	return true
}

// spaceBytes are the bytes that white space is made of.
var spaceBytes = func() (set [256]bool) {
	for r := rune(0); r <= 0x3000; r++ {
		if unicode.IsSpace(r) {
			for _, b := range []byte(string(r)) {
				set[b] = true
			}
		}
	}
	return set
}()

// merge returns how many tokens byte-pair encoding makes of a piece. It repeatedly joins the leftmost of the adjacent
// pairs with the lowest rank.
func merge(piece string, ranks map[string]int) int {
	if _, whole := ranks[piece]; whole {
		return 1
	}
	bounds := make([]int, len(piece)+1)
	for i := range bounds {
		bounds[i] = i
	}
	for {
		best, at := math.MaxInt, -1
		for i := 0; i+2 < len(bounds); i++ {
			if rank, ok := ranks[piece[bounds[i]:bounds[i+2]]]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return len(bounds) - 1
		}
		bounds = append(bounds[:at+1], bounds[at+2:]...)
	}
}
