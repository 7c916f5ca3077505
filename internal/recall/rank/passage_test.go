package rank_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/recall/rank"
)

// TestPassage takes the sentences with the query's words out of a long text.
func TestPassage(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("We talked about the weather. ", 40)
	text := filler + "My knee hurts since March. The doctor calls it a tear. " + filler + "My knee is fine. " + filler
	for query, begins := range map[string]string{
		"What does the doctor say about my knee?": "My knee hurts",
		"doctor":               "The doctor",
		"knee":                 "My knee hurts", // and not the one that is fine
		"What does Rosa like?": "We talked",
		"Hello!":               "We talked",
	} {
		from, to := rank.NewQuery(query, now).Passage(text, 60)
		if at := strings.Index(text, begins); from != at || to != at+60 {
			t.Errorf("%s: %q", query, text[from:to])
		}
	}
	if from, to := rank.NewQuery("knee", now).Passage("A knee.", 60); from != 0 || to != 7 {
		t.Errorf("of a short text %d to %d", from, to)
	}
}

// TestPassageOfAnyText checks that a passage is a part of the text, of whole characters, as long as it may be unless
// the text ends.
func TestPassageOfAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.StringN(0, 300, -1).Draw(t, "text"), rapid.IntRange(1, 90).Draw(t, "n")
		words := rapid.StringN(0, 20, -1).Draw(t, "query") + " " + text[len(text)/2:]
		from, to := rank.NewQuery(words, now).Passage(text, n)
		if from < 0 || from > to || to > len(text) {
			t.Fatalf("%d to %d of %d", from, to, len(text))
		}
		part := text[from:to]
		if utf8.ValidString(text) && !utf8.ValidString(part) || utf8.RuneCountInString(part) > n {
			t.Fatalf("%q for at most %d characters", part, n)
		}
		if utf8.RuneCountInString(part) < n && to < len(text) {
			t.Fatalf("%q is less than %d characters, and the text goes on", part, n)
		}
	})
}

// TestBrief checks that the side which writes shorter messages is known, and that there is none where both write alike.
func TestBrief(t *testing.T) {
	t.Parallel()
	said := func(role string, words int) rank.Candidate {
		return rank.Candidate{ID: fmt.Sprint(role, words), Role: role, Text: strings.Repeat("word ", words)}
	}
	for name, tt := range map[string]struct {
		pool  []rank.Candidate
		gains bool
	}{
		"user":             {[]rank.Candidate{said("user", 20), said("assistant", 400)}, true},
		"assistant":        {[]rank.Candidate{said("assistant", 20), said("user", 400)}, true},
		"the one of pages": {[]rank.Candidate{said("assistant", 400), said("user", 20)}, false},
		"alike":            {[]rank.Candidate{said("assistant", 20), said("user", 20)}, false},
		"a monologue":      {[]rank.Candidate{said("user", 20), said("user", 400)}, false},
		"short, of the long": {[]rank.Candidate{
			said("assistant", 5), said("assistant", 400), said("assistant", 401), said("user", 20),
		}, false},
	} {
		if got := feature(t, "brief", "word", tt.pool...); (got > 0) != tt.gains {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPassageOfTheLongestMessage finds a sentence wherever it lies in the longest text that a message may have.
func TestPassageOfTheLongestMessage(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("We talked about the weather. ", 4_500)
	text := filler + "I am allergic to lychee. " + filler
	from, _ := rank.NewQuery("What about lychee?", now).Passage(text, 60)
	if from != len(filler) {
		t.Errorf("%q", text[from:from+60])
	}
}
