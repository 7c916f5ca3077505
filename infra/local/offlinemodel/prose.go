package offlinemodel

import (
	"regexp"
	"slices"
	"strings"
)

// actor is whom a sentence of a summary is about.
type actor uint8

const (
	nobody actor = iota
	theUser
	theCoach
)

// unit is a statement that may go into a summary.
type unit struct {
	text  string // as it was said; its words decide what it is worth
	turn  int    // the message that it is from; negative in a summary so far
	actor actor

	// A statement of what the actor does is a predicate: "wants to run", and in the plural "want to run". singular is
	// empty where the form of a verb is unsure. Every other statement is a sentence, whole and in the form that follows a
	// sentence about the same actor: "The user's knee hurts", "Their knee hurts".
	singular, plural string
	whole, short     string
	quote            string // the words themselves, where they cannot be retold

	proposal bool // the coach proposes something; reply is what the user said to it
	reply    string
	trust    float64
	stems    map[string]bool
}

// size is the most that the unit adds to a summary.
func (u unit) size() int {
	const userLead, coachLead = "The user ", "The coach "
	const saidLead, quoteLead = "The user said that they ", "The user said: “”"
	size := max(len(u.whole), len(u.short))
	switch {
	case u.quote != "":
		size = len(quoteLead) + len(u.quote)
	case u.actor == theCoach && u.singular != "":
		size = len(coachLead) + len(u.singular)
	case u.singular != "":
		size = len(userLead) + max(len(u.singular), len(u.plural))
	case u.plural != "":
		size = len(saidLead) + len(u.plural)
	}
	return size + len(u.reply) + len(". ")
}

// openers are words that begin a sentence without a meaning of their own.
var openers = regexp.MustCompile(`(?i)^(?:(?:oh|well|so|and|but|or|okay|ok|yes|yeah|yep|yup|no|nope|hey|hi|hello|` +
	`hallo|thanks|thank you|honestly|sure|great|wow|haha|ha|lol|hmm+|um|uh|ugh|also|plus|anyway|btw|by the way|` +
	`you know|i mean|i meant|sorry|wait|no wait|correction|done|to be honest|guess what|fine|cool|nice|perfect|` +
	`alright|exactly|right|morning|good morning|then|` +
	`i think|i guess|as you know|please|just|first|actually|unfortunately|luckily|of course|maybe)\b[,.!:…]*(?:\s+|$))+`)

// closers end a sentence without a meaning of their own.
var closers = regexp.MustCompile(`(?i)(?:,? (?:by the way|btw|though|lol|haha|please|as you know|you see|you know|` +
	`right|ugh|thanks|honestly|i guess))+$`)

// strip removes what carries no meaning from the ends of a statement: fillers, the name of who is spoken to, pictures.
func strip(statement string) string {
	statement = strings.TrimSpace(pictures.ReplaceAllString(statement, ""))
	statement = openers.ReplaceAllString(statement, "")
	words := splitWords(statement)
	if n := len(words); n > 1 && words[n-1].kind == vocativeWord {
		statement = strings.TrimRight(statement[:words[n-1].start], ", ")
	}
	if len(words) > 1 && words[0].kind == vocativeWord {
		statement = strings.TrimLeft(statement[words[0].end:], ",! ")
	}
	statement = strings.TrimRight(statement, ".!, ;:")
	statement = openers.ReplaceAllString(statement, "")
	return strings.TrimSpace(closers.ReplaceAllString(statement, ""))
}

var pictures = regexp.MustCompile(`[\p{So}\x{1F3FB}-\x{1F3FF}\x{FE0F}\x{200D}]+`)

// writer turns statements into units of prose.
type writer struct{ lex *lexicon }

// reaction matches what is said only to be kind.
var reaction = regexp.MustCompile(`(?i)^(?:i can(?: just| only)? imagine|i can't wait|i('m| am) (?:so )?(?:glad|` +
	`happy for|excited)|(?:i )?bet\b|` +
	`(?:it |that )?must (?:have been|be|feel)|congrat\w*|keep \w+|(?:that |it )?(?:sounds?|looks?)\b|good (?:luck|` +
	`job)|well done|` +
	`i(?:'d| would) love to|i (?:totally )?(?:agree|hear you|understand)|wish me|enjoy|` +
	`let me know|hope|check|take care)`)

// withSubject adds the subject that a statement leaves out: "Got back yesterday", "Been busy".
func (w writer) withSubject(statement string) string {
	first, _, _ := strings.Cut(strings.ToLower(statement), " ")
	_, irregular := w.lex.forms[first]
	switch {
	case first == "been":
		return "I have " + strings.ToLower(statement[:1]) + statement[1:]
	case irregular && !notPast[first] || strings.HasSuffix(first, "ed") && !presentEd[first] && len(first) > len("need"):
		return "I " + strings.ToLower(statement[:1]) + statement[1:]
	default:
		return statement
	}
}

// user retells a statement of the user.
func (w writer) user(statement string) (unit, bool) {
	statement = strip(statement)
	if reaction.MatchString(statement) {
		return unit{}, false
	}
	if strings.HasSuffix(statement, "?") {
		return w.question(strings.TrimRight(statement, "? "))
	}
	r := voiceOf(w.lex, "user").retell(w.withSubject(statement))
	u := unit{actor: theUser}
	switch {
	case !hasVerb(w.lex, r.text):
		u.singular, u.plural = "mentioned "+r.text, "mentioned "+r.text
		return u, strings.ContainsAny(r.text, "0123456789") || names(statement) > 0
	case r.plural != "":
		u.singular, u.plural = r.singular, r.plural
	case r.owned != "":
		u.whole, u.short = "The user's "+r.owned, capitalize(r.text)
	default:
		u.actor, u.whole, u.short = nobody, "The user said that "+r.text, capitalize(r.text)
	}
	return u, true
}

// The forms of questions that can be reported.
var (
	request    = regexp.MustCompile(`(?i)^(?:can|could|would|will) you (?:(?:please|also|maybe|just) )*(.+)$`)
	modalFirst = regexp.MustCompile(`(?i)^(should|can|could|may|must|would) (?:I|we) (.+)$`)
	modalWhat  = regexp.MustCompile(`(?i)^((?:what|which|when|where|how|why|who)\b.*?) (should|can|could|would|must|` +
		`do) ` +
		`(?:I|we) (.+)$`)
	isIt      = regexp.MustCompile(`(?i)^(is|are|was|were) (it|this|that|there|he|she|they) (.+)$`)
	whatIs    = regexp.MustCompile(`(?i)^(what|who|where|how) (is|are|was|were) ((?:\S+ ?){1,4})$`)
	doYou     = regexp.MustCompile(`(?i)^do you (?:think|know if|know whether|believe) (?:that )?(.+)$`)
	doYouElse = regexp.MustCompile(`(?i)^do you (\w+) ?(.*)$`)
)

// question reports a question of the user.
func (w writer) question(asked string) (unit, bool) {
	v := voiceOf(w.lex, "user")
	report := func(text string) (unit, bool) {
		return unit{actor: theUser, singular: "asked " + text, plural: "asked " + text}, true
	}
	if m := request.FindStringSubmatch(asked); m != nil {
		return report("the coach to " + v.retell(m[1]).text)
	}
	if m := modalFirst.FindStringSubmatch(asked); m != nil {
		return report("whether they " + strings.ToLower(m[1]) + " " + v.retell(m[2]).text)
	}
	if m := modalWhat.FindStringSubmatch(asked); m != nil {
		modal := " " + strings.ToLower(m[2])
		if modal == " do" {
			modal = ""
		}
		return report(v.retell(m[1]).text + " they" + modal + " " + v.retell(m[3]).text)
	}
	if m := isIt.FindStringSubmatch(asked); m != nil {
		return report("whether " + strings.ToLower(m[2]+" "+m[1]) + " " + v.retell(m[3]).text)
	}
	if m := whatIs.FindStringSubmatch(asked); m != nil {
		return report(strings.ToLower(m[1]) + " " + v.retell(m[3]).text + " " + strings.ToLower(m[2]))
	}
	if m := doYou.FindStringSubmatch(asked); m != nil {
		return report("whether " + v.retell(m[1]).text)
	}
	if m := doYouElse.FindStringSubmatch(asked); m != nil {
		verb, _ := v.thirdPerson(strings.ToLower(m[1]))
		return report("whether the coach " + strings.TrimSpace(verb+" "+v.retell(m[2]).text))
	}
	return unit{}, false
}

// The forms in which a coach proposes something. The rest of a match is a verb and what belongs to it.
var (
	lets      = regexp.MustCompile(`(?i)^(?:let's|let us|shall we|should we|we could|we can|we should) (not )?(.+)$`)
	howAbout  = regexp.MustCompile(`(?i)^(?:how|what) about (.+)$`)
	suggests  = regexp.MustCompile(`(?i)^i(?:'d| would)? (suggest|recommend|advise) (.+)$`)
	suggested = regexp.MustCompile(`(?i)^(?:that )?you (.+)$`)
	should    = regexp.MustCompile(`(?i)^you (?:should|need to|have to|must|might want to|had better) (?:also )?` +
		`(not )?(.+)$`)
	mayDo     = regexp.MustCompile(`(?i)^(?:you|we) (could|can|may) (?:also )?(.+)$`)
	promises  = regexp.MustCompile(`(?i)^i(?:'ll| will| am going to|'m going to) (.+)$`)
	forbids   = regexp.MustCompile(`(?i)^(?:don't|do not|never) (.+)$`)
	wouldLike = regexp.MustCompile(`(?i)^(?:would you like|do you want) (.+)$`)
)

// imperatives are the verbs with which advice begins.
var imperatives = wordSet(`try keep use take avoid eat drink rest stop start skip do add make go ask watch focus aim
	remember stick stay get switch replace swap increase reduce warm stretch give put include share book call see check
	track log write set plan hold hit cut begin limit choose pick sleep walk run bring wear build work move lower raise
	buy cook order split alternate repeat finish leave test measure cool ease tell`)

// coach retells a statement of the coach. Praise and small talk cannot be retold.
func (w writer) coach(statement string) (unit, bool) {
	statement = strings.TrimRight(strip(statement), "? ")
	v := voiceOf(w.lex, "assistant")
	said := func(lead, rest string) (unit, bool) {
		return unit{actor: theCoach, singular: lead + v.retell(rest).text, proposal: true}, true
	}
	first, _, _ := strings.Cut(strings.ToLower(statement), " ")
	if m := lets.FindStringSubmatch(statement); m != nil {
		return said("proposed "+strings.ToLower(m[1])+"to ", m[2])
	}
	if m := howAbout.FindStringSubmatch(statement); m != nil {
		return said("proposed ", m[1])
	}
	if m := suggests.FindStringSubmatch(statement); m != nil {
		lead := pastForms[strings.ToLower(m[1])] + " "
		if you := suggested.FindStringSubmatch(m[2]); you != nil {
			return said(lead+"that the user ", you[1])
		}
		return said(lead, m[2])
	}
	if m := should.FindStringSubmatch(statement); m != nil {
		return said("advised the user "+strings.ToLower(m[1])+"to ", m[2])
	}
	if m := mayDo.FindStringSubmatch(statement); m != nil {
		return said("said that the user "+strings.ToLower(m[1])+" ", m[2])
	}
	if m := forbids.FindStringSubmatch(statement); m != nil {
		return said("advised the user not to ", m[1])
	}
	if m := promises.FindStringSubmatch(statement); m != nil {
		return said("promised to ", m[1])
	}
	if m := wouldLike.FindStringSubmatch(statement); m != nil {
		return said("asked whether the user would like ", m[1])
	}
	if imperatives[first] && strings.Contains(statement, " ") {
		return said("advised the user to ", strings.ToLower(statement[:1])+statement[1:])
	}
	r := coachAlone(w.lex).retell(w.withSubject(statement))
	u := unit{actor: theCoach, singular: "said that " + r.text}
	if r.singular != "" {
		u.singular = r.singular
	}
	return u, hasVerb(w.lex, r.text) && !reaction.MatchString(statement)
}

var pastForms = map[string]string{"suggest": "suggested", "recommend": "recommended", "advise": "advised"}

// verbForms matches words that are verbs in nearly every sentence.
var verbForms = regexp.MustCompile(`(?i)\b(?:is|are|am|was|were|be|been|has|have|had|do|does|did|can|could|will|` +
	`would|` +
	`should|must|might|need|needs|want|wants|feel|feels|go|goes|works?|helps?|hurts?|means|says?|gets?|makes?|` +
	`takes?|gives?|starts?|likes?|loves?|hates?|lives?|looks?|sounds?|keeps?|wants?|comes?|cooks?|runs?|\w+n't|` +
	`cannot|miss|weigh|bench|\w{3,}ed)\b|'(?:m|re|ve|ll|s|d)\b`)

// hasVerb reports whether a text seems to be a sentence. What the user does is one, whatever its verb is.
func hasVerb(lex *lexicon, text string) bool {
	if strings.HasPrefix(text, "they ") || verbForms.MatchString(text) {
		return true
	}
	return slices.ContainsFunc(tokenize(text), func(t spoken) bool { return lex.forms[strings.ToLower(t.word)] != "" })
}

// names counts the names in a statement.
func names(statement string) int {
	n := 0
	for _, w := range splitWords(statement) {
		if w.kind == nameWord {
			n++
		}
	}
	return n
}
