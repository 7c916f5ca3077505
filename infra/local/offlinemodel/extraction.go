package offlinemodel

import (
	"maps"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// How alike two statements are, as the share of topic words that they have in common.
const (
	repeats    = 0.75
	sameMatter = 0.4
	sameEnd    = 0.3 // of an end with the memory that it ends
)

// maxContent bounds a memory or a todo.
const maxContent = 260

// extraction collects what the messages of one request say.
type extraction struct {
	*model
	from   transcript
	facts  []*finding
	opened []*finding
	closed []map[string]any
	ended  []map[string]any
	// forgotten are the messages that ask to forget what is not known.
	forgotten []string
}

// finding is a fact, or an open loop.
type finding struct {
	form
	repeats, supersedes string
	until               string // the last day of a fact, as 2026-11-20
	messages            []string
	stems               map[string]bool
}

// extract returns the facts and open loops in the user's messages, and the loops that these close. It takes only what
// the user says about themselves and means so.
func (m *model) extract(t transcript) map[string]any {
	e := &extraction{model: m, from: t}
	for _, list := range [][]known{t.memories, t.loops} {
		for i := range list {
			list[i].stems = e.matter(list[i].text)
		}
	}
	for _, turn := range t.turns {
		if turn.role == "user" && !strings.Contains(turn.text, ownMark) {
			turn.at.iso = true
			e.message(turn)
		}
	}
	var facts, opened []map[string]any
	for _, f := range e.facts {
		fact := map[string]any{
			"type": f.kind, "content": f.content, "confidence": f.confidence, "messageIds": f.messages, "about": "",
			"status": "stated", "from": "", "until": f.until, "safety": f.safety, "supersedes": idList(f.supersedes),
		}
		if f.repeats != "" {
			fact["repeats"] = f.repeats
		}
		facts = append(facts, fact)
	}
	for _, o := range e.opened {
		opened = append(opened, map[string]any{
			"content": o.content, "by": "user", "due": isoDate.FindString(o.content), "every": "", "confidence": 0.8,
			"messageIds": o.messages,
		})
	}
	return map[string]any{
		"facts": facts, "ended": e.ended, "forgetMessages": e.forgotten, "openLoops": opened, "closedLoops": e.closed,
	}
}

// idList is a list of one id, or of none.
func idList(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

// meant returns a text up to what looks like an instruction to a model or claims a right.
func (m *model) meant(text string) string {
	for _, f := range m.forms["injected"] {
		if at := f.match.FindStringIndex(text); at != nil {
			text = text[:at[0]]
		}
	}
	return text
}

// message reads one message: what it means, not what it quotes, and nothing of a joke.
func (e *extraction) message(t turn) {
	text := e.meant(strings.ReplaceAll(t.text, "’", "'"))
	if e.forms.has("joke", text) {
		return
	}
	for _, f := range e.forms["quote"] {
		text = f.match.ReplaceAllString(text, " ")
	}
	for _, sentence := range splitSentences(text) {
		clauses := splitClauses(untrusted.OneLine(sentence))
		switch {
		case e.forms.has("supposed", e.bare(sentence)):
			clauses = nil
		case strings.HasSuffix(sentence, "?"):
			clauses = []string{untrusted.OneLine(sentence)}
		}
		for _, clause := range clauses {
			e.clause(e.bare(clause), t)
		}
	}
}

// bare is a statement without what introduces it and what ends it.
func (m *model) bare(statement string) string {
	statement = strings.Trim(statement, " .!,;:-¡")
	for range 2 { // "So, as I said, …"
		for _, f := range m.forms["lead"] { // each matches at the beginning, so at most once
			if at := f.match.FindStringSubmatchIndex(statement); at != nil {
				statement = string(f.match.ExpandString(nil, f.content, statement, at)) + statement[at[1]:]
			}
		}
	}
	return strings.TrimSpace(statement)
}

// clause reads one statement. A question is one only as the wish for a reminder.
func (e *extraction) clause(statement string, from turn) {
	if statement == "" || e.forms.has("hearsay", statement) {
		return
	}
	if what, asked := e.forms.apply("forget", statement); asked {
		if old := e.nearest(e.from.memories, what, sameEnd); old != nil {
			e.ended = append(e.ended, map[string]any{"id": old.id, "reason": "forgotten", "messageIds": idList(from.id)})
		} else {
			e.forgotten = append(e.forgotten, from.id)
		}
		return
	}
	todo, promised := e.forms.apply("loop", strings.TrimRight(statement, "?"))
	switch {
	case promised:
		e.open(from.at.resolve(todo), from)
		return
	case strings.HasSuffix(statement, "?"):
		return
	case e.forms.has("dropped", statement):
		e.close(statement, "dropped", from)
	case e.forms.has("done", statement):
		e.close(statement, "done", from)
	}
	ended := e.forms.has("end", statement)
	if old := e.nearest(e.from.memories, statement, sameEnd); ended && old != nil {
		e.add(&finding{form: form{kind: old.kind, confidence: 0.9}, supersedes: old.id}, statement, from)
		return
	}
	for _, f := range e.forms["instead"] {
		statement = f.match.ReplaceAllString(statement, f.content)
	}
	if !e.forms.has("passing", statement) {
		e.remember(statement, ended, from)
	}
}

// remember adds the facts of a statement. Only its first form without a text counts. An end is no fact where nothing is
// known to end, but a parting is.
func (e *extraction) remember(statement string, ended bool, from turn) {
	retold := false
	for _, f := range e.forms["fact"] {
		at := f.match.FindStringSubmatchIndex(statement)
		if at == nil || f.content == "" && retold || ended && f.kind != "PEOPLE" {
			continue
		}
		found, text := &finding{form: f}, statement
		if f.content == "" {
			retold, found.content = true, ""
		} else {
			found.content = string(f.match.ExpandString(nil, f.content, statement, at))
			text = found.content
		}
		if old := e.nearest(e.from.memories, text, repeats); old != nil {
			found.repeats = old.id
		} else {
			found.supersedes = e.superseded(text, statement)
		}
		e.add(found, text, from)
	}
}

// add adds a fact, retold unless its form gives the text. A fact that an earlier message states too gets the message.
// Of facts of which only one can be true, the later one stays.
func (e *extraction) add(f *finding, text string, from turn) {
	if f.content == "" {
		f.content = e.forms.retell(text)
	}
	f.content = capitalize(strings.TrimRight(from.at.resolve(truncate.Prose(f.content, maxContent)), ". ")) + "."
	f.until = from.at.lastDay(f.content)
	f.stems, f.messages = e.matter(text), idList(from.id)
	excludes := e.excludes(f.content)
	for i, earlier := range e.facts {
		switch {
		case overlap(earlier.stems, f.stems) >= repeats:
			earlier.messages = append(earlier.messages, f.messages...)
			earlier.messages = slices.Compact(earlier.messages)
			return
		case earlier.kind == f.kind && excludes(earlier.content):
			f.supersedes = earlier.supersedes
			e.facts[i] = f
			return
		}
	}
	e.facts = append(e.facts, f)
}

// nearest returns the record that is most like a statement, the first of equals, or nil.
func (e *extraction) nearest(records []known, statement string, least float64) (best *known) {
	stems, likeness := e.matter(statement), 0.0
	for i := range records {
		if alike := overlap(records[i].stems, stems); alike > likeness && alike >= least {
			best, likeness = &records[i], alike
		}
	}
	return best
}

// matter is the set of stems of a text that say what it is about.
func (e *extraction) matter(text string) map[string]bool {
	stems := e.topics(text)
	maps.DeleteFunc(stems, func(stem string, _ bool) bool { return e.forms.has("common", stem) })
	return stems
}

// excludes returns a function that reports whether only one of a statement and another can be true at a time, as they
// are about the same person. Most statements exclude no other, so that nothing is matched with what is known.
func (e *extraction) excludes(statement string) func(other string) bool {
	var slots []form
	for _, f := range e.forms["slot"] {
		if f.match.MatchString(statement) {
			slots = append(slots, f)
		}
	}
	who := e.forms["relative"][0].match
	person := who.FindString(statement)
	return func(other string) bool {
		return slices.ContainsFunc(slots, func(f form) bool { return f.match.MatchString(other) }) &&
			strings.EqualFold(person, who.FindString(other))
	}
}

// superseded returns the id of the memory that a statement makes untrue, or nothing. That is a memory about a matter
// with one truth at a time, such as a home, or one that the statement corrects explicitly. Likeness alone is not
// enough, because a second allergy does not end the first.
func (e *extraction) superseded(content, statement string) string {
	if e.forms.has("add", statement) {
		return ""
	}
	excludes := e.excludes(e.forms.retell(content))
	for _, known := range e.from.memories {
		if excludes(known.text) {
			return known.id
		}
	}
	if old := e.nearest(e.from.memories, content, sameMatter); old != nil && e.forms.has("correct", statement) {
		return old.id
	}
	return ""
}

// open adds what the user promises, unless it is open already or nothing in particular.
func (e *extraction) open(todo string, from turn) {
	o := &finding{messages: idList(from.id), stems: e.matter(todo)}
	o.content = capitalize(truncate.Prose(strings.TrimRight(todo, ".! "), maxContent))
	same := func(other *finding) bool { return overlap(other.stems, o.stems) >= repeats }
	if e.isTask(todo) && e.nearest(e.from.loops, todo, repeats) == nil && !slices.ContainsFunc(e.opened, same) {
		e.opened = append(e.opened, o)
	}
}

// isTask reports whether a promise is of something that can be done.
func (m *model) isTask(todo string) bool {
	const least = 1.4 // a task whose words weigh less is not worth keeping
	return !m.forms.has("idle", todo) && m.weight(todo) >= least
}

// close adds the end of the open loop that a statement is about, if there is one. What was promised earlier in the
// batch is then no open loop.
func (e *extraction) close(statement, outcome string, from turn) {
	stems := e.matter(statement)
	e.opened = slices.DeleteFunc(e.opened, func(o *finding) bool { return overlap(o.stems, stems) >= sameMatter })
	if loop := e.nearest(e.from.loops, statement, sameMatter); loop != nil && !loop.closed {
		loop.closed = true
		e.closed = append(e.closed, map[string]any{"id": loop.id, "outcome": outcome, "messageIds": idList(from.id)})
	}
}
