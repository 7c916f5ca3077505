package rank

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// maxTextBytes is how much of a text is read.
const maxTextBytes = 4000

// text is what a text shows.
type text struct {
	// counts is how often it has each of the query's terms, words how many terms it has.
	counts []int
	words  int
	// hasTime, hasNumber and hasName are set only where the query asks for such words.
	hasTime, hasNumber, hasName bool
	// asks reports whether it ends with a question.
	asks bool
	// head is the name of the speaker that it begins with, in lower case: "Ann: I ran today."
	head string
}

// scanner reads texts for one query.
type scanner struct {
	query  query
	finder *vector.Finder
}

func newScanner(q query) *scanner { return &scanner{q, vector.NewFinder(q.terms)} }

func (s *scanner) scan(full string) text {
	full = truncate.Bytes(full, maxTextBytes)
	var t text
	t.counts, t.words = s.finder.Count(full)
	t.asks = strings.HasSuffix(strings.TrimRight(full, " \t\n\"'"), "?")
	if len(s.query.names) > 0 {
		t.head = head(full)
	}
	if s.query.when || s.query.number || s.query.name {
		s.scanKinds(&t, full)
	}
	return t
}

// scanKinds looks for words of time, numbers and names.
func (s *scanner) scanKinds(t *text, full string) {
	begins := true // the word begins a sentence
	for at := 0; at < len(full); {
		end := at
		for end < len(full) && inWord[full[end]] {
			end++
		}
		if end == at {
			begins = begins || full[at] == '.' || full[at] == '!' || full[at] == '?' || full[at] == '\n' || full[at] == ':'
			at++
			continue
		}
		s.addKind(t, full[at:end], begins)
		at, begins = end, false
	}
}

// inWord has the bytes of words. Those beyond ASCII count as letters.
var inWord = func() (out [256]bool) {
	for i := range out {
		out[i] = i >= utf8.RuneSelf || !isSeparator(rune(i))
	}
	return out
}()

const longestKind = 10

func (s *scanner) addKind(t *text, word string, begins bool) {
	first := word[0]
	digit := '0' <= first && first <= '9'
	if digit {
		t.hasNumber = true
		t.hasTime = t.hasTime || len(word) == 4 && number(word) >= 1900
		return
	}
	var lower [longestKind]byte
	if len(word) > 1 && len(word) <= longestKind {
		for i := range len(word) {
			lower[i] = word[i]
			if 'A' <= word[i] && word[i] <= 'Z' {
				lower[i] += 'a' - 'A'
			}
		}
		switch kinds[string(lower[:len(word)])] {
		case timeKind:
			t.hasTime = true
			return
		case numberKind:
			t.hasNumber = true
			return
		}
	}
	if !begins && len(word) > 1 && !strings.HasPrefix(word, "I'") {
		r, _ := utf8.DecodeRuneInString(word)
		t.hasName = t.hasName || unicode.IsUpper(r)
	}
}

type kind int

const (
	timeKind kind = iota + 1
	numberKind
)

// kinds has words of time and numbers.
var kinds = func() map[string]kind {
	out := map[string]kind{}
	for w := range strings.FieldsSeq(`
yesterday today tomorrow tonight ago last next week weeks weekend weekends month months year years day days
hour hours minute minutes since recently lately soon earlier monday tuesday wednesday thursday friday saturday
sunday january february march april may june july august september october november december summer winter
spring autumn fall christmas birthday anniversary morning evening afternoon night`) {
		out[w] = timeKind
	}
	for w := range strings.FieldsSeq(`
one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand
dozen once twice couple few several both first second third another`) {
		out[w] = numberKind
	}
	return out
}()

// maxHead is the longest name of a speaker before a text, in bytes, maxHeadWords in words.
const (
	maxHead      = 40
	maxHeadWords = 3
)

// head returns the name of the speaker that a text begins with, or "".
func head(s string) string {
	colon := strings.IndexByte(s[:min(len(s), maxHead)], ':')
	if colon <= 0 {
		return ""
	}
	words := strings.Fields(s[:colon])
	if len(words) == 0 || len(words) > maxHeadWords {
		return ""
	}
	for _, w := range words {
		if r, _ := utf8.DecodeRuneInString(w); !unicode.IsUpper(r) || strings.ContainsFunc(w, unicode.IsDigit) {
			return ""
		}
	}
	return strings.ToLower(words[0])
}

func isSeparator(r rune) bool {
	if r < utf8.RuneSelf {
		return ('a' > r || r > 'z') && ('A' > r || r > 'Z') && ('0' > r || r > '9') && r != '\''
	}
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
}
