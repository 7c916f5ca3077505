package query

import (
	_ "embed"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/word"
)

// Explicit references (unified-conversation-context, Phase 3) are found by likeness to the examples in reference.txt.
// A sentence refers back if a part of it is like a positive example, and no negative one explains that part as well.
//
// Likeness is lexical: the words of the phrase that the sentence has, in their order. The embedding of the message is
// not used. It represents the whole message, of which a reference is a few words, and it would need the embeddings of
// the examples in each model, before the first prompt.
//
// The examples of the first seven languages are 1,551, because people say it in many ways. Without those that no case
// of the tests needs, 182 are left: they find 26 of the 42 references that are held out in testdata/references.txt,
// and all find 42. Without only those that the others decide as well, 708 are left: they miss 2 of the 17 references
// that are held out in the corpus of internal/prompt, and all miss none. In the conversations of BEAM, LoCoMo and
// REALTALK that are for development, 128 of 5,163 messages of users refer back by them, 2.5%.
const (
	// minLikeness is the share of a phrase's worth that a sentence must have.
	minLikeness = 0.74
	// manyPhrases is how many phrases there were when minLikeness was chosen. More languages change nothing in these.
	manyPhrases = 1_551
	// gapCost is the worth that a phrase loses for each word between its first and its last one.
	// characterGapCost is the same for each character in a script without spaces. There a sentence may lack none.
	gapCost, characterGapCost = 0.2, 0.6
	// maxPlaces is more places than a phrase has.
	maxPlaces = 17
	// inflectedWorth is the worth of a word that has another ending than the phrase's.
	inflectedWorth = 0.8
	// referenceBytes is how much of a message is searched for references: half from its beginning, half from its end.
	referenceBytes = 3000
	// Sentences are searched in parts of windowWords, which overlap by overlapWords. No phrase is longer than that.
	windowWords  = 40
	overlapWords = 10
)

//go:embed reference.txt
var referenceText string

// Reference is an explicit reference to an earlier conversation.
type Reference struct {
	// Refers is set if there is one.
	Refers bool
	// ago is when its sentence says that this was, as dayName has it, or "". date is the date that it names otherwise.
	ago  string
	date date
	// HasTopic reports whether the message has keywords beside the reference, IsTopical whether its sentence has.
	HasTopic, IsTopical bool
}

// phrase is a line of reference.txt.
type phrase struct {
	// words has, for each place, the numbers of the words that may be there. weights says how much a place counts,
	// and weight is their sum. gap is what each other word between them costs. Of lacks words a sentence may lack
	// one, of twice as many two.
	words    [][]int
	weights  []float64
	weight   float64
	gap      float64
	lacks    int
	positive bool
	language *language
}

// place is a place in a phrase.
type place struct{ phrase, at int }

// language has the names of days in one language, such as "yesterday", and its lists of words.
type language struct {
	days  []dayName
	lists map[string][]string
}

// examples is reference.txt, indexed. It does not change.
type examples struct {
	phrases   []phrase
	languages []*language
	// numbers has the words of the phrases, byPrefix those words by their first letters.
	numbers  map[string]int
	byPrefix map[string][]string
	// places has the places of the phrases where each word may be.
	places [][]place
	// positive has the words of positive phrases and of days.
	positive map[string]bool
}

// prefixLetters is how many letters words with different endings must share.
const prefixLetters = 4

// readExamples parses reference.txt. It panics if a line is malformed.
var readExamples = sync.OnceValue(func() *examples {
	ex := &examples{numbers: map[string]int{}, byPrefix: map[string][]string{}, positive: map[string]bool{}}
	var current *language
	for line := range strings.Lines(referenceText) {
		line = strings.TrimSpace(line)
		kind, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || kind == "#":
		case line[0] == '[':
			current = &language{lists: map[string][]string{}}
			ex.languages = append(ex.languages, current)
		case kind == "+" || kind == "-":
			ex.add(rest, kind == "+", current)
		case 'A' <= kind[0] && kind[0] <= 'Z':
			name := strings.TrimSuffix(kind, ":")
			current.lists[name] = strings.Fields(rest)
			if name == months || name == shortMonths || name == "COMMON" {
				current.lists[name] = foldedWords(rest)
				ex.addDays(current.lists[name])
			}
		default:
			for day := range strings.SplitSeq(rest, ",") {
				words := foldedWords(day)
				current.days = append(current.days, dayName{strings.Join(words, " "), strings.TrimSuffix(kind, ":")})
				ex.addDays(words)
			}
		}
	}
	ex.weigh()
	return ex
})

// addDays adds the words of days and months to those that are no topic.
func (ex *examples) addDays(words []string) {
	for _, word := range words {
		ex.positive[word] = true
	}
}

// weigh gives each place of a phrase the weight of the first word that may be there: the fewer phrases use a word,
// the more it says.
func (ex *examples) weigh() {
	for i := range ex.phrases {
		p := &ex.phrases[i]
		for _, words := range p.words {
			w := 1 + math.Log(manyPhrases/float64(len(ex.places[words[0]])))
			p.weights = append(p.weights, w)
			p.weight += w
		}
	}
}

// add adds a line of the examples.
func (ex *examples) add(text string, positive bool, l *language) {
	p := phrase{positive: positive, language: l, gap: gapCost, lacks: 4}
	if first, _ := utf8.DecodeRuneInString(text); isSpaceless(first) {
		p.gap, p.lacks = characterGapCost, maxPlaces
	}
	for field := range strings.FieldsSeq(text) {
		if list := l.lists[field]; list != nil {
			p.words = append(p.words, ex.number(foldedWords(strings.Join(list, " ")), len(p.words), positive))
			continue
		}
		for _, word := range foldedWords(field) {
			p.words = append(p.words, ex.number([]string{word}, len(p.words), positive))
		}
	}
	ex.phrases = append(ex.phrases, p)
}

// number returns the numbers of the words that may be at one place of the next phrase.
func (ex *examples) number(words []string, at int, positive bool) []int {
	numbers := make([]int, 0, len(words))
	for _, word := range words {
		n, known := ex.numbers[word]
		if !known {
			n = len(ex.places)
			ex.numbers[word] = n
			ex.places = append(ex.places, nil)
			if len(word) >= prefixLetters {
				ex.byPrefix[word[:prefixLetters]] = append(ex.byPrefix[word[:prefixLetters]], word)
			}
		}
		ex.places[n] = append(ex.places[n], place{len(ex.phrases), at})
		numbers = append(numbers, n)
		if positive {
			ex.positive[word] = true
		}
	}
	return numbers
}

// likeWord calls yield with the number and the worth of each word of the phrases that a word is like.
func (ex *examples) likeWord(word string, yield func(n int, worth float64)) {
	if n, ok := ex.numbers[word]; ok {
		yield(n, 1)
	}
	if len(word) < prefixLetters {
		return
	}
	for _, other := range ex.byPrefix[word[:prefixLetters]] {
		shared := prefixLetters
		for shared < min(len(word), len(other)) && word[shared] == other[shared] {
			shared++
		}
		if other != word && 5*shared >= 3*max(len(word), len(other)) {
			yield(ex.numbers[other], inflectedWorth)
		}
	}
}

// match is a part of a sentence, from its word from to before its word to, that is like a phrase.
type match struct {
	*phrase
	likeness, worth float64
	from, to        int
}

// strength weighs how much of the phrase a part has by how much of the part the phrase explains.
func (m match) strength() float64 { return m.likeness * m.worth }

// explains reports whether a match explains a part that it shares with another one at least as well.
func (m match) explains(other match) bool {
	return m.from < other.to && other.from < m.to && m.strength() >= other.strength()
}

// matches returns the parts of a sentence that are like phrases, in the order of the phrases.
func (ex *examples) matches(words []string) []match {
	rows := map[int][]float64{}               // what each of the sentence's words is worth as a word of the phrases
	places := make([]uint16, len(ex.phrases)) // the places of the phrases that the sentence has words for, as bits
	for i, word := range words {
		ex.likeWord(word, func(n int, worth float64) {
			if rows[n] == nil {
				rows[n] = make([]float64, len(words))
				for _, p := range ex.places[n] {
					places[p.phrase] |= 1 << p.at
				}
			}
			rows[n][i] = worth
		})
	}
	var found []match
	ends := make([]aligned, len(words))
	for i, has := range places {
		if p := &ex.phrases[i]; bits.OnesCount16(has) >= p.required() {
			if m := p.align(rows, ends); m.likeness >= minLikeness {
				found = append(found, m)
			}
		}
	}
	return found
}

// required is how many of a phrase's words a sentence must have.
func (p *phrase) required() int { return len(p.words) - len(p.words)/p.lacks }

// aligned is a part of a sentence that is like the beginning of a phrase.
type aligned struct {
	worth float64
	from  int // its first word
}

// align finds the part of a sentence that is most like a phrase. It uses ends for the best beginning of the phrase that
// ends with each word of the sentence.
func (p *phrase) align(rows map[int][]float64, ends []aligned) match {
	best := match{phrase: p}
	clear(ends)
	gap := p.gap * p.weight / float64(len(p.words))
	for at, numbers := range p.words {
		var alternatives [][]float64
		for _, n := range numbers {
			if row := rows[n]; row != nil {
				alternatives = append(alternatives, row)
			}
		}
		before := aligned{}
		for j, end := range ends {
			if before.worth <= 0 {
				before = aligned{from: j}
			}
			worth := 0.0
			for _, row := range alternatives {
				worth = max(worth, row[j]*p.weights[at])
			}
			if worth > 0 && before.worth+worth > end.worth {
				ends[j] = aligned{before.worth + worth, before.from}
				if ends[j].worth > best.worth {
					best.worth, best.from, best.to = ends[j].worth, before.from, j+1
				}
			}
			if before.worth -= gap; end.worth >= before.worth {
				before = end
			}
		}
	}
	best.likeness = best.worth / p.weight
	return best
}

// FindReference returns the first explicit reference of a message to an earlier conversation: "as we said", "like last
// time", "continue where we left off".
func FindReference(message string) (Reference, bool) {
	message = ordinal.ReplaceAllString(quoted.ReplaceAllString(ends(message, referenceBytes), " "), "$1 ")
	for sentence := range strings.FieldsFuncSeq(message, endsSentence) {
		words, named := readExamples().cutDate(foldedWords(sentence))
		l := readExamples().refers(words)
		if l == nil {
			l = readExamples().refers(readExamples().cutDays(words))
		}
		if l != nil {
			r := Reference{Refers: true, HasTopic: hasTopic(message), IsTopical: hasTopic(sentence)}
			if r.ago = readExamples().dayIn(words, l); r.ago == "" {
				r.date = named
			}
			return r, true
		}
	}
	return Reference{}, false
}

// refers returns the language in which a sentence refers back, or nil if it does not.
func (ex *examples) refers(words []string) *language {
	for from := 0; from == 0 || from+overlapWords < len(words); from += windowWords - overlapWords {
		if l := ex.referringLanguage(words[from:min(from+windowWords, len(words))]); l != nil {
			return l
		}
	}
	return nil
}

// referringLanguage returns the language in which a part of a sentence refers back, or nil if it does not. Of several
// phrases the one of most worth decides.
func (ex *examples) referringLanguage(words []string) *language {
	var best match
	found := ex.matches(words)
	for _, m := range found {
		if m.positive && m.strength() > best.strength() &&
			!slices.ContainsFunc(found, func(other match) bool { return !other.positive && other.explains(m) }) {
			best = m
		}
	}
	if best.phrase == nil {
		return nil
	}
	return best.language
}

// Topic returns a message's keywords that are not among the words with which people refer.
func Topic(message string) []string {
	return slices.DeleteFunc(foldedWords(message), func(word string) bool {
		first, _ := utf8.DecodeRuneInString(word)
		return len(word) < minKeywordBytes && !isSpaceless(first) || readExamples().positive[word] ||
			slices.Contains(commonWords, word)
	})
}

// Shares reports whether a text has one of a topic's words.
func Shares(topic []string, text string) bool {
	words := foldedWords(text)
	return slices.ContainsFunc(topic, func(word string) bool { return slices.Contains(words, word) })
}

func hasTopic(message string) bool { return len(Topic(message)) > 0 }

// quoted matches what a message quotes. Nobody refers back in somebody else's words.
var quoted = regexp.MustCompile("\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|(?m:^\\s*>.*$)")

// ordinal matches the point of "21. Januar", which ends no sentence.
var ordinal = regexp.MustCompile(`\b(\d{1,2})\.\s`)

func endsSentence(r rune) bool { return strings.ContainsRune(".!?;…¿¡\n。！？；؟।۔", r) }

// foldedWords returns a text's words in lower case and without accents. In a script without spaces, each character with
// its marks is one.
func foldedWords(text string) []string {
	var b strings.Builder
	isBehind := false
	for _, r := range word.Fold(text) {
		isSingle := isSpaceless(r)
		if isSingle || isBehind && !unicode.IsMark(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		isBehind = isSingle || isBehind && unicode.IsMark(r)
	}
	return strings.FieldsFunc(b.String(), isSeparator)
}

// isSpaceless reports whether a letter is of a script that has no spaces between words.
func isSpaceless(r rune) bool {
	return r > unicode.MaxLatin1 && unicode.IsLetter(r) &&
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}
