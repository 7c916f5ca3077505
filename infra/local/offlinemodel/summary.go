package offlinemodel

import (
	"math"
	"regexp"
	"slices"
	"strings"
)

// The parts of a summary and their lengths in bytes. Together they are at most 600.
const (
	sentenceRoom = 460
	previousRoom = 250 // of it, reserved for the summary so far
	openRoom     = 130
	unitBytes    = 220 // the longest statement
	maxOpen      = 8   // of what is still to do, the newest; some of it may not fit
)

// summarizer writes summaries out of the statements that it is given.
type summarizer struct {
	lex    *lexicon
	writer writer
}

// rate rates a conversation by its words. The confidence rises with the number of the user's messages.
func rate(t transcript) map[string]any {
	text, turns := t.previous, 0
	for _, turn := range t.turns {
		if turn.role == "user" {
			text += "\n" + turn.text
			turns++
		}
	}
	if t.previous != "" {
		turns++
	}
	return map[string]any{
		"confidence": float64(min(50+10*turns, 90)) / 100, "hasGoals": goalWords.MatchString(text),
		"hasProgress": progressWords.MatchString(text), "hasEmotionalState": feelingWords.MatchString(text),
	}
}

// The words by which a conversation is rated.
var (
	goalWords     = regexp.MustCompile(`(?i)\b(goals?|wants? to|would like to|aim\w*|plan(ning)? to|train(ing)? for)\b`)
	progressWords = regexp.MustCompile(`(?i)\b(finished|completed|managed|improved|progress\w*|personal best|pr|did)\b`)
	feelingWords  = regexp.MustCompile(`(?i)\b(feel\w*|felt|happy|sad|tired|stress\w*|anxious|proud|worr\w*|excited)\b`)
)

// summarize retells the most informative statements of the summary so far and of the new messages in their order, in
// the third person. What the user still has to do stands at the end. The same transcript always gives the same summary.
func (s *summarizer) summarize(t transcript) string {
	if len(t.details) > 0 && len(t.turns) == 0 {
		return clip("The app recorded: "+strings.Join(t.details, "; ")+".", sentenceRoom+openRoom)
	}
	old, open := s.previousUnits(t.previous)
	recent := s.turnUnits(t.turns)
	reserve := 0 // for the summary so far, which may also use what the new messages leave
	for _, u := range old {
		reserve = min(reserve+u.size(), previousRoom)
	}
	choice := selection{lex: s.lex, covered: map[string]bool{}, taken: make([]bool, len(old)+len(recent))}
	all := append(old, recent...)
	choice.pick(all, len(old), len(all), sentenceRoom-reserve)
	choice.pick(all, 0, len(old), sentenceRoom)
	choice.pick(all, len(old), len(all), sentenceRoom) // what the summary so far has left
	text := render(choice.of(all))
	if list := s.openLoops(open, t.turns); list != "" {
		text = strings.TrimSpace(text + " " + openLead + list + ".")
	}
	if text == "" {
		return fallback(t)
	}
	return text
}

// fallback summarises a conversation in which nothing of weight was said.
func fallback(t transcript) string {
	if t.previous != "" {
		return clip(oneLine(t.previous), sentenceRoom)
	}
	for _, turn := range t.turns {
		if turn.role == "user" {
			return "The user made small talk."
		}
	}
	return "Nothing was said yet."
}

// turnUnits splits the new messages into statements. It leaves out what this model said, which only repeats the prompt.
func (s *summarizer) turnUnits(turns []turn) []unit {
	var units []unit
	for i, turn := range turns {
		if turn.role == "system" || strings.Contains(turn.text, ownMark) {
			continue
		}
		reply := ""
		if turn.role == "assistant" && i+1 < len(turns) && turns[i+1].role == "user" {
			reply = replyOf(turns[i+1].text)
		}
		spoken := languageOf(s.lex, turn.text)
		for _, sentence := range splitSentences(turn.text) {
			for _, statement := range s.statements(sentence, turn.role) {
				u, ok := s.unit(turn.at.resolve(statement), turn.role, spoken)
				if !ok || turn.role == "user" && promise.MatchString(strip(statement)) {
					continue
				}
				if u.turn = i; u.proposal {
					u.reply = reply
				}
				units = append(units, s.weigh(u))
			}
		}
	}
	return units
}

// statements splits a sentence of the user into what it says about them.
func (s *summarizer) statements(sentence, role string) []string {
	sentence = clip(plainQuotes.Replace(oneLine(sentence)), unitBytes)
	const short = 130 // bytes; what fits one sentence of the summary stays whole
	clauses := splitClauses(sentence)
	if role == "assistant" || strings.HasSuffix(sentence, "?") ||
		len(sentence) < short && !slices.ContainsFunc(clauses, promise.MatchString) {
		return []string{sentence}
	}
	return clauses
}

// plainQuotes are the marks that would look like the ends of a quotation in a summary.
var plainQuotes = strings.NewReplacer("’", "'", "“", "'", "”", "'", `"`, "'")

// replies are how users take what the coach proposes.
var replies = []struct {
	form *regexp.Regexp
	text string
}{
	{
		regexp.MustCompile(`(?i)^(?:no\b|nope|i'd rather not|i don't (?:think|want)|i can't|not really|i won't)`),
		", but the user did not agree",
	},
	{regexp.MustCompile(`(?i)^(?:(?:oh|ok|okay|haha|well),? )?(?:yes|yeah|yep|sure|sounds (?:good|great|fine|perfect)|` +
		`deal|agreed|` +
		`(?:good|great|nice) idea|i like (?:that|it)|let's do|that works|works for me|perfect|ok(?:ay)?[,.!]? (?:deal|` +
		`i'll)|` +
		`fine,? i'll|will do|i'll (?:do|try) (?:that|it))`), ", and the user agreed"},
}

func replyOf(text string) string {
	text = strings.ReplaceAll(text, "’", "'")
	for _, r := range replies {
		if r.form.MatchString(text) {
			return r.text
		}
	}
	return ""
}

// unit retells a statement of a speaker. A statement in another language is quoted.
func (s *summarizer) unit(statement, role string, spoken language) (unit, bool) {
	var u unit
	var ok bool
	switch {
	case spoken != inEnglish:
		u, ok = unit{quote: strings.TrimSpace(statement), actor: theUser}, len(statement) > len("Alles klar.")
		if role == "assistant" {
			u.actor = theCoach
		}
	case role == "assistant":
		u, ok = s.writer.coach(statement)
	default:
		u, ok = s.writer.user(statement)
	}
	u.text, u.trust = statement, 1
	asks := strings.HasSuffix(statement, "?")
	switch {
	case role == "assistant" && u.proposal && !asks:
		u.trust = 0.6
	case role == "assistant":
		u.trust = 0.4
	case asks:
		u.trust = 0.7
	}
	return u, ok
}

var (
	// weighty matches a statement worth keeping: a wish, change, decision, ailment or result.
	weighty = regexp.MustCompile(`(?i)\b(swap\w*|chang\w*|replac\w*|switch\w*|want\w*|need\w*|prefer\w*|` +
		`decid\w*|plan\w*|goal\w*|can't|cannot|only (?:have|has)|finished|completed|personal best|pr|name is|` +
		`sign(?:ed)? up|` +
		`vegan|vegetarian|(?:my|their|user's) (wife|husband|partner|son|daughter|brother|sister|mother|father|friend))\b`)
	// vague matches a statement that says little alone, because it is about what was said before it.
	vague = regexp.MustCompile(`(?i)^(?:it|that|this|these|those|he|she|they're|there)\b|\bsaid that (?:it|that|this)\b`)
)

// weigh decides what a unit is worth.
func (s *summarizer) weigh(u unit) unit {
	if safety.MatchString(u.text) && u.actor != theCoach {
		u.trust *= 2
	} else if weighty.MatchString(u.text) {
		u.trust *= 1.5
	}
	if vague.MatchString(strip(u.text)) {
		u.trust *= 0.5
	}
	if u.reply != "" {
		u.trust *= 1.3
	}
	u.stems = s.lex.stemSet(u.text)
	for _, word := range reportWords {
		delete(u.stems, word)
	}
	return u
}

// reportWords are the stems that summaries add to what was said.
var reportWords = []string{"user", "coach", "say", "ask", "suggest", "propos", "advis", "agre", "mention", "promis"}

// selection is what goes into a summary.
type selection struct {
	lex     *lexicon
	taken   []bool
	covered map[string]bool // the stems of what is taken
	used    int             // bytes
}

// pick takes units from the first up to the end while they fit into the room, at each step the one that adds most for
// its length.
func (c *selection) pick(units []unit, first, end, room int) {
	const enough = 0.9 // a statement that adds less is small talk
	for {
		best, bestGain := -1, 0.0
		for i, u := range units[first:end] {
			if c.taken[first+i] || c.used+u.size() > room {
				continue
			}
			if gain := c.gain(u); gain >= enough && gain/math.Sqrt(float64(u.size())) > bestGain {
				best, bestGain = first+i, gain/math.Sqrt(float64(u.size()))
			}
		}
		if best < 0 {
			return
		}
		c.taken[best] = true
		c.used += units[best].size()
		for stem := range units[best].stems {
			c.covered[stem] = true
		}
	}
}

// gain is what a unit would add to a summary. Everyday words add next to nothing.
func (c *selection) gain(u unit) float64 {
	hundredths := 0 // a sum of whole numbers does not depend on the order of a map's keys
	for stem := range u.stems {
		if !c.covered[stem] {
			weight := c.lex.weight(stem)
			hundredths += int(100 * weight * weight)
		}
	}
	return u.trust * float64(hundredths) / 100
}

// of returns the units that are taken, in their order.
func (c *selection) of(units []unit) (chosen []unit) {
	for i, u := range units {
		if c.taken[i] {
			chosen = append(chosen, u)
		}
	}
	return chosen
}

// openLoops lists what the user still has to do: what was open before and is not done since, and what the new messages
// add, the newest last.
func (s *summarizer) openLoops(open []string, turns []turn) string {
	for _, turn := range turns {
		if turn.role != "user" || strings.Contains(turn.text, ownMark) {
			continue
		}
		for _, sentence := range splitSentences(plainQuotes.Replace(turn.text)) {
			for _, statement := range splitClauses(oneLine(sentence)) {
				if completed.MatchString(statement) {
					open = slices.DeleteFunc(open, func(loop string) bool {
						return overlap(s.lex.stemSet(loop), s.lex.stemSet(statement)) >= sameMatter
					})
				}
				if todo := s.todo(turn.at.resolve(statement)); todo != "" && !slices.Contains(open, todo) {
					open = append(open[max(0, len(open)-maxOpen):], todo)
				}
			}
		}
	}
	used, first := 0, len(open)
	for first > 0 && used+len(open[first-1])+len("; ") < openRoom-len(openLead) {
		first--
		used += len(open[first]) + len("; ")
	}
	return strings.Join(open[first:], "; ")
}

// todo is what a statement of the user promises, told about the user, or nothing.
func (s *summarizer) todo(statement string) string {
	const task = 1.4 // the least topic weight; a statement with less is not worth keeping
	m := promise.FindStringSubmatch(strip(strings.TrimRight(statement, "?")))
	if m == nil || languageOf(s.lex, statement) != inEnglish {
		return ""
	}
	todo := m[1]
	if idle.MatchString(todo) || s.lex.topic(todo).total < task {
		return ""
	}
	return voiceOf(s.lex, "user").retell(todo).text
}
