package prompt

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/throughline/throughline/internal/truncate"
)

// queryType is what kind of answer a message needs (maas-context-format, backlog v0.5).
type queryType int

const (
	// A personal query needs all that is known of the user.
	personal queryType = iota
	// A greeting needs nothing of the past.
	greeting
	// A query that looks back needs the past above all.
	lookingBack
	// A general query is about the world, not the user.
	general
)

var (
	greetingWords = regexp.MustCompile(`(?i)^\W*(?:hi|hey|hello|good (?:morning|afternoon|evening|night)|thanks?` +
		`|thank you|ok(?:ay)?|bye|great|cool|yo)\b`)
	pastWords = regexp.MustCompile(`(?i)\b(?:remember|did (?:i|we|you)|have (?:i|we)|when did|what did` +
		`|last (?:time|week|month)|yesterday|earlier|previously)\b`)
	generalWords = regexp.MustCompile(`(?i)^\W*(?:what(?:'s| is| are)|who(?:'s| is| are)|how (?:do|does|is|are` +
		`|many|much)|why (?:do|does|is|are)|define|explain)\b`)
	aboutUser = regexp.MustCompile(`(?i)\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|us|our)\b`)
)

func typeOf(message string) queryType {
	text := truncate.Bytes(message, queryBytes)
	_, refers := findReference(message)
	switch {
	case greetingWords.MatchString(text) && len(strings.Fields(text)) <= 4:
		return greeting
	case refers || pastWords.MatchString(text):
		return lookingBack
	case generalWords.MatchString(text) && !aboutUser.MatchString(text):
		return general
	default:
		return personal
	}
}

// wantsPast includes past conversations unless the message is a greeting.
func wantsPast(sel *selection) bool { return typeOf(sel.Message) != greeting }

// wantsProfile includes the profile if the query is about the user.
func wantsProfile(sel *selection) bool { return typeOf(sel.Message) != general }

// keywords returns the distinct words of a text that carry meaning, sorted.
func keywords(text string) []string {
	words := allKeywords(text)
	slices.Sort(words)
	return slices.Compact(words)
}

// sharedWords is the share of a message's keywords that a text contains.
func sharedWords(asked []string, text string) float64 {
	if len(asked) == 0 {
		return 0
	}
	told, shared := keywords(text), 0
	for _, word := range asked {
		if _, found := slices.BinarySearch(told, word); found {
			shared++
		}
	}
	return float64(shared) / float64(len(asked))
}

func allKeywords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(truncate.Bytes(text, queryBytes)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r)
	})
	return slices.DeleteFunc(words, func(w string) bool { return len(w) < minKeyword || slices.Contains(commonWords, w) })
}

// minKeyword is the length in bytes of the shortest keyword.
const minKeyword = 4

// commonWords carry no meaning of their own.
var commonWords = strings.Fields(`about after again against also been before being between both could does doing done
during each from have having here into just like more most much only other over same should some such than that their
them then there these they this those through under until very want wants wanted was were what when where which while
will with would your yours user users mentioned discussed assistant coach said asked told because`)
