// Package word says what the words of a text are and when two of them are the same, for all that compares texts:
// sparse vectors, the ranking of recall, memories, phrases of safety, the offline embedding.
//
// Two texts are the same in their Normal form:
//
//   - compatibility composition (NFKC), so that it does not matter how a letter is typed: composed or not, as a
//     ligature, in full or in half width
//   - full case folding, so that "Straße" and "STRASSE" are one
//   - no format characters and others that are not seen, such as soft hyphens and zero-width spaces
//   - one apostrophe
//
// Texts are searched by their folded form (Fold), which also has:
//
//   - no diacritics on letters of the Latin, Greek, Arabic and Hebrew scripts, "е" for the Russian "ё", and a plain
//     letter for "ø", "ł", "đ", "ı" and their like
//   - digits of ASCII for those of other scripts
//   - hiragana for katakana, and simplified characters for traditional ones (simplified.txt)
//
// Words are those of Unicode Standard Annex 29, cut at all that is no letter, mark or digit. Of a word with an
// apostrophe the article in front of it ("l'eau") or the ending behind it ("knee's") is left out. Stop words (stop.txt)
// are left out and all others are stemmed by the Snowball stemmer of their language. The script tells Russian and
// Arabic, the stop words of the text tell the languages of the Latin script; a text that does not show its language is
// taken for English. A word is folded before it is stemmed, so that "cancion" has the stem of "canción".
//
// Scripts without spaces between words have no such words. Han, kana, Thai, Lao, Khmer and Myanmar are compared by each
// two characters that stand together. Korean words are too, as a noun hardly stands without its particle. A character
// that stands alone is a word, except one of kana, which is a particle. A Korean word of two syllables also has its
// first one, which may be a noun with its particle. A character of Han within a run may be a word, too ("狗" in
// "我养了一只狗"), unless it is a stop word: it counts half, and only where no pair has it (see Weighted).
//
// What has 200 characters of ASCII without a space is encoded data, and has no words.
package word

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Form names what the words of a text are. A change of the normal form, of the segmentation or of the stems needs
// another name, because sparse vectors of two forms find less of each other.
const Form = "3"

// Fold returns the form by which texts are searched.
func Fold(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	return plain(Normal(text))
}

// Normal returns the form in which texts that look the same are the same.
func Normal(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	return norm.NFKC.String(strings.Map(seen, cases.Fold().String(norm.NFKC.String(text))))
}

// unseen are characters that do not change what is read.
var unseen = []*unicode.RangeTable{unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point}

// seen drops runes that are not seen, and has one apostrophe.
func seen(r rune) rune {
	switch {
	case r == '’' || r == 'ʼ':
		return '\''
	case r < utf8.RuneSelf || !unicode.In(r, unseen...):
		return r
	}
	return -1
}

// undecorated are letters that have a plain one and no decomposition.
var undecorated = map[rune]string{
	'ø': "o", 'đ': "d", 'ł': "l", 'ı': "i", 'ħ': "h", 'ŧ': "t", 'æ': "ae", 'œ': "oe", 'ð': "d", 'þ': "th", 'ŋ': "n",
	'ё': "е", 'ـ': "", // the last one only makes an Arabic word longer
}

// decorated are the scripts whose letters are searched without their marks.
var decorated = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew}

// plain returns a text in its Normal form without diacritics, and with one form of digits, kana and Han.
func plain(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	marked := false // the last letter is searched without its marks
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf:
			out.WriteByte(byte(r))
			marked = true
		case unicode.Is(unicode.M, r):
			if !marked {
				out.WriteRune(r)
			}
		case isKana(r) || unicode.Is(unicode.Han, r):
			out.WriteRune(simplest(r))
			marked = false
		case unicode.IsDigit(r):
			out.WriteRune(digit(r))
			marked = true
		default:
			out.WriteString(bare(r, text[i:]))
			marked = unicode.In(r, decorated...)
		}
	}
	return out.String()
}

// digit returns the digit of ASCII that one of another script is. Unicode has the ten of a script in a row.
func digit(r rune) rune {
	for _, of := range unicode.Nd.R16 {
		if rune(of.Lo) <= r && r <= rune(of.Hi) {
			return '0' + (r-rune(of.Lo))%10
		}
	}
	for _, of := range unicode.Nd.R32 {
		if rune(of.Lo) <= r && r <= rune(of.Hi) {
			return '0' + (r-rune(of.Lo))%10
		}
	}
	return r
}

// bare returns a letter without its marks. The text begins with it.
func bare(r rune, text string) string {
	if s, known := undecorated[r]; known {
		return s
	}
	size := utf8.RuneLen(r)
	if !unicode.In(r, decorated...) {
		return text[:size]
	}
	parts := norm.NFD.PropertiesString(text).Decomposition()
	if len(parts) == 0 {
		return text[:size]
	}
	base, size := utf8.DecodeRune(parts)
	if s, known := undecorated[base]; known { // "ǿ" is "ø" with an accent
		return s
	}
	return string(parts[:size])
}

// run is a piece of a folded text: a word, or characters of a script that is compared by pairs.
type run struct {
	text  string
	pairs bool
}

// runs iterates over the words and characters of a folded text. Marks belong to the letter before them.
func runs(folded string) iter.Seq[run] {
	return func(yield func(run) bool) {
		start, of := 0, separator
		for i, r := range folded {
			next := kindOf(r)
			if next == of || next == mark {
				continue
			}
			if of != separator && !yield(run{folded[start:i], of != letter}) {
				return
			}
			start, of = i, next
		}
		if of != separator {
			yield(run{folded[start:], of != letter})
		}
	}
}

// kind is what a character is to the words of a text.
type kind uint8

const (
	separator kind = iota
	letter         // a letter or digit of a script with spaces, or an apostrophe
	mark           // belongs to the letter before
	han
	kana
	hangul
	other // scripts of Southeast Asia
)

// dense are the scripts of Southeast Asia without spaces between words.
var dense = []*unicode.RangeTable{unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar}

func kindOf(r rune) kind {
	switch {
	case r < utf8.RuneSelf:
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '\'' || 'A' <= r && r <= 'Z' {
			return letter
		}
		return separator
	case unicode.Is(unicode.M, r):
		return mark
	case isKana(r):
		return kana
	case isHangul(r):
		return hangul
	case !unicode.IsLetter(r) && !unicode.IsDigit(r):
		return separator
	case unicode.Is(unicode.Han, r):
		return han
	case unicode.In(r, dense...):
		return other
	}
	return letter
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
