package word

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/tamil"
	"github.com/blevesearch/snowballstem/turkish"

	"github.com/throughline/throughline/internal/truncate"
)

// language is a language with a stemmer or with stop words.
type language uint8

// The languages. Those of the Latin script come first, the ones with more speakers before others: of languages that
// have as many stop words in a text, the first one is meant.
const (
	inEnglish language = iota
	inSpanish
	inPortuguese
	inFrench
	inGerman
	inItalian
	inTurkish
	inDutch
	inRomanian
	inSwedish
	inHungarian
	inDanish
	inNorwegian
	inFinnish
	latinLanguages
	inRussian = language(iota - 1)
	inArabic
	inHindi
	inTamil
	inHan // Chinese and Japanese: the stop words are single characters
	languages
)

var codes = [languages]string{
	"en", "es", "pt", "fr", "de", "it", "tr", "nl", "ro", "sv", "hu", "da", "no", "fi", "ru", "ar", "hi", "ta",
	"han",
}

var stemmers = [languages]func(*snowballstem.Env) bool{
	english.Stem, spanish.Stem, portuguese.Stem, french.Stem, german.Stem, italian.Stem, turkish.Stem, dutch.Stem,
	romanian.Stem, swedish.Stem, hungarian.Stem, danish.Stem, norwegian.Stem, finnish.Stem, russian.Stem, arabic.Stem,
	nil, tamil.Stem, nil,
}

//go:embed stop.txt
var stopFile string

// stops has the stop words of all languages in their folded form, with a bit for each language that has it.
var stops = sync.OnceValue(func() map[string]uint32 {
	out := map[string]uint32{}
	for line := range strings.Lines(stopFile) {
		code, list, _ := strings.Cut(line, ":")
		for l, known := range codes {
			if known != code {
				continue
			}
			for w := range strings.FieldsSeq(list) {
				out[Fold(w)] |= 1 << l
			}
		}
	}
	return out
})

// isStop reports whether a folded word is a stop word of a language.
func (l language) isStop(folded string) bool { return stops()[folded]&(1<<l) != 0 }

// maxBytes is the longest word. Longer ones are encoded data, and are cut.
const maxBytes = 64

// stem returns the stem of a folded word.
func (l language) stem(folded string) string {
	folded = truncate.Bytes(folded, maxBytes)
	stem := stemmers[l]
	if stem == nil {
		return folded
	}
	env := snowballstem.NewEnv(folded)
	stem(env)
	if env.Current() == "" {
		return folded
	}
	return env.Current()
}

// of returns the language of a folded word in a text whose words of the Latin script are in a language.
func (l language) of(folded string) language {
	r, _ := utf8.DecodeRuneInString(folded)
	switch {
	case r < utf8.RuneSelf:
		return l
	case unicode.Is(unicode.Cyrillic, r):
		return inRussian
	case unicode.Is(unicode.Arabic, r):
		return inArabic
	case unicode.Is(unicode.Devanagari, r):
		return inHindi
	case unicode.Is(unicode.Tamil, r):
		return inTamil
	}
	return l
}

const (
	// shownBy is how many words of a text show its language, enoughStops how many stop words of another language than
	// English show it. Single ones may be names or words of English: "die hard", "La Rochelle".
	shownBy     = 64
	enoughStops = 2
)

// languageOf returns the language of the words of the Latin script in a folded text. It is not sure if the text has too
// few stop words: then it is English.
func languageOf(folded string) (l language, sure bool) {
	var counts [latinLanguages]int
	n := 0
	for r := range runs(folded) {
		if r.pairs {
			continue
		}
		if n++; n > shownBy {
			break
		}
		w := significant(r.text)
		for set, l := stops()[w], inEnglish; set != 0 && l < latinLanguages; set, l = set>>1, l+1 {
			counts[l] += int(set & 1)
		}
	}
	for i, n := range counts {
		if n > counts[l] {
			l = language(i)
		}
	}
	if l != inEnglish && counts[l] < enoughStops {
		return inEnglish, counts[inEnglish] > 0
	}
	return l, counts[l] > 0
}
