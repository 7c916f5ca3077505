package offlinemodel

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/word"
)

// newClause matches the place in a sentence where the user begins another statement about themselves.
var newClause = regexp.MustCompile(`(?:[,;]\s+(?:(?:and|but|because|since|so) )?|\s(?:but|because|since|and) )` +
	`(I\b|my\b)`)

// splitClauses cuts a sentence before each of its statements. "Tom and I" is not cut.
func splitClauses(sentence string) []string {
	var clauses []string
	start := 0
	for _, at := range newClause.FindAllStringSubmatchIndex(sentence, -1) {
		if strings.HasSuffix(sentence[:at[1]], " and I") && !strings.Contains(sentence[start:at[0]], " ") {
			continue
		}
		clauses = append(clauses, sentence[start:at[0]])
		start = at[2]
	}
	return append(clauses, sentence[start:])
}

// splitSentences cuts a text at sentence ends and line breaks. It trims sentences and drops empty ones. A full stop
// ends a sentence only before white space, so that "2.5 kg" stays whole, and not after a title.
func splitSentences(text string) []string {
	var sentences []string
	start := 0
	cut := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" {
			sentences = append(sentences, s)
		}
		start = end
	}
	for i, r := range text {
		switch r {
		case '\n', '\r':
			cut(i)
		case '.', '!', '?':
			if (i+1 == len(text) || text[i+1] == ' ' || text[i+1] == '\t') && !abbreviated(text[start:i+1]) {
				cut(i + 1)
			}
		case '。', '！', '？', '।', '۔', '؟':
			cut(i + utf8.RuneLen(r))
		}
	}
	cut(len(text))
	return sentences
}

// ends are the marks at the end of a sentence that is no question, questions those of one.
const (
	ends      = ".!。！।۔ "
	questions = "?？؟"
)

// isStatement reports whether a clause is long enough to say something, and no question.
func isStatement(clause string) bool {
	const words = 3
	last, _ := utf8.DecodeLastRuneInString(clause)
	return !strings.ContainsRune(questions, last) && len(word.Split(clause)) >= words
}

// abbreviated reports whether a text ends with a title, whose full stop ends no sentence.
func abbreviated(text string) bool {
	last := text[strings.LastIndexAny(text, " \t(")+1:]
	return slices.Contains([]string{"Dr.", "Mr.", "Mrs.", "Ms.", "Prof.", "St.", "Sr."}, last)
}

func capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

func decapitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(first)) + text[size:]
}
