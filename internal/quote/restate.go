package quote

import (
	"maps"
	"slices"
	"strings"
)

// smallWords are the words in which a statement of a person differs from the same statement about that person.
var smallWords = strings.Fields(`i me my m ve am is are s the a an have has to of user they their them you know by way
	also just please note that remember so`)

// Restates reports whether two short texts say the same in nearly the same words: what is left of both without small
// words is equal, whatever its order. A word with not or no, and a word about another person, makes a difference.
func Restates(a, b string) bool {
	said := contentWords(a)
	return len(said) > 0 && maps.Equal(said, contentWords(b))
}

// contentWords are the words of a text without small ones and without an s at the end.
func contentWords(text string) map[string]bool {
	words, _ := split(text)
	out := map[string]bool{}
	for _, w := range words {
		if !slices.Contains(smallWords, w) {
			out[strings.TrimSuffix(w, "s")] = true
		}
	}
	return out
}
