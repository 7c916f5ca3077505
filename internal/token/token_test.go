package token_test

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/token"
)

// reference holds texts with their counts as tiktoken's o200k_base gives them.
//
//go:embed testdata/reference.json
var reference []byte

type counted struct {
	Name   string
	Text   string
	Tokens int
}

func corpus(t *testing.T) []counted {
	t.Helper()
	var all []counted
	check.OK(t, json.Unmarshal(reference, &all))
	if len(all) < 30 {
		t.Fatalf("the corpus has %d texts", len(all))
	}
	return all
}

func TestCountEqualsTheReference(t *testing.T) {
	t.Parallel()
	c := token.New()
	for _, want := range corpus(t) {
		t.Run(want.Name, func(t *testing.T) {
			t.Parallel()
			if got := c.Count(want.Text); got != want.Tokens {
				t.Errorf("Count = %d, the reference says %d", got, want.Tokens)
			}
		})
	}
}

// A text may be counted line by line, if no line begins with white space or a slash. Prompts are counted in this way.
func TestCountsOfLinesAddUp(t *testing.T) {
	t.Parallel()
	c := token.New()
	for _, a := range corpus(t) {
		for _, b := range corpus(t) {
			head, tail := strings.TrimSpace(a.Text)+"\n", "- "+b.Text
			if got, want := c.Count(head+tail), c.Count(head)+c.Count(tail); got != want {
				t.Fatalf("%s + %s: %d, the parts are %d", a.Name, b.Name, got, want)
			}
		}
	}
}

func TestCountNeverExceedsAtMost(t *testing.T) {
	t.Parallel()
	c := token.New()
	rapid.Check(t, func(t *rapid.T) {
		spaced := rapid.StringOf(rapid.SampledFrom([]rune("\n \t\r\u00a0\u3000a.1é/\u0301")))
		text := rapid.OneOf(rapid.String(), spaced).Draw(t, "text")
		if n := c.Count(text); n > token.AtMost(text) || (n == 0) != (text == "") {
			t.Fatalf("Count(%q) = %d", text, n)
		}
	})
}

// The limit is a multiple of the time for plain English of the same length, so it holds on a slow machine too. Linear
// work takes up to about 20 times as long as plain English, and quadratic work 1,000 times. The test does not run in
// parallel with others, because it measures time.
func TestCountIsFastOnPathologicalText(t *testing.T) {
	c := token.New()
	c.Count("\n \n")
	const size = 48 << 10
	limit := 100 * timed(c, "and then we go home ", size)
	for _, unit := range []string{
		"a", "A", "Aa", " ", "\n", "\r\n", "\n ", " \n", "\n\t", "\r ", "\n\n ", "a\n ", ".\n ", "\u00a0", "\u3000\n",
		"\n\u3000", "\u0301", "e\u0301", "é", "漢", "😀", "👩‍👧", "0", "1 ", "/", "/\n", "'", "'s", "\x00", "\xff", "_",
		"- ", "zqxj", "Aʰ", "\u200d", "<|",
	} {
		if took := timed(c, unit, size); took > limit {
			t.Errorf("%q repeated takes %v, the limit is %v", unit, took, limit)
		}
	}
}

func timed(c *token.Counter, unit string, size int) time.Duration {
	text := strings.Repeat(unit, size/len(unit))
	start := time.Now()
	c.Count(text)
	return time.Since(start)
}

func TestEveryCharacterCounts(t *testing.T) {
	t.Parallel()
	c := token.New()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if utf8.ValidRune(r) && c.Count(string(r)) < 1 {
			t.Errorf("%U counts as no token", r)
		}
	}
	for text, want := range map[string]int{"\x7f": 1, "\x7f\x7f": 2, "a\x7fb": 3, "!\x7f": 2} {
		check.Equal(t, want, c.Count(text), "Count(%q)", text)
	}
}

func TestCountIsConcurrent(t *testing.T) {
	t.Parallel()
	c := token.New()
	texts := corpus(t)
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for _, want := range texts {
				check.Equal(t, want.Tokens, c.Count(want.Text), "%s", want.Name)
			}
		})
	}
	wait.Wait()
}

func BenchmarkWarm(b *testing.B) {
	for b.Loop() {
		token.New().Warm()
	}
}

func BenchmarkCount120000Characters(b *testing.B) {
	c := token.New()
	c.Warm()
	text := strings.Repeat("Can we swap the barbell hip thrusts for banded glute bridges, please? ", 1715)[:120_000]
	for b.Loop() {
		c.Count(text)
	}
}
