package offlinemodel

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// maxTags is how many topics a conversation has at most.
const maxTags = 5

// tags returns the topics of the summary so far and of the new messages: the words that have most weight, in lower
// case.
func (s *summarizer) tags(t transcript) []any {
	type term struct {
		word  string
		count float64
	}
	var order []string
	counted := map[string]*term{}
	old, _ := s.previousUnits(t.previous)
	for _, u := range append(old, s.turnUnits(t.turns)...) {
		for _, w := range splitWords(u.text) {
			stem := s.lex.stem(w.lower)
			if w.kind == vocativeWord || s.lex.stop[w.lower] || s.lex.weight(stem) < 1 || !meaningful(w.lower) ||
				slices.Contains(reportWords, stem) {
				continue
			}
			if counted[stem] == nil {
				counted[stem] = &term{word: w.lower}
				order = append(order, stem)
			}
			counted[stem].count += u.trust
		}
	}
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Compare(counted[b].count*s.lex.weight(b), counted[a].count*s.lex.weight(a))
	})
	tags := []any{}
	for _, stem := range order[:min(len(order), maxTags)] {
		tags = append(tags, counted[stem].word)
	}
	return tags
}

// meaningful reports whether a word says something alone: it has a few letters, or is a long number.
func meaningful(word string) bool {
	const letters, digits = 3, 4
	if strings.ContainsFunc(word, unicode.IsLetter) {
		return len(word) >= letters
	}
	return len(word) >= digits
}
