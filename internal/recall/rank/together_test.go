package rank_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/recall/rank"
)

// TestTogether compares messages of the same words: where they stand in one sentence, over the whole message, at 30
// words' distance, in one part of a message and in two of them.
func TestTogether(t *testing.T) {
	t.Parallel()
	filler := func(n int) string { return strings.Repeat("walk ", n) }
	said := func(id string, parts ...string) (out []rank.Candidate) {
		for _, text := range parts {
			out = append(out, rank.Candidate{ID: id, Session: id, Role: "user", Text: text})
		}
		return out
	}
	const asked = "oven rust Lisbon"
	sentence := said("sentence", filler(60)+"oven rust lisbon "+filler(60))
	for name, tt := range map[string]struct {
		other []rank.Candidate
		same  bool
	}{
		"the same":              {said("other", "oven lisbon rust "+filler(120)), true},
		"with others between":   {said("other", "oven lisbon "+filler(27)+"rust "+filler(93)), true},
		"30 words away":         {said("other", "oven lisbon "+filler(29)+"rust "+filler(91)), false},
		"over the whole":        {said("other", "oven "+filler(60)+"lisbon "+filler(60)+"rust"), false},
		"in one of two parts":   {said("other", filler(60), "oven lisbon rust "+filler(60)), true},
		"over two parts":        {said("other", filler(60)+"oven", "lisbon rust "+filler(60)), false},
		"one of them again":     {said("other", "oven oven oven rust lisbon "+filler(118)), true},
		"in accents and beside": {said("other", "oven rust élan lisbon "+filler(119)), true},
	} {
		rest := said("short", "walk")
		other := feature(t, "together", asked, slices.Concat(tt.other, sentence, rest)...)
		own := feature(t, "together", asked, slices.Concat(sentence, tt.other, rest)...)
		if own != 1 || tt.same != (other > 0.999) || other == 0 {
			t.Errorf("%s: %v beside %v", name, other, own)
		}
	}
}
