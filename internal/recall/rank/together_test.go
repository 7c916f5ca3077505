package rank_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestTogether compares messages of the same words and the same length: where the query's words follow one after the
// other, with others between them, far from each other, and in two parts of a message.
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
	const none, some, all = 0, 2. / 3, 1 // of the words; all are as rare
	for name, tt := range map[string]struct {
		other []rank.Candidate
		want  float64
	}{
		"the same":              {said("other", "lisbon rust oven "+filler(120)), all},
		"with others between":   {said("other", "oven walk walk lisbon walk walk rust "+filler(116)), all},
		"one of them is far":    {said("other", "oven walk lisbon walk walk walk rust "+filler(116)), some},
		"all of them are far":   {said("other", "oven walk walk walk lisbon walk walk walk rust "+filler(114)), none},
		"pairs of the same":     {said("other", "oven oven walk walk walk rust rust "+filler(116)), none},
		"in one of two parts":   {said("other", filler(60), "oven lisbon rust "+filler(60)), all},
		"in two parts":          {said("other", filler(60)+"oven rust", "lisbon "+filler(60)), some},
		"at an edge of parts":   {said("other", filler(60)+"oven", "lisbon walk walk walk rust "+filler(57)), none},
		"two here, two there":   {said("other", "oven rust "+filler(60)+"rust lisbon "+filler(59)), all},
		"in accents and beside": {said("other", "oven rust élan lisbon "+filler(119)), all},
	} {
		pool := slices.Concat(tt.other, sentence, said("short", "walk"))
		if got := feature(t, "together", asked, pool...); math.Abs(got-tt.want) > 0.02 {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestTogetherOfOneWord gives a query of a single word the whole feature.
func TestTogetherOfOneWord(t *testing.T) {
	t.Parallel()
	said := rank.Candidate{ID: "said", Session: "s", Role: "user", Text: "The oven is hot."}
	other := rank.Candidate{ID: "other", Session: "other", Role: "user", Text: "a lake with a tree"}
	check.Equal(t, 1, feature(t, "together", "oven", said, other), "together")
}

// TestTogetherNeedsTwoWords checks that a message has the feature if two words of the query are at most three words
// from each other, and only then.
func TestTogetherNeedsTwoWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.SliceOfN(rapid.SampledFrom([]string{"oven", "rust", "walk", "tree", "lake"}), 1, 20).Draw(t, "said")
		want := false
		for i, word := range said {
			for _, other := range said[i+1 : min(i+4, len(said))] {
				want = want || word == "oven" && other == "rust" || word == "rust" && other == "oven"
			}
		}
		message := rank.Candidate{ID: "said", Session: "s", Role: "user", Text: strings.Join(said, " ")}
		other := rank.Candidate{ID: "other", Session: "other", Role: "user", Text: "oven of a walk by the lake, rust"}
		row := rank.Features(rank.NewQuery("oven rust", now), []rank.Candidate{other, message}).Row(1)
		if got := row[slices.Index(rank.Names[:], "together")]; (got > 0) != want {
			t.Errorf("%v: %v", said, got)
		}
	})
}
