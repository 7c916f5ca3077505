package conversation

import (
	_ "embed"
	"slices"
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

// overviewPhrases are the lines of overview.txt, folded, by their first character and without it.
var overviewPhrases = sync.OnceValue(func() map[byte][]string {
	phrases := map[byte][]string{}
	for _, p := range readPhrases(overviewText) {
		kind := byte(topic)
		if strings.IndexByte("!=?@", p[0]) >= 0 {
			kind, p = p[0], p[1:]
		}
		phrases[kind] = append(phrases[kind], p)
	}
	return phrases
})

// AsksForOverview reports whether a message of the user may ask for what was said over many conversations: an order, a
// count, a list or a summary.
func AsksForOverview(content string) bool {
	for _, s := range truncate.SentencesAt(truncate.Bytes(content, urgentBytes)) {
		if sentence(word.Fold(s)).asksForOverview() {
			return true
		}
	}
	return false
}

// sentence is a folded sentence that is looked through for the phrases of overview.txt.
type sentence string

func (s sentence) asksForOverview() bool {
	return s.has(imperative) || s.isRequest() && (s.has(topic) || s.has(ownTopic) && s.has(ofUser))
}

// isRequest reports whether the sentence is a question or asks for something.
func (s sentence) isRequest() bool { return strings.ContainsAny(string(s), "?؟") || s.has(request) }

// has reports whether the sentence has a phrase of a kind.
func (s sentence) has(kind byte) bool {
	return slices.ContainsFunc(overviewPhrases()[kind], func(phrase string) bool {
		phrase, atBeginning := strings.CutPrefix(phrase, "^")
		rest := string(s)
		for part := range strings.SplitSeq(phrase, "...") {
			end := s.find(rest, strings.TrimSpace(part), atBeginning)
			if end < 0 {
				return false
			}
			rest, atBeginning = rest[end:], false
		}
		return true
	})
}

// find returns where a part of a phrase ends in the rest of the sentence, or -1.
func (s sentence) find(rest, part string, atBeginning bool) int {
	for from := 0; ; {
		end := endOfPhrase(rest[from:], part)
		if end < 0 || !atBeginning {
			return end
		}
		end += from
		before := strings.TrimSpace(rest[:end-len(strings.TrimSuffix(part, "~"))])
		if last, _ := utf8.DecodeLastRuneInString(before); before == "" || unicode.IsPunct(last) {
			return end
		}
		from = end
	}
}
