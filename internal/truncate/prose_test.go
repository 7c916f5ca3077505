package truncate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/truncate"
)

// A sentence ends in each script as its readers end it.
func TestSentences(t *testing.T) {
	t.Parallel()
	for _, want := range [][]string{
		{"I run.", "Do you?", "Yes!"},
		{"It costs 3.5 km.", "Fine."},
		{"У меня аллергия на арахис.", "Врач сказал: анафилаксия!"},
		{"膝が痛いです。", "走れますか？", "はい！"},
		{"我对花生过敏。", "真的！"},
		{"मुझे मूंगफली से एलर्जी है।", "सच में।"},
		{"عندي حساسية من الفول السوداني؟", "نعم."},
		{"Έχω αλλεργία.", "Ναι!"},
		{"ፍሬ አልበላም።", "እሺ።"},
	} {
		joined := strings.Join(want, " ")
		if strings.ContainsAny(joined, "。") {
			joined = strings.Join(want, "")
		}
		check.Same(t, want, truncate.Sentences(joined), "%q", joined)
	}
}

func TestProse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"One. Two.", 9, "One. Two."},
		{"One. Two.", 7, "One."},
		{"One two. Three four.", 12, "One two."},
		{"One. Two three four five six.", 20, "One. Two three…"},
		{"膝が痛いです。走れますか？はい、走れます。", 15, "膝が痛いです。走れますか？"},
		{"मुझे एलर्जी है। दूध नहीं पीता हूँ।", 20, "मुझे एलर्जी है।"},
		{"ฉันแพ้ถั่วลิสงมากและกินไม่ได้", 10, "ฉันแพ้ถั่…"},
	} {
		check.Equal(t, tt.want, truncate.Prose(tt.text, tt.n), "Prose(%q, %d)", tt.text, tt.n)
	}
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(2, 60).Draw(t, "n")
		got := truncate.Prose(text, n)
		isPrefix := strings.HasPrefix(text, strings.TrimSuffix(got, "…"))
		if utf8.RuneCountInString(got) > n || !isPrefix || utf8.RuneCountInString(text) <= n && got != text {
			t.Fatalf("Prose(%q, %d) = %q", text, n, got)
		}
	})
}
