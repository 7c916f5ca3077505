package truncate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/truncate"
)

// The end of a long text stays, too: "I am on warfarin now" may be there.
func TestMiddle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"plain", 5, "plain"},
		{"one two three four five", 16, "one two […] ive"},
		{"日本語の長い文章です。薬を飲んでいます。", 17, "日本語の長い文章 […] います。"},
		{"🏋🏽🏋🏽🏋🏽🏋🏽", 6, "🏋 […] "},
		{"abcdefgh", 2, " […] "},
	} {
		check.Equal(t, tt.want, truncate.Middle(tt.text, tt.n), "Middle(%q, %d)", tt.text, tt.n)
	}
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(8, 40).Draw(t, "n")
		got := truncate.Middle(text, n)
		if utf8.RuneCountInString(got) > n || utf8.RuneCountInString(text) <= n && got != text {
			t.Fatalf("Middle(%q, %d) = %q", text, n, got)
		}
	})
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text               string
		n                  int
		bytes, last, runes string
	}{
		{"plain", 9, "plain", "plain", "plain"},
		{"plain", 5, "plain", "plain", "plain"},
		{"plain", 2, "pl", "in", "pl"},
		{"müßig", 2, "m", "ig", "mü"},
		{"müßig", 3, "mü", "ig", "müß"},
		{"müßig", 4, "mü", "ßig", "müßi"},
		{"🏋🏽", 4, "🏋", "🏽", "🏋🏽"},
		{"🏋🏽", 3, "", "", "🏋🏽"},
		{"é", 0, "", "", ""},
		{"é", -1, "", "", ""},
		{"", 0, "", "", ""},
	} {
		check.Equal(t, tt.bytes, truncate.Bytes(tt.text, tt.n), "Bytes(%q, %d)", tt.text, tt.n)
		check.Equal(t, tt.last, truncate.LastBytes(tt.text, tt.n), "LastBytes(%q, %d)", tt.text, tt.n)
		check.Equal(t, tt.runes, truncate.Runes(tt.text, tt.n), "Runes(%q, %d)", tt.text, tt.n)
	}
}

// Every result is a valid beginning or end of the text, within its limit, and one character more would pass it.
func TestTruncateKeepsCharacters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(0, 20).Draw(t, "n")
		first, last, runes := truncate.Bytes(text, n), truncate.LastBytes(text, n), truncate.Runes(text, n)
		if !utf8.ValidString(first) || !strings.HasPrefix(text, first) || len(first) > n ||
			len(first) < min(n-utf8.UTFMax+1, len(text)) {
			t.Errorf("Bytes: %q", first)
		}
		if !utf8.ValidString(last) || !strings.HasSuffix(text, last) || len(last) > n ||
			len(last) < min(n-utf8.UTFMax+1, len(text)) {
			t.Errorf("LastBytes: %q", last)
		}
		want := min(n, utf8.RuneCountInString(text))
		if !strings.HasPrefix(text, runes) || utf8.RuneCountInString(runes) != want {
			t.Errorf("Runes: %q", runes)
		}
	})
}
