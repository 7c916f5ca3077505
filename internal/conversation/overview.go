package conversation

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/word"
)

//go:embed overview.txt
var overviewText string

// The first characters of the lines of overview.txt that say what a phrase is. A topic has none.
const (
	imperative = '!'
	ownTopic   = '='
	request    = '?'
	ofUser     = '@'
	topic      = 0
)

// overviewPhrase is a line of overview.txt, folded: its first character or topic, whether it stands at the beginning of
// a sentence, and its parts, between which there may be any words.
type overviewPhrase struct {
	kind        byte
	atBeginning bool
	parts       []string
}

// overviewPhrases are the phrases by the first character of their first part.
var overviewPhrases = sync.OnceValue(func() map[rune][]overviewPhrase {
	phrases := map[rune][]overviewPhrase{}
	for _, line := range readPhrases(overviewText) {
		p := overviewPhrase{kind: topic}
		if strings.IndexByte("!=?@", line[0]) >= 0 {
			p.kind, line = line[0], line[1:]
		}
		line, p.atBeginning = strings.CutPrefix(line, "^")
		for part := range strings.SplitSeq(line, "...") {
			p.parts = append(p.parts, strings.TrimSpace(part))
		}
		first, _ := utf8.DecodeRuneInString(p.parts[0])
		phrases[first] = append(phrases[first], p)
	}
	return phrases
})

// AsksForOverview reports whether a message of the user may ask for what was said over many conversations: an order, a
// count, a list or a summary.
func AsksForOverview(content string) bool {
	for _, s := range truncate.SentencesAt(truncate.Bytes(content, urgentBytes)) {
		if asksForOverview(word.Fold(s)) {
			return true
		}
	}
	return false
}

// asksForOverview reads one folded sentence, each character once.
func asksForOverview(sentence string) bool {
	has, phrases := map[byte]bool{}, overviewPhrases()
	for at, first := range sentence {
		if !mayBegin(sentence[:at], first) {
			continue
		}
		for _, p := range phrases[first] {
			if !has[p.kind] && p.isAt(sentence, at) {
				has[p.kind] = true
			}
		}
	}
	isRequest := has[request] || strings.ContainsAny(sentence, "?؟")
	return has[imperative] || isRequest && (has[topic] || has[ownTopic] && has[ofUser])
}

// isAt reports whether a sentence has the phrase at a place: its first part there, and the others after it.
func (p overviewPhrase) isAt(sentence string, at int) bool {
	end := endAt(sentence, at, p.parts[0])
	if end < 0 || p.atBeginning && !isBeginning(sentence[:at]) {
		return false
	}
	for _, part := range p.parts[1:] {
		next := endOfPhrase(sentence[end:], part)
		if next < 0 {
			return false
		}
		end += next
	}
	return true
}

// isBeginning reports whether nothing stands in front of a place of a sentence, or a mark such as a comma.
func isBeginning(before string) bool {
	before = strings.TrimSpace(before)
	last, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || unicode.IsPunct(last)
}
