package offlinemodel

import (
	_ "embed"
	"math"
	"strconv"
	"strings"

	"github.com/kljensen/snowball/english"
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

// lexicon is what the model knows of English: four small word lists. It is read-only once loaded.
type lexicon struct {
	stop     map[string]bool    // words without a topic
	weights  map[string]float64 // weights of common stems
	forms    map[string]string  // irregular form to its word
	concepts map[string][]int   // stem to the fields of meaning it belongs to
}

func loadLexicon() *lexicon {
	lex := &lexicon{
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

func (lex *lexicon) loadWeights() {
	for _, words := range listLines(commonFile) {
		weight, err := strconv.ParseFloat(words[0], 64)
		if err != nil {
			panic("offlinemodel: common.txt: " + err.Error())
		}
		for _, word := range words[1:] {
			stem := lex.stem(word)
			if _, known := lex.weights[stem]; !known {
				lex.weights[stem] = weight
			}
		}
	}
}

func (lex *lexicon) loadConcepts() {
	for field, words := range listLines(conceptsFile) {
		for _, word := range words {
			stem := lex.stem(word)
			lex.concepts[stem] = append(lex.concepts[stem], field)
		}
	}
}

// stem returns the stem of a lower-case word, irregular forms included.
func (lex *lexicon) stem(word string) string {
	if base, ok := lex.forms[word]; ok {
		word = base
	}
	return english.Stem(word, true)
}

// weight says how much sharing a stem tells: little for everyday words, slightly more than 1 for long ones.
func (lex *lexicon) weight(stem string) float64 {
	if w, ok := lex.weights[stem]; ok {
		return w
	}
	const perLetter, plain, longest = 0.03, 4, 10
	return 1 + perLetter*math.Min(float64(len(stem)-plain), longest-plain)
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
