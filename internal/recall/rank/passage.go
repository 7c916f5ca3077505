package rank

import (
	"slices"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/word"
)

// Passage returns the part of a text of at most n characters that has most of the query's words: whole sentences one
// after the other, as far as they fit, from one that has such a word. A word counts by how few of the text's sentences
// have it, and once in a part. The beginning is taken where no other part has more. The result is the text's bytes
// from..to.
func (q *Query) Passage(text string, n int) (from, to int) {
	beginning := len(truncate.Runes(text, n))
	if beginning == len(text) || len(q.terms) == 0 {
		return 0, beginning
	}
	spans := q.sentences(truncate.Bytes(text, maxPassageBytes))
	rarity := make([]float64, len(q.terms))
	for _, s := range spans {
		for _, term := range s.terms {
			rarity[term]++
		}
	}
	best, at := q.valueOf(spans, rarity, n), 0
	for i, s := range spans {
		if len(s.terms) == 0 {
			continue
		}
		if value := q.valueOf(spans[i:], rarity, n); value > best+leastGain {
			best, at = value, i
		}
	}
	if at == 0 {
		return 0, beginning
	}
	from = spans[at].from
	return from, from + len(truncate.Runes(text[from:], n))
}

const (
	// maxPassageBytes is how much of a text is searched for its passage: all that a message may have.
	maxPassageBytes = 256 << 10
	// leastGain is how much better a later part has to be.
	leastGain = 1e-9
)

// sentence is a sentence of a text: where it begins, its characters, and which of the query's terms it has.
type sentence struct {
	from, chars int
	terms       []int
}

// sentences reads the sentences of a text.
func (q *Query) sentences(text string) []sentence {
	finder := word.NewFinder(q.asked)
	var out []sentence
	for from, s := range truncate.SentencesAt(text) {
		hits, _ := finder.Append(nil, s, 0)
		one := sentence{from: from, chars: utf8.RuneCountInString(s)}
		for _, h := range hits {
			if term := int(h.Term); !slices.Contains(one.terms, term) {
				one.terms = append(one.terms, term)
			}
		}
		out = append(out, one)
	}
	return out
}

// valueOf is the value of the first sentences that fit n characters, of the first one whatever its length.
func (q *Query) valueOf(spans []sentence, rarity []float64, n int) float64 {
	value, seen := 0.0, make([]bool, len(rarity))
	for i, s := range spans {
		if n -= s.chars; i > 0 && n < 0 {
			break
		}
		for _, term := range s.terms {
			if !seen[term] {
				seen[term] = true
				value += q.asked.Share(term) / rarity[term]
			}
		}
	}
	return value
}
