package quote

import "strings"

// smallWords are the words in which a statement of a person differs from the same statement about that person.
var smallWords = setOf(strings.Fields(`i me my m ve am is are s the a an have has to of user they their them you know by
	way also just please note that remember so`))

func setOf(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// Statement is a short text by its words. It does not change.
type Statement struct{ words map[string]bool }

// NewStatement reads a text. Small words, and an s at the end of a word, do not count.
func NewStatement(text string) Statement {
	words := map[string]bool{}
	for w := range wordsOf(text) {
		if !smallWords[w] {
			words[strings.TrimSuffix(w, "s")] = true
		}
	}
	return Statement{words}
}

// IsRestatedBy reports whether a text says the same in nearly the same words: the words of both are equal, whatever
// their order. A word with not or no, and a word about another person, makes a difference. A text with other words is
// read up to the first of them.
func (s Statement) IsRestatedBy(text string) bool {
	seen := map[string]bool{}
	for w := range wordsOf(text) {
		if smallWords[w] {
			continue
		}
		if w = strings.TrimSuffix(w, "s"); !s.words[w] {
			return false
		}
		seen[w] = true
	}
	return len(seen) > 0 && len(seen) == len(s.words)
}
