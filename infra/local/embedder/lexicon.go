package embedder

import (
	_ "embed"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"

	segment "github.com/throughline/throughline/internal/word"
)

var (
	//go:embed lexicon/stop.txt
	stopFile string
	//go:embed lexicon/common.txt
	commonFile string
	//go:embed lexicon/forms.txt
	formsFile string
	//go:embed lexicon/concepts.txt
	conceptsFile string
)

// Lexicon holds what the Embedder knows of English: four small word lists. It is read-only once loaded.
type Lexicon struct {
	stop     map[string]bool    // words without a topic
	weights  map[string]float64 // weights of common stems
	forms    map[string]string  // irregular form to its word
	concepts map[string][]int   // stem to the fields of meaning it belongs to
}

func loadLexicon() *Lexicon {
	lex := &Lexicon{
		stop:     map[string]bool{},
		weights:  map[string]float64{},
		forms:    map[string]string{},
		concepts: map[string][]int{},
	}
	for _, words := range listLines(stopFile) {
		for _, word := range words {
			lex.stop[word] = true
		}
	}
	for _, words := range listLines(formsFile) {
		for _, form := range words[1:] {
			lex.forms[form] = words[0]
		}
	}
	lex.loadWeights()
	lex.loadConcepts()
	return lex
}

func (lex *Lexicon) loadWeights() {
	for _, words := range listLines(commonFile) {
		weight, err := strconv.ParseFloat(words[0], 64)
		if err != nil {
			panic("embedder: common.txt: " + err.Error())
		}
		for _, word := range words[1:] {
			stem := lex.stem(word)
			if _, known := lex.weights[stem]; !known {
				lex.weights[stem] = weight
			}
		}
	}
}

func (lex *Lexicon) loadConcepts() {
	for field, words := range listLines(conceptsFile) {
		for _, word := range words {
			stem := lex.stem(word)
			lex.concepts[stem] = append(lex.concepts[stem], field)
		}
	}
}

// stem returns the stem of a lower-case word, irregular forms included.
func (lex *Lexicon) stem(word string) string {
	if base, ok := lex.forms[word]; ok {
		word = base
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}

// Weight says how much a shared stem counts: little for an everyday word, slightly more than 1 for a long one.
func (lex *Lexicon) Weight(stem string) float64 {
	if w, ok := lex.weights[stem]; ok {
		return w
	}
	const perLetter, plain, longest = 0.03, 4, 10
	return 1 + perLetter*math.Min(float64(len(stem)-plain), longest-plain)
}

// Topics returns the distinct stems of a text's words that have a topic, in order.
func (lex *Lexicon) Topics(text string) []string {
	stems, _ := lex.topicStems(text)
	distinct := stems[:0]
	seen := map[string]bool{}
	for _, stem := range stems {
		if !seen[stem] && !lex.stop[stem] {
			seen[stem] = true
			distinct = append(distinct, stem)
		}
	}
	return distinct
}

// listLines splits a word list into the words of each line, without comments and blank lines.
func listLines(file string) [][]string {
	var lines [][]string
	for line := range strings.Lines(file) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			lines = append(lines, words)
		}
	}
	return lines
}

// wordKind is the kind of a word by its place in the sentence.
type wordKind uint8

const (
	plainWord    wordKind = iota
	nameWord              // capitalised within a sentence: a name of someone or something
	labelWord             // the speaker's name before a colon at the start of the text
	vocativeWord          // the name of the one spoken to, as in "Thanks, Ana!": says nothing of the topic
)

// word is a run of letters and digits in a text.
type word struct {
	lower      string
	kind       wordKind
	start, end int // byte offsets in the text
}

// splitWords returns the words of a text in order, with their kinds.
func splitWords(text string) []word {
	words := scanWords(text)
	previousIsName := false
	for i := range words {
		sentenceStart := i == 0 || strings.ContainsAny(text[words[i-1].end:words[i].start], ".!?\n")
		first, _ := utf8.DecodeRuneInString(text[words[i].start:])
		capital := unicode.IsUpper(first)
		if capital {
			words[i].kind = capitalKind(text, words, i, sentenceStart, previousIsName)
		}
		previousIsName = capital && !sentenceStart
	}
	return words
}

func scanWords(text string) []word {
	var words []word
	start := -1
	add := func(end int) {
		for _, lower := range segment.Split(text[start:end]) {
			words = append(words, word{lower: lower, start: start, end: end})
			start = end
		}
		start = -1
	}
	for i, r := range text {
		inWord := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
		switch {
		case inWord && start < 0:
			start = i
		case !inWord && start >= 0:
			add(i)
		}
	}
	if start >= 0 {
		add(len(text))
	}
	return words
}

// greetings holds the words before a vocative.
var greetings = map[string]bool{
	"hey": true, "hi": true, "hello": true, "thanks": true, "you": true, "wow": true, "bye": true, "yeah": true,
	"ok": true, "okay": true, "oh": true, "yes": true, "no": true, "yep": true, "congrats": true,
}

// capitalKind returns the kind of the capitalised word i by the text around it.
func capitalKind(text string, words []word, i int, sentenceStart, previousIsName bool) wordKind {
	last := i+1 == len(words)
	after := text[words[i].end:]
	if !last {
		after = text[words[i].end:words[i+1].start]
	}
	before := ""
	if i > 0 {
		before = strings.TrimSpace(text[words[i-1].end:words[i].start])
	}
	ends := last || strings.ContainsAny(after, ".!?;")
	switch {
	case i == 0 && strings.HasPrefix(after, ":"):
		return labelWord
	case sentenceStart && !last && strings.HasPrefix(after, ","),
		before == "" && i > 0 && greetings[words[i-1].lower] && (ends || strings.Contains(after, ",")),
		strings.HasPrefix(before, ",") && ends && !previousIsName:
		return vocativeWord
	case sentenceStart:
		return plainWord
	default:
		return nameWord
	}
}
