package rank

import (
	_ "embed" // questions.txt
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/word"
)

// maxQueryBytes is how much of a query is read.
const maxQueryBytes = 7500

// Query is what is asked, and what its words show. It may be used concurrently.
type Query struct {
	// terms are the words that are compared, each once. There are none if the query is small talk, or all its words are
	// of courtesy.
	terms      []string
	asked      word.Query
	courtesy   bool
	normalized string
	// when, number and name say what it asks for.
	when, number, name bool
	// names are the capitalised words of the query, in lower case.
	names []string
	// asksUser and asksAssistant say whose words it asks for, and asksPast that it asks for what has happened.
	asksUser, asksAssistant, asksPast bool
	dates                             dates
	now                               time.Time
}

// forms are the expressions by which folded queries are read.
type forms struct {
	// when, number and name match what asks for such words; user, did and told what asks for the words of one side, did of
	// the past; past what asks for something that has happened; and other the words of questions in other languages.
	when, number, name, user, did, told, past, other form
	dateForms
	// wanted are the words at which the expressions look.
	wanted map[string]bool
}

// otherQuestions are words of questions in Spanish, German, French, Portuguese and Italian, Dutch, Indonesian, Russian,
// Arabic and Hindi.
//
//go:embed questions.txt
var otherQuestions string

// readForms compiles the forms with the first query: a function that asks nothing starts without them.
var readForms = sync.OnceValue(func() *forms {
	f := &forms{
		when: newForm("how since until what which when whens", `how (?:long|old|recently)\b|(?:since|until)\b`+
			`|(?:what|which) (?:date|day|month|year|time|week|weekend)\b`+
			`|when(?:'?s| (?:is|was|are|were|am|did|do|does|has|have|had|can|could|will|would|should|shall|exactly))\b`+
			`|when\W*\z`,
			`何时|几点|几[月号日]|哪一?[天年月日]|哪个?(?:月|星期)|什么(?:时候|时间)|多[久长]|いつ|何[日月年]|언제|며칠`),
		number: newForm("how", `how (?:many|much|often|old|long|far|big|heavy|tall|fast|high)\b`,
			`多[少久大长远高重]|几[个次天月年岁点]|いくつ|いくら|何[回人个岁]|몇|얼마`),
		name: newForm("who whom whose where what which", `(?:who|whom|whose|where|(?:what|which) (?:\w+ )?(?:names?|called`+
			`|city|country|place|state|book|movie|song|band|brand|company|person|people))\b`,
			`谁|哪[里儿位家]|在哪|何[地处人]|什么地方|どこ|だれ|누구|어디`),
		user: newForm("do", `do (?:i|we)\b`, ""),
		did: newForm("did have had was i",
			`(?:(?:did|have|had|was) (?:i|we)|i (?:\w+ )?(?:said|told|mention\w*|wrote|asked))\b`, ""),
		told: newForm("did have had you your", `(?:(?:did|have|had) you|you (?:\w+ )?(?:said|told|mention\w*|wrote`+
			`|suggest\w*|recommend\w*|advise\w*|promise\w*|gave)|your (?:advice|suggestions?|recommendations?`+
			`|answer))\b`, ""),
		past:      newForm("what which why how", `\w+[^.!?]*\b(?:did|was|were|had|has)\b`, ""),
		other:     newForm(word.Fold(otherQuestions), ``, `什么|哪|谁|怎么|何|なに|どんな|どの|どう|무엇|뭐|누가|어떤`),
		dateForms: newDateForms(), wanted: map[string]bool{},
	}
	for _, one := range []form{f.when, f.number, f.name, f.user, f.did, f.told, f.past, f.other} {
		f.want(one.words)
	}
	f.want(relativeWords)
	for name := range f.months {
		f.wanted[name] = true
	}
	return f
})

func (f *forms) want(words []string) {
	for _, w := range words {
		f.wanted[w] = true
	}
}

// form is a way to ask for something. at matches where one of the words begins, east anywhere in a text of East Asia.
type form struct {
	words    []string
	at, east *regexp.Regexp
}

// longestForm is how far at looks, in bytes: one message may have thousands of the words.
const longestForm = 200

func newForm(words, at, east string) form {
	f := form{words: strings.Fields(words), at: regexp.MustCompile(`\A(?:` + at + `)`)}
	if east != "" {
		f.east = regexp.MustCompile(east)
	}
	return f
}

// reading is a folded text with the places of the words that forms look for. Expressions are matched there only: a
// message may be long.
type reading struct {
	text   string
	places []place
	isEast bool
}

// place is a word of a text, and where it begins.
type place struct {
	word string
	at   int
}

// read finds the words of a folded text that the forms look for.
func (f *forms) read(text string) reading {
	r := reading{text: text}
	begin := -1
	add := func(end int) {
		if begin >= 0 && f.wanted[text[begin:end]] {
			r.places = append(r.places, place{text[begin:end], begin})
		}
		begin = -1
	}
	for i, c := range text {
		switch {
		case c >= firstEastern && unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			r.isEast = true
			add(i)
		case !unicode.IsLetter(c) && !unicode.IsMark(c) && !unicode.IsDigit(c):
			add(i)
		case begin < 0:
			begin = i
		}
	}
	add(len(text))
	return r
}

// firstEastern is before all characters of East Asia's scripts.
const firstEastern = 0x1100

// matches reports whether a text has a form.
func (f form) matches(r reading) bool {
	return slices.ContainsFunc(r.places, func(p place) bool {
		return slices.Contains(f.words, p.word) && f.at.MatchString(truncate.Bytes(r.text[p.at:], longestForm))
	}) || r.isEast && f.east != nil && f.east.MatchString(r.text)
}

// NewQuery reads a query that is asked at a time.
func NewQuery(text string, now time.Time) *Query {
	text = truncate.Bytes(text, maxQueryBytes)
	f := readForms()
	r := f.read(word.Fold(text))
	did := f.did.matches(r)
	q := &Query{
		normalized: longterm.Normalize(text), names: capitalised(text),
		when: f.when.matches(r), number: f.number.matches(r), name: f.name.matches(r),
		asksUser: did || f.user.matches(r), asksAssistant: f.told.matches(r), dates: f.dates(r, now), now: now,
	}
	isOther := func() bool { return q.dates.isNamed() || f.other.matches(r) }
	q.asksPast = did || f.past.matches(r) || strings.ContainsAny(text, questionMarks) && isOther()
	words := strings.FieldsFunc(strings.ToLower(text), isSeparator)
	q.courtesy = len(words) > 0 && !slices.ContainsFunc(words, isContent) || word.IsCourtesy(text)
	if asked := word.NewQuery(text); !q.courtesy && !q.isSmallTalk(asked.Terms()) {
		q.asked, q.terms = asked, asked.Terms()
	}
	return q
}

// Asks reports whether the query plainly asks for something that was said: when, how many, who or where, by whom, or
// what happened, on a day that it names or on any.
func (q *Query) Asks() bool { return q.when || q.number || q.name || q.asksAssistant || q.asksPast }

// asksForWords reports whether the query asks for words of one kind or of one side.
func (q *Query) asksForWords() bool {
	return q.when || q.number || q.name || q.asksUser || q.asksAssistant
}

// isSmallTalk reports whether a query of these terms asks for nothing.
func (q *Query) isSmallTalk(terms []string) bool {
	return !q.asksForWords() && !slices.ContainsFunc(terms, func(term string) bool { return !courtesyTerms()[term] })
}

// capitalised returns the words with a capital first letter, in lower case.
func capitalised(s string) []string {
	var names []string
	for word := range strings.FieldsFuncSeq(s, isSeparator) {
		word, _, _ = strings.Cut(word, "'")
		if lower := strings.ToLower(word); len(word) > 2 && lower != word && isContent(lower) {
			names = append(names, lower)
		}
	}
	return names
}
