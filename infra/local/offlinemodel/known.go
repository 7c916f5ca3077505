package offlinemodel

import (
	"regexp"
	"slices"
	"strings"
)

// How alike two statements are, as the share of topic words they have in common.
const (
	repeats    = 0.75
	sameMatter = 0.4
)

// nearestOf returns the known record that is most like a statement, the first of equals. It is nil when none is alike
// enough.
func (e *extraction) nearestOf(records []known, statement string, least float64) (best *known) {
	stems, similarity := e.stems(statement), 0.0
	e.lookups++
	for i := range records {
		if alike := overlap(records[i].stems, stems); alike > similarity && alike >= least {
			best, similarity = &records[i], alike
		}
	}
	return best
}

// stems returns the topic stems of a text without words of grammar of any language, and without the user, whom all
// memories speak of.
func (e *extraction) stems(text string) map[string]bool {
	stems := e.lex.stemSet(text)
	for stem := range stems {
		if grammar[inGerman][stem] || grammar[inSpanish][stem] || theUserWords[stem] {
			delete(stems, stem)
		}
	}
	return stems
}

var theUserWords = wordSet("user nutzer usuario usuaria seit desde also auch también now")

// overlap is the share of the smaller set that is in the other.
func overlap(a, b map[string]bool) float64 {
	shared := 0
	for stem := range a {
		if b[stem] {
			shared++
		}
	}
	return float64(shared) / float64(max(1, min(len(a), len(b))))
}

// frames match statements of which only one can be true at a time.
var frames = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:(?:lives?|moved|relocated|moving) (?:in|to)|wohnt in|vive en)\b`),
	regexp.MustCompile(`(?i)\b(?:works? (?:at|as|for|in)|new job|changed jobs|arbeitet|trabaja)\b`),
	regexp.MustCompile(`(?i)\b(?:name(?:'s| is)|called|heißt|se llama)\b`),
	regexp.MustCompile(`(?i)\b(?:training|preparing) for\b`),
	regexp.MustCompile(`(?i)\b(?:married|single|divorced|engaged|broke up|split up|broken up)\b`),
	regexp.MustCompile(`(?i)\b(?:vegan|vegetarian|pescatarian)\b`),
	regexp.MustCompile(`(?i)\bis \d+(?: years old)?\b`),
}

// subject is what a statement is about: the frames that it matches, as bits, and the person in it who is not the user.
type subject struct {
	frames uint
	person string
}

func subjectOf(text string) subject {
	s := subject{person: strings.ToLower(relative.FindString(text))}
	for i, f := range frames {
		if f.MatchString(text) {
			s.frames |= 1 << i
		}
	}
	return s
}

// excludes reports whether only one of two statements can be true at a time.
func (s subject) excludes(other subject) bool {
	return s.frames&other.frames != 0 && s.person == other.person
}

// correction matches how people take back what they said before; addition how they add to it.
var (
	correction = regexp.MustCompile(`(?i)\b(?:no longer|not .* any ?more|actually|instead|these days|now|healed|` +
		`recovered|moved|` +
		`postponed|changed|used to|correction|i meant|rather than|broke up|split up)\b`)
	addition = regexp.MustCompile(`(?i)\b(?:also|too|as well|another|second|additionally|auch|también)\b`)
	relative = regexp.MustCompile(`(?i)\b` + relatives + `\b`)
)

// superseded returns the id of the memory that a statement makes untrue, or nothing. That is a memory about a subject
// with one truth at a time, such as a home, or one that the statement corrects explicitly. Likeness alone is not
// enough, because a second allergy does not end the first.
func (e *extraction) superseded(content, statement string) string {
	if addition.MatchString(statement) {
		return ""
	}
	if partings.MatchString(statement) {
		return e.formerPartner(statement)
	}
	about := subjectOf(content)
	for _, m := range e.from.memories {
		if about.excludes(m.about) {
			return m.id
		}
	}
	if old := e.nearestOf(e.from.memories, content, sameMatter); old != nil && correction.MatchString(statement) {
		return old.id
	}
	return ""
}

// partings match the end of a relationship.
var (
	partings = regexp.MustCompile(`(?i)\b(?:broke|broken|split) up\b|\bgot divorced\b|\bmy ex\b`)
	partners = regexp.MustCompile(`(?i)\b(?:girlfriend|boyfriend|wife|husband|partner|fianc[eé]e?)\b`)
)

// formerPartner returns the id of the memory of the user's partner, or nothing.
func (e *extraction) formerPartner(statement string) string {
	for _, m := range e.from.memories {
		if partners.MatchString(m.text) && (names(statement) == 0 || overlap(m.stems, e.stems(statement)) > 0) {
			return m.id
		}
	}
	return ""
}

var (
	// promise matches a promise or a request for a reminder, and captures the thing to do.
	promise = regexp.MustCompile(`(?i)^(?:(?:next|then|later|tomorrow|first)?,? ?i (?:really |still |also )*(?:will|` +
		`need to|have to|must)|i'll|` +
		`i've got to|i(?:'m| am) going to|i promise to|i plan to|don't let me forget to|(?:(?:can|could|` +
		`will) you )?(?:please )?` +
		`remind me to|remember to remind me to|todo:)\s+(?:also )?(.+)$`)
	// idle matches promises of nothing.
	idle = regexp.MustCompile(`(?i)^(?:be|try|see|think|let you know|go now|keep|say|admit|have to go|get going|` +
		`talk|check|know|stop|do (?:it|that|my best)|miss|love|never|always|probably|definitely|not)\b`)
	// completed matches the end of something that was open.
	completed = regexp.MustCompile(`(?i)\b(?:i|i've|i have|we|we've)\s+(?:just |finally |already )*(?:did|done|` +
		`\w{3,}ed|booked|bought|sent|called|signed|sorted|ordered|fixed|paid|made|took|went|ran|wrote|saw|` +
		`talked|ticked off|got|picked up|spoke|handed|cleaned|scheduled|registered|have)\b|\bdone with\b|\b(?:is|are|` +
		`got) (?:done|booked|` +
		`sorted|paid|finished|ordered)\b|\barrived\b|\bhabe .*\b(?:ge\p{L}+t|ge\p{L}+en|erledigt|bestellt|bezahlt)\b|` +
		`\b(?:ya )?he \p{L}+[aió]do\b|` +
		`\bya (?:reservé|compré|llamé|pedí|pagué)`)
	// dropped matches that something open is not wanted any more.
	dropped = regexp.MustCompile(`(?i)\b(?:never mind|forget about|no need to|don't need to|don't have to|` +
		`not going to|decided (?:not to|` +
		`against)|won't|cancelled|canceled|no longer (?:need|want)|don't want to)\b`)
)

// open adds what the user promises, unless it is open already.
func (e *extraction) open(todo string, from turn) {
	const task = 1.4 // the least topic weight; a task with less is not worth keeping
	todo = strings.TrimRight(todo, ".! ")
	if idle.MatchString(todo) || e.lex.topic(todo).total < task || e.nearestOf(e.from.loops, todo, repeats) != nil {
		return
	}
	o := &finding{content: capitalize(clip(todo, maxQuoteBytes)), messages: messageIDs(from), stems: e.stems(todo)}
	for _, earlier := range e.opened {
		if overlap(earlier.stems, o.stems) >= repeats {
			return
		}
	}
	e.opened = append(e.opened, o)
}

// close adds the end of the open loop that a statement says is done or not wanted, if there is one. What was promised
// earlier in the batch is then no open loop.
func (e *extraction) close(statement string, from turn) {
	if !completed.MatchString(statement) && !dropped.MatchString(statement) {
		return
	}
	e.lookups++
	stems := e.stems(statement)
	e.opened = slices.DeleteFunc(e.opened, func(o *finding) bool { return e.sameTask(o.content, o.stems, stems) })
	var best known
	nearest := 0.0
	for _, loop := range e.from.loops {
		if alike := overlap(loop.stems, stems); alike > nearest && e.sameTask(loop.text, loop.stems, stems) {
			best, nearest = loop, alike
		}
	}
	if best.id != "" && !slices.ContainsFunc(e.closed, func(c *finding) bool { return c.id == best.id }) {
		e.closed = append(e.closed, &finding{id: best.id, messages: messageIDs(from)})
	}
}

// sameTask reports whether a statement with these stems is about a task. Its verb, which comes first, is not enough.
func (e *extraction) sameTask(task string, taskStems, stems map[string]bool) bool {
	words := splitWords(task)
	if len(words) == 0 || overlap(taskStems, stems) < sameMatter {
		return false
	}
	verb := e.lex.stem(words[0].lower)
	for stem := range taskStems {
		if stem != verb && stems[stem] {
			return true
		}
	}
	return len(taskStems) == 1
}
