package offlinemodel

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
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

// dense are the scripts that are written without spaces between words.
var dense = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// isStatement reports whether a clause is long enough to say something, and no question.
func isStatement(clause string) bool {
	const words, letters = 3, 4
	last, _ := utf8.DecodeLastRuneInString(clause)
	n := 0
	for _, r := range clause {
		if unicode.In(r, dense...) {
			n++
		}
	}
	return !strings.ContainsRune(questions, last) && (strings.Count(clause, " ") >= words-1 || n >= letters)
}

// abbreviated reports whether a text ends with a title, whose full stop ends no sentence.
func abbreviated(text string) bool {
	last := text[strings.LastIndexAny(text, " \t(")+1:]
	return slices.Contains([]string{"Dr.", "Mr.", "Mrs.", "Ms.", "Prof.", "St.", "Sr."}, last)
}

// clip shortens a text to at most limit bytes, if possible at the end of a word, and marks the cut with an ellipsis.
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
