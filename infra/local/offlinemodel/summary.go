package offlinemodel

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// The parts of a summary and their lengths in bytes.
const (
	sentenceRoom = 470
	previousRoom = 230 // of it, reserved for the summary so far
	termRoom     = 130
	unitBytes    = 220 // the longest piece of one sentence
)

// How a summary introduces what it repeats. A later summary recognises these words when it reads an earlier one.
const (
	userSaid   = "The user said: "
	userAsked  = "The user asked: "
	coachSaid  = "The coach said: "
	coachAsked = "The coach asked: "
	alsoSaid   = "Also mentioned: "
)

// summarizer writes summaries out of the sentences that it is given.
type summarizer struct{ lex *lexicon }

// unit is a sentence that may go into a summary.
type unit struct {
	lead     string // how it is introduced; empty for prose
	text     string
	previous bool
	trust    float64
	stems    map[string]bool
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
	goalWords     = regexp.MustCompile(`(?i)\b(goals?|want to|would like to|aim\w*|plan(ning)? to|train(ing)? for)\b`)
	progressWords = regexp.MustCompile(`(?i)\b(finished|completed|managed|improved|progress\w*|personal best|pr|did)\b`)
	feelingWords  = regexp.MustCompile(`(?i)\b(feel\w*|felt|happy|sad|tired|stress\w*|anxious|proud|worr\w*|excited)\b`)
)

// summarize repeats the most informative sentences of the summary so far and of the new messages, in their order. It
// then lists terms from the sentences that did not fit. The same transcript always gives the same summary.
func (s *summarizer) summarize(t transcript) string {
	if len(t.details) > 0 && len(t.turns) == 0 {
		return clip("The app recorded: "+strings.Join(t.details, "; ")+".", sentenceRoom+termRoom)
	}
	old, carried := s.previousUnits(t.previous)
	recent := s.turnUnits(t.turns)
	reserve := 0 // for the summary so far, which may also use what the new messages leave
	for _, u := range old {
		reserve = min(reserve+u.size(), previousRoom)
	}
	covered := map[string]bool{}
	fresh, used := s.pick(recent, sentenceRoom-reserve, covered)
	kept, _ := s.pick(old, sentenceRoom-used, covered)
	text := render(append(kept, fresh...))
	if list := joinWithin(s.terms(append(old, recent...), carried, covered), termRoom); list != "" {
		text = strings.TrimSpace(text + " " + alsoSaid + list + ".")
	}
	if text == "" {
		return fallback(t)
	}
	return text
}

// fallback summarises a conversation in which nothing of weight was said.
func fallback(t transcript) string {
	for _, turn := range t.turns {
		if text := oneLine(turn.text); turn.role == "user" && text != "" {
			return userSaid + clip(text, unitBytes)
		}
	}
	if t.previous != "" {
		return clip(oneLine(t.previous), sentenceRoom)
	}
	return "Nothing was said yet."
}

// previousUnits splits the summary so far into its sentences and the terms that it lists.
func (s *summarizer) previousUnits(previous string) (units []unit, terms []string) {
	for _, sentence := range splitSentences(previous) {
		if list, ok := strings.CutPrefix(sentence, alsoSaid); ok {
			terms = append(terms, strings.Split(strings.TrimRight(list, "."), ", ")...)
			continue
		}
		lead := ""
		for _, known := range []string{userSaid, userAsked, coachSaid, coachAsked} {
			if rest, ok := strings.CutPrefix(sentence, known); ok {
				lead, sentence = known, rest
				break
			}
		}
		pieces := []string{sentence}
		if lead != "" {
			pieces = strings.Split(sentence, "; ")
		}
		for _, piece := range pieces {
			units = append(units, s.newUnit(unit{lead: lead, text: piece, previous: true, trust: 0.9}))
		}
	}
	return units, terms
}

// turnUnits splits the new messages into sentences. It leaves out what this model said, which only repeats the prompt.
func (s *summarizer) turnUnits(turns []turn) []unit {
	var units []unit
	for _, turn := range turns {
		if turn.role == "system" || strings.Contains(turn.text, ownMark) {
			continue
		}
		for _, sentence := range splitSentences(turn.text) {
			u := unit{lead: userSaid, text: sentence, trust: 1}
			asks := strings.HasSuffix(sentence, "?")
			switch {
			case turn.role == "assistant" && asks:
				u.lead, u.trust = coachAsked, 0.3
			case turn.role == "assistant":
				u.lead, u.trust = coachSaid, 0.5
			case asks:
				u.lead, u.trust = userAsked, 0.7
			}
			units = append(units, s.newUnit(u))
		}
	}
	return units
}

// weighty matches a sentence worth keeping: a wish, change, decision, ailment or result.
var weighty = regexp.MustCompile(`(?i)\b(swap\w*|chang\w*|replac\w*|switch\w*|want\w*|need\w*|prefer\w*|` +
	`decid\w*|plan\w*|goal\w*|injur\w*|hurts?|pain\w*|allerg\w*|can't|cannot|only have|finished|completed|personal ` +
	`best|pr|name is|my (wife|husband|partner|son|daughter|brother|sister|mother|father|friend))\b`)

func (s *summarizer) newUnit(u unit) unit {
	u.text = clip(oneLine(u.text), unitBytes)
	if !u.asks() {
		u.text = strings.TrimRight(u.text, ".!? ")
	}
	if weighty.MatchString(u.text) {
		u.trust *= 1.5
	}
	u.stems = s.lex.stemSet(u.text)
	return u
}

// pick chooses units while they fit, at each step the one that adds most for its length, and returns them in their
// order. covered holds the stems that are in the summary already; pick adds those of its choice.
func (s *summarizer) pick(units []unit, room int, covered map[string]bool) (chosen []unit, used int) {
	const enough = 0.9 // a sentence that adds less is small talk
	taken := make([]bool, len(units))
	for {
		best, bestGain := -1, 0.0
		for i, u := range units {
			gain := s.gain(u, covered)
			if taken[i] || gain < enough || used+u.size() > room {
				continue
			}
			if gain /= math.Sqrt(float64(u.size())); gain > bestGain {
				best, bestGain = i, gain
			}
		}
		if best < 0 {
			break
		}
		taken[best] = true
		used += units[best].size()
		for stem := range units[best].stems {
			covered[stem] = true
		}
	}
	for i, u := range units {
		if taken[i] {
			chosen = append(chosen, u)
		}
	}
	return chosen, used
}

// asks reports whether the unit is a question. A question is a sentence of its own.
func (u unit) asks() bool { return u.lead == userAsked || u.lead == coachAsked }

func (u unit) size() int { return len(u.lead) + len(u.text) + len(". ") }

// gain is what a unit would add to a summary. Everyday words add next to nothing.
func (s *summarizer) gain(u unit, covered map[string]bool) float64 {
	hundredths := 0 // a sum of whole numbers does not depend on the order of a map's keys
	for stem := range u.stems {
		if !covered[stem] {
			weight := s.lex.weight(stem)
			hundredths += int(100 * weight * weight)
		}
	}
	return u.trust * float64(hundredths) / 100
}

// render writes units as prose. Neighbours with the same introduction share it.
func render(units []unit) string {
	var out strings.Builder
	for i, u := range units {
		shares := i > 0 && u.lead != "" && !u.asks() && units[i-1].lead == u.lead
		switch {
		case shares:
			out.WriteString("; ")
		case i > 0:
			out.WriteString(" ")
		}
		if !shares {
			out.WriteString(u.lead)
		}
		out.WriteString(u.text)
		next := i+1 < len(units) && u.lead != "" && units[i+1].lead == u.lead
		if !u.asks() && !next {
			out.WriteString(".")
		}
	}
	return out.String()
}

// terms lists the words that have a topic and are not in the chosen sentences, by frequency and weight. Terms of the
// summary so far count double.
func (s *summarizer) terms(units []unit, carried []string, covered map[string]bool) []string {
	type term struct {
		word  string
		count float64
	}
	var order []string
	counted := map[string]*term{}
	add := func(w string, count float64) {
		stem := s.lex.stem(strings.ToLower(w))
		if covered[stem] || s.lex.stop[strings.ToLower(w)] || s.lex.weight(stem) < 1 || !meaningful(w) {
			return
		}
		if counted[stem] == nil {
			counted[stem] = &term{word: w}
			order = append(order, stem)
		}
		counted[stem].count += count
	}
	for _, w := range carried {
		add(strings.TrimSpace(w), 2)
	}
	for _, u := range units {
		for _, w := range splitWords(u.text) {
			if w.kind != vocativeWord {
				add(u.text[w.start:w.end], u.trust)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b string) int {
		return cmp.Compare(counted[b].count*s.lex.weight(b), counted[a].count*s.lex.weight(a))
	})
	words := make([]string, len(order))
	for i, stem := range order {
		words[i] = counted[stem].word
	}
	return words
}

// maxTags is how many topics a conversation has at most.
const maxTags = 5

// tags returns the topics of the summary so far and of the new messages: the words that have most weight, in lower
// case.
func (s *summarizer) tags(t transcript) []any {
	old, carried := s.previousUnits(t.previous)
	words := s.terms(append(old, s.turnUnits(t.turns)...), carried, map[string]bool{})
	tags := []any{}
	for _, word := range words[:min(len(words), maxTags)] {
		tags = append(tags, strings.ToLower(word))
	}
	return tags
}

// meaningful reports whether a word says something alone: it has a few letters, or is a long number.
func meaningful(word string) bool {
	const letters, digits = 3, 4
	if strings.ContainsFunc(word, unicode.IsLetter) {
		return len(word) >= letters
	}
	return len(word) >= digits
}

// joinWithin lists as many words as fit.
func joinWithin(words []string, room int) string {
	used := 0
	for i, w := range words {
		if used += len(w) + len(", "); used > room {
			return strings.Join(words[:i], ", ")
		}
	}
	return strings.Join(words, ", ")
}
