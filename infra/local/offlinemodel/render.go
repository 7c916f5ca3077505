package offlinemodel

import (
	"regexp"
	"strings"
)

// openLead introduces what the user still has to do.
const openLead = "Open: "

// prose joins units to a text.
type prose struct {
	out    strings.Builder
	last   unit   // the unit before
	about  actor  // whom the sentence before is about
	number string // how the subject of the sentence before stands: "singular" or "plural"; empty for other sentences
	pairs  int    // how many units the sentence has
}

// render writes units as sentences. Sentences about one person in a row name the person once. Two short statements of
// one message make one sentence.
func render(units []unit) string {
	p := prose{}
	for i, u := range units {
		p.add(u)
		p.last = u
		last := i+1 == len(units) || units[i+1].turn != u.turn || !units[i+1].proposal
		if u.reply != "" && last {
			p.out.WriteString(u.reply)
			p.about, p.number = theUser, ""
		}
	}
	switch {
	case p.last.quote != "":
		p.out.WriteString("”")
	case p.out.Len() > 0:
		p.out.WriteString(".")
	}
	return p.out.String()
}

// add writes the next unit.
func (p *prose) add(u unit) {
	switch {
	case u.quote != "" && p.last.quote != "" && u.actor == p.last.actor:
		p.out.WriteString(" " + ended(u.quote))
		return
	case p.last.quote != "":
		p.out.WriteString("” ")
	case p.joins(u):
		p.pairs++
		p.out.WriteString(" and " + u.predicate(p.number))
		return
	case p.out.Len() > 0:
		p.out.WriteString(". ")
	}
	p.pairs = 1
	p.number = ""
	switch {
	case u.quote != "":
		p.writeQuote(u)
	case u.actor == theCoach && u.singular != "":
		p.number = "singular"
		p.out.WriteString("The coach " + u.singular)
	case u.plural != "" && p.about == theUser:
		p.number = "plural"
		p.out.WriteString("They " + u.plural)
	case u.singular != "":
		p.number = "singular"
		p.out.WriteString("The user " + u.singular)
	case u.plural != "":
		p.number = "plural"
		p.out.WriteString("The user said that they " + u.plural)
	case p.about == theUser:
		p.out.WriteString(u.short)
	default:
		p.out.WriteString(u.whole)
	}
	p.about = u.actor
}

// writeQuote writes words as they were said.
func (p *prose) writeQuote(u unit) {
	lead := "The user said: “"
	if u.actor == theCoach {
		lead = "The coach said: “"
	}
	p.out.WriteString(lead + ended(u.quote))
}

// ended ends a sentence with a full stop where it has no mark of its own.
func ended(sentence string) string {
	if strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "!") {
		return sentence
	}
	return strings.TrimRight(sentence, ". ") + "."
}

// joins reports whether a unit can go on with the sentence before.
func (p *prose) joins(u unit) bool {
	const longest = 170 // bytes of a sentence of two statements
	plain := func(text string) bool { return !strings.Contains(text, " and ") && !strings.Contains(text, ", ") }
	before, after := p.last.predicate(p.number), u.predicate(p.number)
	return p.number != "" && p.pairs == 1 && u.turn == p.last.turn && u.turn >= 0 && u.actor == p.last.actor &&
		before != "" && after != "" && len(before)+len(after) < longest && plain(before) && plain(after) &&
		u.proposal == p.last.proposal
}

func (u unit) predicate(number string) string {
	if number == "plural" && u.actor != theCoach {
		return u.plural
	}
	return u.singular
}

// The forms of a summary's own sentences, and of those that it wrote earlier.
var (
	quoted    = regexp.MustCompile(`The (user|coach) said: “([^”]*)”\.?`)
	oldLead   = regexp.MustCompile(`^The (user|coach) (?:said|asked): (.*)$`)
	aboutUser = regexp.MustCompile(`^(?:The user|They|Their)\b`)
)

// alsoSaid introduced a list of words in the summaries of earlier versions.
const alsoSaid = "Also mentioned: "

// previousUnits splits the summary so far into its sentences and what was open.
func (s *summarizer) previousUnits(previous string) (units []unit, open []string) {
	add := func(u unit) {
		u.turn, u.trust = -1, 0.9*u.trust
		units = append(units, s.weigh(u))
	}
	previous, list, _ := strings.Cut(oneLine(previous), openLead)
	if list != "" {
		open = strings.Split(strings.TrimRight(list, ". "), "; ")
	}
	at := 0
	for _, m := range append(quoted.FindAllStringSubmatchIndex(previous, -1), []int{len(previous), len(previous)}) {
		for _, sentence := range splitSentences(previous[at:m[0]]) {
			s.readSentence(sentence, add)
		}
		if at = m[1]; len(m) > 2 {
			for _, sentence := range splitSentences(previous[m[4]:m[5]]) {
				s.readSaid(sentence, previous[m[2]:m[3]], add)
			}
		}
	}
	return units, open
}

// readSaid reads what a summary says that somebody said in these words.
func (s *summarizer) readSaid(words, who string, add func(unit)) {
	role := "user"
	if who == "coach" {
		role = "assistant"
	}
	for _, statement := range s.statements(words, role) {
		if u, ok := s.unit(statement, role, languageOf(s.lex, words)); ok {
			add(u)
		}
	}
}

// readSentence reads a sentence of the summary so far.
func (s *summarizer) readSentence(sentence string, add func(unit)) {
	if strings.HasPrefix(sentence, alsoSaid) {
		return
	}
	if m := oldLead.FindStringSubmatch(sentence); m != nil {
		for piece := range strings.SplitSeq(m[2], "; ") {
			s.readSaid(piece, m[1], add)
		}
		return
	}
	sentence = strings.TrimRight(clip(sentence, 2*unitBytes), ". ")
	u := unit{text: sentence, whole: sentence, short: sentence, trust: 1}
	switch {
	case strings.HasPrefix(sentence, "The coach "):
		u.actor = theCoach
		for _, r := range replies {
			if rest, ok := strings.CutSuffix(sentence, r.text); ok {
				u.whole, u.short, u.reply = rest, rest, r.text
			}
		}
	case aboutUser.MatchString(sentence):
		u.actor = theUser
	}
	if rest, ok := strings.CutPrefix(sentence, "They "); ok {
		u.plural, u.singular = rest, voiceOf(s.lex, "user").singular(rest)
	} else if rest, ok := strings.CutPrefix(sentence, "Their "); ok {
		u.whole = "The user's " + rest
	}
	add(u)
}
