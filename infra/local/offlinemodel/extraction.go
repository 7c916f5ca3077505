package offlinemodel

import (
	"regexp"
	"slices"
	"strings"
)

// extraction collects what the user's messages say.
type extraction struct {
	lex     *lexicon
	from    transcript
	facts   []*finding
	opened  []*finding
	closed  []*finding
	lookups int // comparisons with all that is known
}

// maxLookups bounds the time of an extraction. No batch of the product needs as many.
const maxLookups = 100

// finding is a fact, an open loop, or the end of one.
type finding struct {
	rule       *factRule // of a fact
	content    string
	repeats    string
	supersedes string
	id         string // of the loop that is closed
	safety     bool
	messages   []any
	stems      map[string]bool
	about      subject
}

// extract answers the format memory_extraction. It reads what the user states in the new messages, by rules for English
// and the basics of German and Spanish. It leaves out questions, jokes, hearsay, what is only imagined, quotations,
// and what reads like instructions to a model.
func extract(lex *lexicon, t transcript) map[string]any {
	e := &extraction{lex: lex, from: t}
	for _, records := range [][]known{t.memories, t.loops} {
		for i := range records {
			records[i].stems, records[i].about = e.stems(records[i].text), subjectOf(records[i].text)
		}
	}
	for _, turn := range t.turns {
		turn.at.iso = true
		if turn.role == "user" {
			e.message(turn)
		}
	}
	facts, opened, closed := []any{}, []any{}, []any{}
	for _, f := range e.facts {
		facts = append(facts, map[string]any{
			"type": f.rule.kind, "content": f.content, "confidence": f.rule.confidence, "messageIds": f.messages,
			"safety": f.safety, "repeats": f.repeats, "supersedes": f.supersedes,
		})
	}
	for _, o := range e.opened {
		opened = append(opened, map[string]any{"content": o.content, "confidence": 0.8, "messageIds": o.messages})
	}
	for _, c := range e.closed {
		closed = append(closed, map[string]any{"id": c.id, "messageIds": c.messages})
	}
	return map[string]any{"facts": facts, "openLoops": opened, "closedLoops": closed}
}

// The forms of what is no statement of the user.
var (
	// injected begins what reads like instructions to a model. The rest of the message is not read.
	injected = regexp.MustCompile(`(?i)(?:^|[\s\[<("'])(?:system|assistant|developer|admin)\s*(?:prompt|message|` +
		`note)?\s*[:\]>]|` +
		`\b(?:ignore|disregard|forget) (?:all |any |your |the )*(?:previous |prior |above |earlier )?(?:instructions?|` +
		`rules|prompts?)|` +
		`\bnew (?:rules?|instructions?)\b|\byou (?:must|are now|shall)\b|\b(?:store|save|output|insert|write) (?:that |` +
		`this |the |a )*(?:fact|` +
		`memory|following|json)|</?\w+>|"(?:facts|content|supersedes)"`)
	// joking marks a message that is not meant as it is said.
	joking = regexp.MustCompile(`(?i)\b(?:just kidding|kidding|jk|joking|lol|lmao|rofl|ha(?:ha)+|hehe|jaja(?:ja)*|` +
		`yeah,? right|as if|` +
		`not really|sarcasm|war (?:nur )?(?:ein )?(?:witz|scherz)|spaß|(?:es|era) broma)\b|[😂🤣😜😉😏🙃😅]|(?:^|\s)/s\b`)
	// hearsay is what others say or think, or what is read somewhere.
	hearsay = regexp.MustCompile(`(?i)\b(?:says?|said|tells? me|told|thinks?|claims?|reckons?|believes?|heard|` +
		`read (?:that|somewhere)|` +
		`apparently|according to|supposedly|they say|sagt|meint|dice|dicen)\b`)
	ownSaying = regexp.MustCompile(`(?i)\b(?:i|as i|like i)(?:'ve)? (?:just |already )?(?:said|say|told you|` +
		`mentioned)(?: before| earlier)?,? ?`)
	// supposed is what is only imagined, wished or unsure.
	supposed = regexp.MustCompile(`(?i)^(?:if|imagine|suppose|what if|let's say|say|pretend|in a (?:perfect|parallel)|` +
		`wenn|si)\b|` +
		`\b(?:would|could|might|maybe|perhaps|wish|dream(?:s|ed|ing)?|hypothetically|in theory|someday|one day|i think|` +
		`i guess|not sure|` +
		`possibly|probably|i suspect|seems?|considering|thinking (?:about|of)|thought about|pretend|imagine|feels? like|` +
		`as though|` +
		`almost|nearly|practically|basically|vielleicht|würde|könnte|wäre|quizás?|tal vez|sería|podría|creo que)\b|` +
		`'d (?:be|have|move|live|buy|` +
		`love|like)\b|\bif (?:i|we) (?:was|were|had|moved|lived|won|could|ever)\b`)
	// quotation is what somebody else has written.
	quotation = regexp.MustCompile(`"[^"]*"|“[^”]*”|„[^“]*“|«[^»]*»|(?:^|\n)\s*>[^\n]*`)
	// wishes begin a plain wish that something be remembered.
	wishes = regexp.MustCompile(`(?i)^(?:please )?(?:(?:can|could) you )?(?:remember|note|keep in mind|don't forget|` +
		`for the record|fyi|` +
		`just so you know|denk daran|recuerda)(?: that|:|,| que)?\s+`)
)

// message reads one message.
func (e *extraction) message(t turn) {
	text := strings.ReplaceAll(t.text, "’", "'")
	if at := injected.FindStringIndex(text); at != nil {
		text = text[:at[0]]
	}
	if joking.MatchString(text) {
		return
	}
	text = quotation.ReplaceAllStringFunc(text, func(quote string) string {
		const name = 2 // words; shorter quotations name something
		if words := strings.Fields(quote); len(words) <= name && !strings.Contains(quote, ">") {
			return strings.Trim(quote, `"“”„«»`)
		}
		return " "
	})
	spoken := languageOf(e.lex, text)
	for _, sentence := range splitSentences(text) {
		if e.lookups > maxLookups {
			return
		}
		if strings.HasSuffix(sentence, "?") && !promise.MatchString(strip(strings.TrimRight(sentence, "?"))) {
			continue
		}
		sentence = ownSaying.ReplaceAllString(oneLine(strings.TrimRight(sentence, "?")), "")
		of := spoken
		if own, sure := languageSure(e.lex, sentence); sure {
			of = own
		}
		e.sentence(sentence, of, t)
	}
}

// sentence reads one sentence of a message.
func (e *extraction) sentence(sentence string, spoken language, from turn) {
	if supposed.MatchString(strip(sentence)) {
		return
	}
	if spoken != inEnglish {
		e.foreign(sentence, spoken, from)
		return
	}
	for _, clause := range splitClauses(sharedSubject.ReplaceAllString(sentence, "${1}${2}, and I${3} ${4}")) {
		clause = strip(wishes.ReplaceAllString(strip(leads.ReplaceAllString(strip(clause), "$1")), ""))
		if clause == "" || hearsay.MatchString(clause) {
			continue
		}
		e.statement(clause, from)
	}
}

// leads matches what introduces a statement: "Good news from the doctor: I'm healthy".
var leads = regexp.MustCompile(`(?i)^[^:"]{3,40}: ((?:i|my)\b)`)

// sharedSubject matches a second predicate after the same subject: "I live in Porto and work at a bank", "I'm vegan and
// allergic to nuts".
var sharedSubject = regexp.MustCompile(`\b(I)((?:'m| am)?\b[^,;]*?),? and ((?:'m|am)?) ?((?:live|work|have|train|` +
	`moved|started|take|` +
	`tore|broke|hurt|prefer|booked|ordered|bought|called)\b)`)

// statement reads one statement in English.
func (e *extraction) statement(statement string, from turn) {
	const fact = 1 // the least topic weight; a statement with less is not worth keeping
	statement = splitPredicates(statement)
	dated := from.at.resolve(statement)
	if m := promise.FindStringSubmatch(dated); m != nil {
		e.open(m[1], from)
		return
	}
	e.close(statement, from)
	if endings.MatchString(statement) && e.end(statement, dated, from) {
		return
	}
	for part := range strings.SplitSeq(statement, "\x00") {
		for i := range englishFacts {
			rule := &englishFacts[i]
			if rule.match.MatchString(part) && e.lex.topic(part).total >= fact {
				if (rule.except == nil || !rule.except.MatchString(part)) && !endings.MatchString(part) {
					e.remember(rule, retellFact(e.lex, from.at.resolve(part)), part, from)
				}
				break
			}
		}
	}
}

// splitPredicates parts two properties of one sentence: "I'm vegan and allergic to nuts".
func splitPredicates(statement string) string {
	return properties.ReplaceAllString(statement, "${1}\x00I'm ${2}")
}

var properties = regexp.MustCompile(`(?i)^(i(?:'m| am) [\w -]{3,30}?),? and ((?:allergic|intolerant|vegan|` +
	`vegetarian|pregnant|diabetic|lactose)\b)`)

// foreign reads a sentence in another language.
func (e *extraction) foreign(sentence string, spoken language, from turn) {
	if hearsay.MatchString(sentence) {
		return
	}
	forms := foreignForms[spoken]
	sentence = strings.TrimRight(sentence, ".! ")
	if m := forms.promise.FindStringSubmatch(sentence); m != nil {
		e.open(from.at.resolve(strings.Join(m[1:], "")), from)
		return
	}
	e.close(sentence, from)
	if endings.MatchString(sentence) {
		if old := e.nearestOf(e.from.memories, sentence, sameMatter); old != nil {
			e.add(&finding{
				rule: &factRule{kind: old.kind, confidence: 0.9}, content: forms.over + capitalize(sentence) + ".",
				supersedes: old.id,
			}, sentence, from)
		}
		return
	}
	for i := range forms.facts {
		rule := &forms.facts[i]
		for _, at := range rule.match.FindAllStringSubmatchIndex(sentence, -1) {
			content := string(rule.match.ExpandString(nil, rule.content, sentence, at))
			e.remember(rule, from.at.resolve(content), sentence[at[0]:at[1]], from)
		}
	}
}

// foreignForms are the rules of the languages other than English.
var foreignForms = map[language]struct {
	facts   []factRule
	promise *regexp.Regexp
	over    string // introduces what the user says is over
}{
	inGerman: {germanFacts, regexp.MustCompile(`(?i)(?:\bich (?:muss|werde) (?:noch |unbedingt )?(.+)$|` +
		`\berinnere mich (?:bitte )?daran,? (.+)$)`), "Der Nutzer sagt: "},
	inSpanish: {spanishFacts, regexp.MustCompile(`(?i)(?:\b(?:tengo que|voy a|debo) (.+)$|` +
		`\brecuérdame (?:que )?(.+)$)`), "El usuario dice: "},
}

// remember adds a fact, and names the memory that it repeats or supersedes.
func (e *extraction) remember(rule *factRule, content, statement string, from turn) {
	f := &finding{rule: rule, content: strings.TrimRight(clip(content, maxQuoteBytes), ". ") + ".", safety: rule.safety}
	if old := e.nearestOf(e.from.memories, content, repeats); old != nil {
		f.repeats = old.id
	} else {
		f.supersedes = e.superseded(content, statement)
	}
	e.add(f, content, from)
}

// add adds a fact. A fact that an earlier message of the batch states too gets the message, and one of which only one
// can be true takes the place of the earlier one.
func (e *extraction) add(f *finding, content string, from turn) {
	f.stems = e.stems(content)
	for _, earlier := range e.facts {
		if overlap(earlier.stems, f.stems) >= repeats {
			if from.id != "" && !slices.Contains(earlier.messages, any(from.id)) {
				earlier.messages = append(earlier.messages, from.id)
			}
			return
		}
	}
	f.messages = messageIDs(from)
	f.about = subjectOf(f.content)
	for i, earlier := range e.facts {
		if earlier.rule.kind == f.rule.kind && earlier.about.excludes(f.about) {
			f.supersedes = earlier.supersedes
			e.facts[i] = f
			return
		}
	}
	e.facts = append(e.facts, f)
}

// end adds the fact that something is over, where a memory says what. It reports whether there is one.
func (e *extraction) end(statement, dated string, from turn) bool {
	old := e.nearestOf(e.from.memories, statement, sameMatter)
	if old == nil {
		return false
	}
	kind := old.kind
	if kind == "" {
		kind = "PROFILE"
	}
	e.add(&finding{
		rule: &factRule{kind: kind, confidence: 0.9}, content: strings.TrimRight(retellFact(e.lex, dated), ". ") + ".",
		supersedes: old.id,
	}, statement, from)
	return true
}

// messageIDs is the message that a finding comes from, where the prompt gives its id.
func messageIDs(from turn) []any {
	if from.id == "" {
		return []any{}
	}
	return []any{from.id}
}

// retellFact puts a statement of the user into the third person.
func retellFact(lex *lexicon, statement string) string {
	v := voiceOf(lex, "user")
	r := v.retell(statement)
	switch {
	case r.singular != "":
		return "The user " + r.singular
	case r.plural != "":
		return "The user says that they " + r.plural
	case r.owned != "":
		return "The user's " + r.owned
	default:
		return strings.Replace(capitalize(r.text), " and they ", " and the user ", 1)
	}
}
