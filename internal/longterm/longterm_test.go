package longterm_test

import (
	"testing"

	"github.com/throughline/throughline/internal/longterm"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"Likes tea": "likes tea", " LIKES\n TEA ! ": "likes tea", "Likes tea...": "likes tea", "膝が痛い。": "膝が痛い",
		"My dog is Zoe\u0308.": "my dog is zoë", "ＣＡＦＥ！": "cafe", "Straße…": "strasse", "Kilo\u00admetre": "kilometre",
		"Body fat 20%": "body fat 20%", "?!": "?!", "": "",
	} {
		if got := longterm.Normalize(content); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", content, got, want)
		}
	}
}
