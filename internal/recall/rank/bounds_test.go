package rank_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/recall/rank"
	"pgregory.net/rapid"
)

// TestWordsOfText checks how many words a text has, and whether it has the query's, wherever they stand in it: the text
// is read in chunks of bytes.
func TestWordsOfText(t *testing.T) {
	t.Parallel()
	length, all := slices.Index(rank.Names[:], "length"), slices.Index(rank.Names[:], "allWords")
	counts := map[string]int{
		"oven": 1, "Oven's": 1, "a": 1, "x86": 1, "A": 1, "Z": 1, "z": 1, "0": 1, "9": 1,
		"don't": 1, "'quoted'": 1, "'": 0, "''": 0, "Zürich": 1, "日本": 1, "日本語": 2, "Anna’s": 1,
		strings.Repeat("z", 70): 1,
	}
	said := slices.Sorted(maps.Keys(counts))
	separators := []string{" ", "/", "@", "[", "`", "{", ":", "&", "(", ".\n", "\x00", "\x7f"} // most are next to letters
	rapid.Check(t, func(t *rapid.T) {
		text, words, oven := strings.Repeat(" ", rapid.IntRange(0, 130).Draw(t, "indent")), 0, false
		for _, word := range rapid.SliceOfN(rapid.SampledFrom(said), 1, 16).Draw(t, "words") {
			text += word + rapid.SampledFrom(separators).Draw(t, "separator")
			words += counts[word]
			oven = oven || word == "oven" || word == "Oven's"
		}
		if rapid.Bool().Draw(t, "cut") {
			text = text[:len(text)-1] // a text may end with a word
		}
		row := rank.Features(rank.NewQuery("oven", now), []rank.Candidate{{ID: "said", Role: "user", Text: text}}).Row(0)
		if got := row[length] * 16; math.Abs(got-float64(min(words, 16))) > 1e-9 || row[all] > 0 != oven {
			t.Errorf("%q: %v words, allWords %v; want %d, %v", text, got, row[all], words, oven)
		}
	})
}
