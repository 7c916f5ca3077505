package untrusted

import (
	"slices"
	"testing"
	"unicode/utf8"
)

// TestLeadsAreComplete looks at every character that a control token may begin with.
func TestLeadsAreComplete(t *testing.T) {
	t.Parallel()
	for r := range rune(utf8.MaxRune) + 1 {
		if first := string(r)[0]; opens(r) && !slices.Contains(leads, first) {
			t.Errorf("%q begins with %#x, which is not among the leads", r, first)
		}
	}
}
