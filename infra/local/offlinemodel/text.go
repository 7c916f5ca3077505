package offlinemodel

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
)

// wordKind says what a word's place in its sentence tells about it.
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

// splitWords returns the words of a text in order, told apart by how they stand in it.
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
	for i, r := range text {
		inWord := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
		switch {
		case inWord && start < 0:
			start = i
		case !inWord && start >= 0:
			words = append(words, word{lower: strings.ToLower(text[start:i]), start: start, end: i})
			start = -1
		}
	}
	if start >= 0 {
		words = append(words, word{lower: strings.ToLower(text[start:]), start: start, end: len(text)})
	}
	return words
}

// greetings are the words that a vocative follows.
var greetings = map[string]bool{
	"hey": true, "hi": true, "hello": true, "thanks": true, "you": true, "wow": true, "bye": true, "yeah": true,
	"ok": true, "okay": true, "oh": true, "yes": true, "no": true, "yep": true, "congrats": true,
}

// capitalKind classes the capitalised word i by what stands before and after it.
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

// splitSentences cuts a text at sentence ends and line breaks, trimmed and without empty ones. A full stop ends a
// sentence only before white space, so "2.5 kg" stays whole.
func splitSentences(text string) []string {
	var sentences []string
	start := 0
	cut := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" {
			sentences = append(sentences, s)
		}
		start = end
	}
	for i := range len(text) {
		switch text[i] {
		case '\n', '\r':
			cut(i)
		case '.', '!', '?':
			if i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t' {
				cut(i + 1)
			}
		}
	}
	cut(len(text))
	return sentences
}

// clip shortens a text to at most limit bytes, at a word's end where there is one, with an ellipsis for what is gone.
func clip(text string, limit int) string {
	const ellipsis = "…"
	if len(text) <= limit {
		return text
	}
	text = truncate.Bytes(text, limit-len(ellipsis))
	if space := strings.LastIndexAny(text, " \t\n"); space > len(text)/2 {
		text = text[:space]
	}
	return strings.TrimRight(text, " \t\n,;:") + ellipsis
}

// oneLine makes all white space single spaces and drops control characters.
func oneLine(text string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(clean), " ")
}
