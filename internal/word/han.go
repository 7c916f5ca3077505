package word

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed simplified.txt
var simplifiedFile string

// simplified has the simplified form of traditional characters. It is read when the first text in Han is folded.
var simplified = sync.OnceValue(func() map[rune]rune {
	out := map[rune]rune{}
	for line := range strings.Lines(simplifiedFile) {
		if line[0] == '#' {
			continue
		}
		for pair := range strings.FieldsSeq(line) {
			from, size := utf8.DecodeRuneInString(pair)
			out[from], _ = utf8.DecodeRuneInString(pair[size:])
		}
	}
	return out
})

// traditional has the characters that are folded to a simplified one.
var traditional = sync.OnceValue(func() map[rune][]rune {
	out := map[rune][]rune{}
	for from, to := range simplified() {
		out[to] = append(out[to], from)
	}
	return out
})

const (
	firstHiragana, lastHiragana = 'ぁ', 'ゖ'
	firstKatakana, lastKatakana = 'ァ', 'ヶ'
	firstHangul, lastHangul     = '가', '힣'
	firstHan, lastHan           = '一', '鿿' // those in use; rare ones lie elsewhere
	// betweenKana is how far a letter of katakana is behind that of hiragana.
	betweenKana = 'ァ' - 'ぁ'
	prolonged   = 'ー'
)

// isKana reports whether a rune is a letter of hiragana or katakana, in full width.
func isKana(r rune) bool {
	return r >= firstHiragana && r <= 'ヿ' && (r <= lastHiragana || r == 'ゝ' || r == 'ゞ' ||
		r >= firstKatakana && r <= lastKatakana || r == prolonged || r == 'ヽ' || r == 'ヾ')
}

// isHangul reports whether a rune is a syllable of Korean.
func isHangul(r rune) bool { return r >= firstHangul && r <= lastHangul }

// simplest folds a letter of kana or a character of Han.
func simplest(r rune) rune {
	switch {
	case r >= firstKatakana && r <= lastKatakana || r == 'ヽ' || r == 'ヾ':
		return r - betweenKana
	case r > lastKatakana:
		if to, known := simplified()[r]; known {
			return to
		}
	}
	return r
}

// variants calls each rune that simplest folds to this one, and the rune itself.
func variants(r rune, each func(r rune)) {
	each(r)
	switch {
	case r >= firstHiragana && r <= lastHiragana || r == 'ゝ' || r == 'ゞ':
		each(r + betweenKana)
	default:
		for _, from := range traditional()[r] {
			each(from)
		}
	}
}
