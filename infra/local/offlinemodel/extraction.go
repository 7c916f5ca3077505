package offlinemodel

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// factRule makes a statement a fact of a type. The statement has to match, and must not match the exceptions.
type factRule struct {
	kind       string
	confidence float64
	match      *regexp.Regexp
	except     *regexp.Regexp
}

const (
	// relatives are the people that users speak of.
	relatives = `(?:girlfriend|boyfriend|wife|husband|partner|friend|brother|sister|mother|mom|mum|father|dad|son|` +
		`daughter|boss|colleague|neighbou?r|fianc[eé]e?|uncle|aunt|cousin|grandmother|grandfather|physio|doctor|` +
		`trainer|teammate)`
	// bodyParts are what users hurt.
	bodyParts = `(?:knee|back|shoulder|hip|ankle|wrist|elbow|neck|foot|hamstring|calf|achilles|heart)s?`
)

// factRules lists the rules, the surest first. The first that matches decides.
var factRules = []factRule{
	{kind: "PEOPLE", confidence: 0.9, match: regexp.MustCompile(
		`\b[Mm]y (?:\w+ )?` + relatives + `s?\b(?:'s| is| was| has| called| lives| works|,? [A-Z]\w| \w+s\b)`,
	)},
	{kind: "PROFILE", confidence: 0.95, match: regexp.MustCompile(
		`(?i)\b(?:allergic to|intolerant|my name(?:'s| is)|my birthday|i was born|i(?:'m| am) (?:\d+|diabetic|` +
			`pregnant|asthmatic|vegan|vegetarian|coeliac|celiac|injured|retired|married|single|divorced)\b)`,
	)},
	{
		kind: "PROFILE", confidence: 0.9, match: regexp.MustCompile(
			`(?i)\b(?:i (?:now |currently |still )?(?:live|work) (?:in|at|as|for|near|with)\b|i(?:'ve| have)? (?:just ` +
				`)?moved to|i(?:'m| am) (?:from|a|an) \w+)`,
		),
		except: regexp.MustCompile(`(?i)\bi(?:'m| am) an? (?:bit|little|lot|huge|big|total|complete|mess|fan|tad|few|` +
			`good|bad|lucky|terrible|great)\b`),
	},
	{kind: "PROFILE", confidence: 0.9, match: regexp.MustCompile(
		`(?i)\bi (?:only have|have only|just have|don't have|have no)\b.*\b(?:bands?|barbells?|dumbbells?|` +
			`kettlebells?|racks?|bench|gym|equipment|machines?|space)\b`,
	)},
	{kind: "PROFILE", confidence: 0.85, match: regexp.MustCompile(
		`(?i)\b(?:i(?:'ve| have)? (?:tore|torn|broke|broken|sprained|strained|hurt|injured|pulled) my|my (?:left |` +
			`right |lower |upper )*` + bodyParts + ` (?:hurts?|aches?|keeps|still|is (?:sore|injured|bad|broken|torn|stiff)))\b`,
	)},
	{kind: "PROFILE", confidence: 0.85, match: regexp.MustCompile(
		`(?i)\bi (?:still )?have (?:a |an )?(?:(?:bad|torn|old|weak|stiff|chronic|injured) (?:\w+ )?` + bodyParts +
			`|asthma|diabetes|arthritis|(?:\w+ )?allerg\w+|hernia|scoliosis|(?:\w+ )?injury|(?:\w+ )?(?:kids|children|` +
			`dogs?|cats?))\b`,
	)},
	{kind: "PROJECT", confidence: 0.85, match: regexp.MustCompile(
		`(?i)\b(?:i(?:'m| am) (?:working on|training for|preparing for|building|writing|learning|studying|saving for)|` +
			`i(?:'ve| have)? signed up for|my (?:\w+ ){0,2}(?:program|programme|project|goal|race|marathon|competition) ` +
			`(?:is|will be|starts|has))\b`,
	)},
	{kind: "PROFILE", confidence: 0.75, match: regexp.MustCompile(
		`(?i)\bi (?:really )?(?:prefer|hate|can't (?:eat|stand)|cannot (?:eat|stand)|don't (?:eat|drink)|never eat)\b`,
	)},
}

var (
	// promise matches a promise or a request for a reminder, and captures the thing to do.
	promise = regexp.MustCompile(`(?i)\b(?:i will|i'll|i need to|i have to|i must|i should|i'm going to|i am going ` +
		`to|i promise to|i plan to|don't let me forget to|remind me to|remember to remind me to|todo:)\s+(.+)$`)
	// idle matches promises of nothing.
	idle = regexp.MustCompile(`(?i)^(?:be|try|see|think|let you know|go now|keep|say|admit|have to go|get going|` +
		`talk|check|know|stop|do (?:it|that|my best)|miss|love|never|always|probably|definitely)\b`)
	// completed matches the end of something that was open.
	completed = regexp.MustCompile(`(?i)\b(?:i|i've|i have|we|we've)\s+(?:just |finally |already )?(?:did|done|` +
		`finished|completed|booked|bought|sent|called|signed|sorted|ordered|fixed|paid|made|took|went|ran|wrote|` +
		`talked|ticked off|got)\b|\bdone with\b`)
)

// extraction collects what the user's messages say.
type extraction struct {
	lex    *lexicon
	from   transcript
	facts  []any
	opened []any
	closed []any
	seen   map[string]bool
}

// extract answers the format memory_extraction. It reads the user's statements only. It ignores questions, and what the
// assistant or the system said.
func extract(lex *lexicon, t transcript) map[string]any {
	e := &extraction{lex: lex, from: t, facts: []any{}, opened: []any{}, closed: []any{}, seen: map[string]bool{}}
	for _, records := range [][]known{t.memories, t.loops} {
		for i := range records {
			records[i].stems = lex.stemSet(records[i].text)
		}
	}
	for _, turn := range t.turns {
		if turn.role != "user" {
			continue
		}
		for _, sentence := range splitSentences(turn.text) {
			if strings.HasSuffix(sentence, "?") {
				continue
			}
			for _, statement := range splitClauses(strings.ReplaceAll(oneLine(sentence), "’", "'")) {
				e.read(statement, turn.id)
			}
		}
	}
	return map[string]any{"facts": e.facts, "openLoops": e.opened, "closedLoops": e.closed}
}

// newClause matches the place in a sentence where the user begins another statement about themselves.
var newClause = regexp.MustCompile(`(?:[,;]\s+(?:(?:and|but|because|since|so) )?|\s(?:but|because|since) )(?:I\b|my\b)`)

// splitClauses cuts a sentence before each of its statements.
func splitClauses(sentence string) []string {
	var clauses []string
	start := 0
	for _, at := range newClause.FindAllStringIndex(sentence, -1) {
		clauses = append(clauses, sentence[start:at[0]])
		start = at[1] - len("I")
		if strings.HasSuffix(sentence[:at[1]], "my") {
			start = at[1] - len("my")
		}
	}
	return append(clauses, sentence[start:])
}

// read reads one statement. It ignores repetitions.
func (e *extraction) read(statement, messageID string) {
	const task, fact = 1.4, 1 // the least topic weights; a statement with less is not worth keeping
	if e.seen[normal(statement)] {
		return
	}
	e.seen[normal(statement)] = true
	if m := promise.FindStringSubmatch(statement); m != nil {
		todo := strings.TrimRight(m[1], ".! ")
		if !idle.MatchString(todo) && e.lex.topicWeight(todo) >= task {
			e.opened = append(e.opened, record(messageID, map[string]any{
				"content":    capitalize(clip(todo, maxQuoteBytes)),
				"confidence": 0.8,
			}))
		}
		return
	}
	if completed.MatchString(statement) {
		e.close(statement, messageID)
	}
	for _, rule := range factRules {
		if rule.match.MatchString(statement) && e.lex.topicWeight(statement) >= fact {
			if rule.except == nil || !rule.except.MatchString(statement) {
				e.remember(rule, statement, messageID)
			}
			return
		}
	}
}

// remember adds a fact, and names the memory that it repeats or supersedes.
func (e *extraction) remember(rule factRule, sentence, messageID string) {
	fact := map[string]any{
		"type": rule.kind, "content": thirdPerson(e.lex, clip(strings.TrimRight(sentence, ".! "), maxQuoteBytes)),
		"confidence": rule.confidence,
	}
	fact["pinned"] = safety.MatchString(sentence)
	if old, similarity := e.nearest(e.from.memories, sentence); old.id != "" && similarity >= repeats {
		fact["repeats"], fact["duplicateOf"] = old.id, old.id
	} else if old := e.superseded(sentence); old != "" {
		fact["supersedes"] = old
	}
	e.facts = append(e.facts, record(messageID, fact))
}

// safety matches what must never be forgotten, such as injuries and allergies.
var safety = regexp.MustCompile(`(?i)allerg|intoleran|diabet|asthma|pregnan|injur|tore|torn|broke|sprain|hernia|` +
	bodyParts + ` (?:hurt|ache)`)

// correction matches how people take back what they said before.
var correction = regexp.MustCompile(`(?i)\b(no longer|not .* any ?more|actually|instead|these days|now|healed|` +
	`recovered|used to)\b`)

// superseded returns the id of the memory that a statement makes untrue, or nothing. That is a memory about a subject
// with one truth at a time, such as a home, or one that the statement corrects explicitly. Likeness alone is not
// enough, because a second allergy does not end the first.
func (e *extraction) superseded(sentence string) string {
	for _, m := range e.from.memories {
		if sameFrame(sentence, m.text) && relative.FindString(sentence) == relative.FindString(m.text) {
			return m.id
		}
	}
	if old, similarity := e.nearest(e.from.memories, sentence); similarity >= sameMatter &&
		correction.MatchString(sentence) {
		return old.id
	}
	return ""
}

var relative = regexp.MustCompile(relatives)

// How alike two statements are, as the share of topic words they have in common.
const (
	repeats    = 0.75
	sameMatter = 0.4
)

// close adds the open loop that a sentence completes, if there is one.
func (e *extraction) close(sentence, messageID string) {
	loop, similarity := e.nearest(e.from.loops, sentence)
	if similarity < sameMatter {
		return
	}
	e.closed = append(e.closed, record(messageID, map[string]any{
		"id": loop.id, "todoId": loop.id, "loopId": loop.id, "content": loop.text, "confidence": 0.8,
	}))
}

// nearest returns the known record that is most like a sentence, the first of equals.
func (e *extraction) nearest(records []known, sentence string) (best known, similarity float64) {
	stems := e.lex.stemSet(sentence)
	for _, r := range records {
		if alike := overlap(r.stems, stems); alike > similarity {
			best, similarity = r, alike
		}
	}
	return best, similarity
}

// overlap is the share of the smaller set that is in the other. The word user, which memories speak of, counts for
// none.
func overlap(a, b map[string]bool) float64 {
	shared, sizeA, sizeB := 0, len(a), len(b)
	if a["user"] {
		sizeA--
	}
	if b["user"] {
		sizeB--
	}
	for stem := range a {
		if stem != "user" && b[stem] {
			shared++
		}
	}
	return float64(shared) / float64(max(1, min(sizeA, sizeB)))
}

// frames match statements of which only one can be true at a time.
var frames = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:lives?|moved|relocated|moving) (?:in|to)\b`),
	regexp.MustCompile(`(?i)\bworks? (?:at|as|for)\b`),
	regexp.MustCompile(`(?i)\bname(?:'s| is)\b`),
	regexp.MustCompile(`(?i)\b(?:training|preparing) for\b`),
}

func sameFrame(a, b string) bool {
	return slices.ContainsFunc(frames, func(f *regexp.Regexp) bool { return f.MatchString(a) && f.MatchString(b) })
}

// record adds the id of the message that a finding comes from, where the prompt gives it.
func record(messageID string, fields map[string]any) map[string]any {
	ids := []any{}
	if messageID != "" {
		ids = append(ids, messageID)
		fields["messageId"] = messageID
	}
	fields["messageIds"] = ids
	return fields
}

// topicWeight is the weight of all topic words of a text together.
func (lex *lexicon) topicWeight(text string) float64 { return lex.topic(text).total }

// firstPerson lists the phrases that need more than another ending of the verb. Their order matters.
var firstPerson = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`(?i)\bi(?:'m| am)\b`), "the user is"},
	{regexp.MustCompile(`(?i)\bi(?:'ve| have)\b`), "the user has"},
	{regexp.MustCompile(`(?i)\bi was\b`), "the user was"},
	{regexp.MustCompile(`(?i)\bi(?:'ll| will)\b`), "the user will"},
	{regexp.MustCompile(`(?i)\bi(?:'d| would)\b`), "the user would"},
	{regexp.MustCompile(`(?i)\bi don't\b`), "the user doesn't"},
	{regexp.MustCompile(`(?i)\bi do\b`), "the user does"},
	{regexp.MustCompile(`(?i)\bmyself\b`), "themselves"},
	{regexp.MustCompile(`(?i)\bmine\b`), "theirs"},
	{regexp.MustCompile(`(?i)\bme\b`), "them"},
	{regexp.MustCompile(`(?i)\bmy\b`), "the user's"},
}

var (
	firstPersonVerb = regexp.MustCompile(`(?i)\bi ((?:only|also|really|always|usually|never|currently|just|still|` +
		`often|now) )?([a-z]+)\b`)
	loneFirstPerson = regexp.MustCompile(`\bI\b`)
	modalVerb       = regexp.MustCompile(`^(?:can|could|will|would|should|might|must|may|had|did|was|cannot|\w+ed)$`)
)

// thirdPerson turns a sentence of the user into one about the user, as far as rules can.
func thirdPerson(lex *lexicon, sentence string) string {
	for _, phrase := range firstPerson {
		sentence = phrase.from.ReplaceAllString(sentence, phrase.to)
	}
	sentence = firstPersonVerb.ReplaceAllStringFunc(sentence, func(found string) string {
		m := firstPersonVerb.FindStringSubmatch(found)
		return "the user " + m[1] + presentTense(lex, m[2])
	})
	return capitalize(loneFirstPerson.ReplaceAllString(sentence, "the user"))
}

// presentTense returns a verb in the third person. Past forms and modal verbs do not change.
func presentTense(lex *lexicon, verb string) string {
	_, irregularPast := lex.forms[verb]
	switch {
	case irregularPast || modalVerb.MatchString(verb):
		return verb
	case verb == "have":
		return "has"
	case strings.HasSuffix(verb, "y") && len(verb) > 1 && !strings.ContainsRune("aeiou", rune(verb[len(verb)-2])):
		return verb[:len(verb)-1] + "ies"
	case strings.HasSuffix(verb, "o"), strings.HasSuffix(verb, "s"), strings.HasSuffix(verb, "sh"),
		strings.HasSuffix(verb, "ch"), strings.HasSuffix(verb, "x"):
		return verb + "es"
	default:
		return verb + "s"
	}
}

func capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
