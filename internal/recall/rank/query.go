package rank

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/word"
)

// maxQueryBytes is how much of a query is read.
const maxQueryBytes = 7500

// Query is what is asked, and what its words show. It may be used concurrently.
type Query struct {
	now time.Time
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
}

// forms are the expressions by which queries are read.
type forms struct {
	// when, number and name match what asks for such words; user, did and told what asks for the words of one side, did of
	// the past; and past what asks for something that has happened.
	when, number, name, user, did, told, past *regexp.Regexp
	dateForms
}

// readForms compiles the forms with the first query: a function that asks nothing starts without them.
var readForms = sync.OnceValue(func() *forms {
	return &forms{
		when: regexp.MustCompile(`(?i)\b(?:how (?:long|old|recently)|since|until` +
			`|(?:what|which) (?:date|day|month|year|time|week|weekend)` +
			`|when(?:'?s| (?:is|was|are|were|am|did|do|does|has|have|had|can|could|will|would|should|shall|exactly)))\b` +
			`|\bwhen\W*$|何时|几点|几[月号日]|哪一?[天年月日]|哪个?(?:月|星期)|什么(?:时候|时间)|多[久长]` +
			`|いつ|何[日月年]|언제|며칠`),
		number: regexp.MustCompile(`(?i)\bhow (?:many|much|often|old|long|far|big|heavy|tall|fast|high)\b` +
			`|多[少久大长远高重]|几[个次天月年岁点]|いくつ|いくら|何[回人个岁]|몇|얼마`),
		name: regexp.MustCompile(`(?i)\b(?:who|whom|whose|where|(?:what|which) (?:\w+ )?(?:names?|called|city` +
			`|country|place|state|book|movie|song|band|brand|company|person|people))\b` +
			`|谁|哪[里儿位家]|在哪|何[地处人]|什么地方|どこ|だれ|누구|어디`),
		user: regexp.MustCompile(`\bdo (?:i|we)\b`),
		did: regexp.MustCompile(`(?i)\b(?:(?:did|have|had|was) (?:i|we)` +
			`|i (?:\w+ )?(?:said|told|mention\w*|wrote|asked))\b`),
		told: regexp.MustCompile(`(?i)\b(?:(?:did|have|had) you|you (?:\w+ )?(?:said|told|mention\w*|wrote|suggest\w*` +
			`|recommend\w*|advise\w*|promise\w*|gave)|your (?:advice|suggestions?|recommendations?|answer))\b`),
		past:      regexp.MustCompile(`\b(?:what|which|why|how)\b[^.!?]*\b(?:did|was|were|had|has)\b`),
		dateForms: newDateForms(),
	}
})

// questionMarks end a question: those of Latin, full width and Arabic.
const questionMarks = "?？؟"

// NewQuery reads a query that is asked at a time.
func NewQuery(text string, now time.Time) *Query {
	text = truncate.Bytes(text, maxQueryBytes)
	f, folded := readForms(), word.Fold(text)
	spaced := strings.Contains(folded, " ") // what asks for the words of one side has several
	q := &Query{
		now: now, normalized: longterm.Normalize(text), names: capitalised(text),
		when: f.when.MatchString(folded), number: f.number.MatchString(folded), name: f.name.MatchString(folded),
		asksAssistant: spaced && f.told.MatchString(folded), dates: f.dates(folded, now),
	}
	did := spaced && f.did.MatchString(folded)
	q.asksUser = did || spaced && f.user.MatchString(folded)
	q.asksPast = did || spaced && f.past.MatchString(folded) ||
		q.dates.isNamed() && strings.ContainsAny(text, questionMarks)
	words := strings.FieldsFunc(strings.ToLower(text), isSeparator)
	q.courtesy = len(words) > 0 && !slices.ContainsFunc(words, isContent)
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
