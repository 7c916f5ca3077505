package offlinemodel

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// voice says how the words of one speaker read in the third person.
type voice struct {
	lex *lexicon
	// user and coach map the pronouns of the sentence to those about the user ("they") and about the coach.
	user, coach map[string]string
	// other are the names of the one who is not "they".
	other map[string]string
}

// pronouns of the first and second person, as the roles they have in a sentence.
var (
	firstPerson = map[string]string{
		"i": "subject", "me": "object", "my": "possessive", "mine": "theirs", "myself": "reflexive", "we": "subject",
		"us": "object", "our": "possessive", "ours": "theirs", "ourselves": "reflexive",
	}
	secondPerson = map[string]string{
		"you": "subject", "your": "possessive", "yours": "theirs", "yourself": "reflexive", "yourselves": "reflexive",
	}
	// theirPronouns and coachNames are the words for the user and the coach in each role.
	theirPronouns = map[string]string{
		"subject": "they", "object": "them", "possessive": "their", "theirs": "theirs", "reflexive": "themselves",
	}
	coachNames = map[string]string{
		"subject": "the coach", "object": "the coach", "possessive": "the coach's", "theirs": "the coach's",
		"reflexive": "the coach",
	}
	userNames = map[string]string{
		"subject": "the user", "object": "the user", "possessive": "the user's", "theirs": "the user's",
		"reflexive": "the user",
	}
)

// voiceOf returns the voice of a speaker. The user says I and means the user; the coach says you and means the user.
func voiceOf(lex *lexicon, role string) voice {
	if role == "assistant" {
		return voice{lex: lex, user: secondPerson, coach: firstPerson, other: coachNames}
	}
	return voice{lex: lex, user: firstPerson, coach: secondPerson, other: coachNames}
}

// coachAlone is the voice for what the coach says of themselves: "they" are the coach.
func coachAlone(lex *lexicon) voice {
	return voice{lex: lex, user: firstPerson, coach: secondPerson, other: userNames}
}

// retold is a statement in the third person.
type retold struct {
	// text is the whole statement about "them", without a capital at its start: "they only have bands at home".
	text string
	// singular and plural are what follows the user as the subject: "only has bands at home" and "only have bands at
	// home". Both are empty when the statement is not about what the user does, singular also when the form of one of
	// its verbs is unsure.
	singular, plural string
	// owned is the statement without its first word when that is the user's possessive: "left knee hurts".
	owned string
}

// spoken is a word or contraction of a sentence: "I'm" is the word I and the ending 'm.
type spoken struct {
	word, ending string
	start, end   int
}

var tokenForm = regexp.MustCompile(`([\p{L}\p{N}]+)('(?:m|ve|ll|d|re|s)\b)?(?:['-][\p{L}\p{N}]+)*`)

func tokenize(text string) []spoken {
	var tokens []spoken
	for _, at := range tokenForm.FindAllStringSubmatchIndex(text, -1) {
		t := spoken{word: text[at[2]:at[1]], start: at[0], end: at[1]}
		if at[4] >= 0 && at[5] == at[1] {
			t.word, t.ending = text[at[2]:at[3]], text[at[4]:at[5]]
		}
		tokens = append(tokens, t)
	}
	return tokens
}

// retell puts a statement into the third person, as far as rules can.
func (v voice) retell(statement string) retold {
	tokens := tokenize(statement)
	words := make([]string, len(tokens))
	begins, owned := false, false
	var subject string // "they" or "the coach" while the verb of that subject is still to come
	for i, t := range tokens {
		words[i] = t.word + t.ending
		name, role := v.pronoun(tokens, i, statement)
		switch {
		case name == "":
			words[i], subject = v.agree(words[i], subject)
		case name == "they" && i == 0:
			begins, subject = true, "they"
			words[i], subject = contraction(name, t.ending, subject)
		case name == "they" || name == v.other["subject"] && role == "subject":
			words[i], subject = contraction(name, t.ending, name)
		default:
			owned = owned || i == 0 && name == "their"
			words[i], subject = name+t.ending, ""
		}
	}
	unchanged := len(tokens) > 0 && words[0] == tokens[0].word
	r := retold{text: lowerFirst(v.lex, rebuild(statement, tokens, words), unchanged)}
	switch {
	case begins:
		r.plural = strings.TrimPrefix(r.text, "they ")
		r.singular = v.singular(r.plural)
	case owned:
		r.owned = strings.TrimPrefix(r.text, "their ")
	}
	return r
}

// pronoun returns the word that stands for the pronoun at i, and its role; nothing for other words.
func (v voice) pronoun(tokens []spoken, i int, statement string) (name, role string) {
	lower := strings.ToLower(tokens[i].word)
	if lower == "us" && tokens[i].word == "US" {
		return "", ""
	}
	role, isUser := v.user[lower]
	if !isUser {
		role = v.coach[lower]
	}
	if lower == "you" && objectPlace(tokens, i, statement) {
		role = "object"
	}
	switch {
	case isUser:
		return theirPronouns[role], role
	case role != "":
		return v.other[role], role
	default:
		return "", ""
	}
}

// objectPlace reports whether the word at i, which may be a subject or an object, is an object.
func objectPlace(tokens []spoken, i int, statement string) bool {
	if tokens[i].ending != "" {
		return false
	}
	if i > 0 && beforeObject[strings.ToLower(tokens[i-1].word)] {
		return true
	}
	rest := strings.TrimLeft(statement[tokens[i].end:], " ")
	return i > 0 && (rest == "" || strings.ContainsAny(rest[:1], ".,;!?"))
}

var beforeObject = wordSet(`to for with of at on by about from let help give tell show send make remind thank told gave
	than like near against lets helps gives makes keep keeps wish see hear ask`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// contraction writes a subject with what is contracted to it: I'm is "they are". While the verb is still to come, the
// subject is returned.
func contraction(name, ending, subject string) (text, next string) {
	singular := subject != "they"
	switch ending {
	case "":
		return name, subject
	case "'m", "'re":
		if singular {
			return name + " is", ""
		}
		return name + " are", ""
	case "'ve":
		if singular {
			return name + " has", ""
		}
		return name + " have", ""
	case "'ll":
		return name + " will", ""
	case "'d":
		return name + " would", ""
	default:
		return name + ending, ""
	}
}

// adverbs may stand between a subject and its verb.
var adverbs = wordSet(`only also really always usually never currently just still often now already mostly probably
	definitely actually finally recently sometimes even mainly normally generally rarely both all first then`)

// agree puts the verb of a subject into the form that the subject needs.
func (v voice) agree(word, subject string) (text, next string) {
	lower := strings.ToLower(word)
	switch {
	case subject == "" || adverbs[lower]:
		return word, subject
	case subject == "they":
		if form, ok := pluralForms[lower]; ok {
			return form, ""
		}
		return word, ""
	default:
		form, _ := v.thirdPerson(lower)
		return form, ""
	}
}

var (
	pluralForms   = map[string]string{"am": "are", "was": "were", "wasn't": "weren't"}
	singularForms = map[string]string{
		"am": "is", "are": "is", "were": "was", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't",
		"aren't": "isn't", "weren't": "wasn't", "go": "goes",
	}
	unchangedVerb = wordSet(`can could will would should might must may had did was is has cannot can't couldn't won't
		wouldn't shouldn't didn't hadn't wasn't isn't hasn't used`)
	// sameInPast are verbs of which the form does not tell the present from the past.
	sameInPast = wordSet(`hurt hit set put cut read quit let beat cost spread shut split bet`)
	presentEd  = wordSet(`need feed bleed breed proceed exceed succeed`)
	notPast    = wordSet(`kid bike photo film picture`)
)

// thirdPerson returns a verb in the third person singular. Past forms and modal verbs do not change. sure is false when
// the word may be another form of the verb.
func (v voice) thirdPerson(verb string) (form string, sure bool) {
	if form, ok := singularForms[verb]; ok {
		return form, true
	}
	_, irregularPast := v.lex.forms[verb]
	switch {
	case unchangedVerb[verb], irregularPast && !notPast[verb],
		strings.HasSuffix(verb, "ed") && !presentEd[verb]:
		return verb, true
	case strings.HasSuffix(verb, "n't") || strings.HasSuffix(verb, "ing") || strings.HasSuffix(verb, "ly"):
		return verb, false
	case strings.HasSuffix(verb, "y") && len(verb) > 1 && !strings.ContainsRune("aeiou", rune(verb[len(verb)-2])):
		return verb[:len(verb)-1] + "ies", true
	case strings.HasSuffix(verb, "o"), strings.HasSuffix(verb, "ss"), strings.HasSuffix(verb, "sh"),
		strings.HasSuffix(verb, "ch"), strings.HasSuffix(verb, "x"), strings.HasSuffix(verb, "zz"):
		return verb + "es", !sameInPast[verb]
	default:
		return verb + "s", !sameInPast[verb]
	}
}

// joined matches the word after a conjunction, which may be a second verb of the same subject.
var joined = regexp.MustCompile(`\b(?:and|or|but)(?: (?:then|also|just|only|usually|now|still|so|` +
	`even))* ([\p{L}\p{N}'-]+)`)

// singular returns what follows a subject of the third person singular, for what follows "they". It is empty when a
// verb of it cannot be told from other words.
func (v voice) singular(plural string) string {
	first, rest := "", plural
	for {
		word, after, _ := strings.Cut(rest, " ")
		if adverbs[strings.ToLower(strings.TrimRight(word, ","))] && after != "" {
			first, rest = first+word+" ", after
			continue
		}
		form, sure := v.thirdPerson(strings.TrimRight(word, ",.;"))
		if !sure || !plainWordForm.MatchString(strings.TrimRight(word, ",.;")) {
			return ""
		}
		first, rest = first+form+word[len(strings.TrimRight(word, ",.;")):], after
		break
	}
	if rest == "" {
		return first
	}
	for _, m := range joined.FindAllStringSubmatch(rest, -1) {
		if !v.nominal(m[1]) {
			return ""
		}
	}
	return first + " " + rest
}

var plainWordForm = regexp.MustCompile(`^[a-z]+(?:n't)?$`)

// nominal reports whether a word after a conjunction begins no predicate whose verb would need another form.
func (v voice) nominal(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	if !unicode.IsLower(first) || v.lex.stop[word] && singularForms[word] == "" {
		return true
	}
	form, _ := v.thirdPerson(word)
	return form == word || strings.HasSuffix(word, "s")
}

// rebuild puts words in the place of the tokens of a text. Two statements that only a comma joins get a semicolon.
func rebuild(text string, tokens []spoken, words []string) string {
	var out strings.Builder
	at := 0
	for i, t := range tokens {
		gap := text[at:t.start]
		const clause = 4 // words before the comma that may be a statement
		joins := i >= clause && gap == ", " && t.word == "I" && strings.HasPrefix(words[i], "they")
		first := strings.ToLower(tokens[0].word)
		if joins && !subordinate[first] && !strings.HasSuffix(first, "ing") {
			gap = "; "
		}
		out.WriteString(gap)
		out.WriteString(words[i])
		at = t.end
	}
	out.WriteString(text[at:])
	return out.String()
}

// subordinate are the words of a clause that a comma separates from its main clause.
var subordinate = wordSet(`if when because while since although though after before until as once unless whenever in on
	at last next for during with without to yesterday today tomorrow`)

// lowerFirst makes the first letter small where the first word is no name. Only words that the lexicon knows are sure
// to be none.
func lowerFirst(lex *lexicon, text string, changeable bool) string {
	word, _, _ := strings.Cut(text, " ")
	lower := strings.ToLower(strings.TrimRight(word, ",.:;"))
	_, common := lex.weights[lex.stem(lower)]
	_, irregular := lex.forms[lower]
	if !changeable || !(lex.stop[lower] || common || irregular || len(lex.concepts[lex.stem(lower)]) > 0) {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(first)) + text[size:]
}

func capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
