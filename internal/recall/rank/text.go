package rank

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/word"
)

// maxTextBytes is how much of a text is read.
const maxTextBytes = 4000

// text is what a text shows.
type text struct {
	// counts is how often it has each of the query's terms, words how many words it has.
	counts []int
	words  int
	// hits are where the terms are, in their order.
	hits []word.Hit
	// hasTime, hasNumber and hasName are set only where the query asks for such words.
	hasTime, hasNumber, hasName bool
	// asks reports whether it ends with a question.
	asks bool
	// head is the name of the speaker that it begins with, in lower case: "Ann: I ran today."
	head string
}

// scanner reads texts for one query.
type scanner struct {
	query  *Query
	finder *word.Finder
	kinds  bool // the query asks for words of time, numbers or names
	// queryWords is how many words the query has.
	queryWords int
	bounds     bounds
	// hits has the hits of all texts that were read.
	hits []word.Hit
}

func newScanner(q *Query) *scanner {
	s := &scanner{
		query: q, finder: word.NewFinder(q.asked), kinds: q.when || q.number || q.name,
	}
	s.queryWords = s.scan(q.normalized, make([]int, len(q.terms))).words
	return s
}

// scan reads a text, each byte once. Counts is empty and has room for each of the query's terms.
func (s *scanner) scan(full string, counts []int) text {
	full = truncate.Bytes(full, maxTextBytes)
	t := text{counts: counts}
	t.asks = isQuestion(strings.TrimRight(full, " \t\n\"'”」"))
	if len(s.query.names) > 0 {
		t.head = head(full)
	}
	first, begin, last, odd := len(s.hits), -1, 0, -1
	n := s.bounds.find(full)
	for i, edges := range s.bounds.edges[:n] {
		for ; edges != 0; edges &= edges - 1 {
			at := i*chunkBytes + bits.TrailingZeros64(edges)
			if begin < 0 {
				begin = at
				continue
			}
			if odd < begin {
				odd = s.bounds.nextOdd(begin, n)
			}
			s.count(&t, full[begin:at], odd < at)
			if s.kinds {
				s.addKind(&t, full[begin:at], full[last:begin])
			}
			begin, last = -1, at
		}
	}
	t.hits = s.hits[first:len(s.hits):len(s.hits)]
	return t
}

// questionMarks end a question: those of Latin, full width and Arabic.
const questionMarks = "?？؟"

// isQuestion reports whether a text ends with a question mark of any script.
func isQuestion(s string) bool {
	last, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(questionMarks, last)
}

// count counts a word. An odd one has an apostrophe or bytes beyond ASCII, and may be several words.
func (s *scanner) count(t *text, run string, odd bool) {
	if odd {
		var n int
		from := len(s.hits)
		s.hits, n = s.finder.Append(s.hits, run, t.words)
		t.words += n
		for _, h := range s.hits[from:] {
			t.counts[h.Term]++
		}
		t.hasTime = t.hasTime || s.query.when && strings.ContainsAny(run, "年月日号號周週星点點时時昨今明년월일")
		t.hasNumber = t.hasNumber || s.query.number && strings.ContainsAny(run, "0123456789")
		return
	}
	t.words++
	if place := s.finder.Place(run); place != word.None {
		t.counts[place]++
		s.hits = append(s.hits, word.Hit{Term: place, At: int32(t.words)})
	}
}

// addKind notes words of time, numbers and names. Between is what stands between the word before and this one.
func (s *scanner) addKind(t *text, word, between string) {
	if first := word[0]; '0' <= first && first <= '9' {
		t.hasNumber = true
		t.hasTime = t.hasTime || len(word) == 4 && number(word) >= 1900
		return
	}
	isName := s.query.name && !t.hasName && isName(word, between, t.words)
	if !isName && (t.hasTime || !s.query.when) && (t.hasNumber || !s.query.number) {
		return // whatever its kind is
	}
	switch kindOf(word) {
	case timeKind:
		t.hasTime = true
	case numberKind:
		t.hasNumber = true
	default:
		t.hasName = t.hasName || isName
	}
}

// isName reports whether a word has a capital letter and does not begin a sentence. It is the n-th of its text.
func isName(word, between string, n int) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return len(word) > 1 && unicode.IsUpper(r) && !strings.HasPrefix(word, "I'") && n > 1 &&
		!strings.ContainsAny(between, ".!?:\n")
}

type kind int

const (
	timeKind kind = iota + 1
	numberKind
)

// kinds are the words of a kind, in lower case.
var kinds = func() map[string]kind {
	out := map[string]kind{}
	for word := range strings.FieldsSeq(`
yesterday today tomorrow tonight ago last next week weeks weekend weekends month months year years day days hour hours
minute minutes since recently lately soon earlier monday tuesday wednesday thursday friday saturday sunday january
february march april may june july august september october november december summer winter spring autumn fall christmas
birthday anniversary morning evening afternoon night`) {
		out[word] = timeKind
	}
	for word := range strings.FieldsSeq(`
one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand dozen once
twice couple few several both first second third another`) {
		out[word] = numberKind
	}
	return out
}()

// kindLetters has a bit for each letter that a word of a kind begins with, by the length of the word.
var kindLetters = func() (out [maxKind + 1]uint32) {
	for word := range kinds {
		out[len(word)] |= 1 << (word[0] & letterBits)
	}
	return out
}()

const (
	// maxKind is how long a word of a kind is at most.
	maxKind = 11
	// letterBits are the bits of a letter that are the same in a capital one.
	letterBits = 0x1f
)

// kindOf returns the kind of a word, or 0.
func kindOf(word string) kind {
	if len(word) > maxKind || kindLetters[len(word)]&(1<<(word[0]&letterBits)) == 0 {
		return 0
	}
	return kinds[strings.ToLower(word)]
}

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
