package word

import "iter"

// RunsOf iterates over the words of a text before they are stemmed.
func RunsOf(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for r := range runs(Fold(text)) {
			if !yield(r.text) {
				return
			}
		}
	}
}
