package offlinemodel

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// The longest texts: a summary, a day and a statement of it, a spine, and what one session adds to it.
const (
	summaryRoom   = 600
	dayRoom       = 250
	statementRoom = 220
	spineRoom     = 1200
	chapterRoom   = 420
)

// enough is the weight of a statement. What weighs less is small talk.
const enough = 0.9

// smallTalk is the summary of what says nothing.
const smallTalk = "The user made small talk."

// quoteMarks are the marks that would look like the ends of a quotation in a summary.
var quoteMarks = strings.NewReplacer("’", "'", "“", "'", "”", "'", `"`, "'")

// summary answers the format session_summary: the text, its topics, its rating, and the fields that the rules name.
func (m *model) summary(t transcript, rules string) map[string]any {
	text, turns := t.previous, min(len(t.previous), 1)
	for _, turn := range t.turns {
		if turn.role == "user" {
			text += "\n" + turn.text
			turns++
		}
	}
	return map[string]any{
		"summary": m.summarize(t), "day": m.lastDay(t), "tags": m.tags(text),
		"confidence": float64(min(50+10*turns, 90)) / 100, "hasGoals": m.forms.has("goals", text),
		"hasProgress": m.forms.has("progress", text), "hasEmotionalState": m.forms.has("feelings", text),
		"fields": m.fields(t, rules),
	}
}

// lastDay retells the day of the last message: what is known of it so far, and its messages.
func (m *model) lastDay(t transcript) string {
	if len(t.turns) == 0 {
		return ""
	}
	last := t.turns[len(t.turns)-1].at.Format(time.DateOnly)
	of := slices.DeleteFunc(slices.Clone(t.turns), func(x turn) bool { return x.at.Format(time.DateOnly) != last })
	return truncate.Prose(m.summarize(transcript{previous: t.day, turns: of}), dayRoom)
}

// summarize goes on with the summary so far: it retells the new statements, and drops the oldest where they are too
// long.
func (m *model) summarize(t transcript) string {
	if len(t.details) > 0 && len(t.turns) == 0 {
		return truncate.Prose("The app recorded: "+strings.Join(t.details, "; ")+".", summaryRoom)
	}
	sentences := splitSentences(untrusted.OneLine(t.previous))
	for _, turn := range t.turns {
		for _, sentence := range m.retold(turn) {
			stems := m.topics(sentence)
			same := func(old string) bool { return overlap(m.topics(old), stems) >= repeats }
			if !slices.ContainsFunc(sentences, same) {
				sentences = m.fit(append(sentences, sentence), summaryRoom)
			}
		}
	}
	return cmp.Or(strings.Join(sentences, " "), m.said(t.turns))
}

// fit drops the oldest sentences while all are too long together; those about dangers go last.
func (m *model) fit(sentences []string, room int) []string {
	for len(sentences) > 0 && len(strings.Join(sentences, " ")) > room {
		i := slices.IndexFunc(sentences, func(s string) bool { return !m.forms.has("safety", s) })
		sentences = slices.Delete(sentences, max(0, i), max(0, i)+1)
	}
	return sentences
}

// said quotes the newest message of the user that says something, for a conversation without a statement that is
// understood.
func (m *model) said(turns []turn) string {
	summary := "Nothing was said yet."
	for _, turn := range slices.Backward(turns) {
		if turn.role != "user" {
			continue
		}
		text := truncate.Prose(quoteMarks.Replace(untrusted.OneLine(m.meant(turn.text))), statementRoom)
		last, _ := utf8.DecodeLastRuneInString(text)
		switch {
		case m.weight(text) < enough || strings.Contains(text, ownMark):
			summary = smallTalk
		case strings.ContainsRune(questions, last):
			return "The user asked: “" + text + "”"
		default:
			return "The user said: “" + strings.TrimRight(text, ends) + "”."
		}
	}
	return summary
}

// retold retells the statements of a message: of the assistant only what it proposes, and nothing of what this model
// said, which only repeats the prompt.
func (m *model) retold(from turn) (sentences []string) {
	if strings.Contains(from.text, ownMark) {
		return nil
	}
	add := func(text string) {
		sentences = append(sentences, strings.TrimRight(from.at.resolve(text), ". ")+".")
	}
	for _, sentence := range splitSentences(quoteMarks.Replace(untrusted.OneLine(from.text))) {
		sentence = truncate.Prose(sentence, statementRoom)
		proposed, ok := m.forms.apply("coach", decapitalize(strings.TrimRight(sentence, ".!?")))
		switch {
		case from.role == "assistant" && ok:
			add(m.forms.swap("swap", m.forms.swap("address", proposed)))
		case from.role == "user":
			for _, clause := range splitClauses(m.meant(sentence)) {
				clause = m.bare(clause)
				if isStatement(clause) && m.weight(clause) >= enough {
					add(m.forms.retell(clause))
				}
			}
		}
	}
	return sentences
}

// tags returns the topics of a text: up to five words that have most weight, in lower case.
func (m *model) tags(text string) []string {
	const most, letters = 5, 3
	counts, words := map[string]float64{}, []string{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		weight := m.weight(word)
		if weight < 1 || len(word) < letters || m.forms.has("common", word) {
			continue
		}
		if counts[word] == 0 {
			words = append(words, word)
		}
		counts[word] += weight
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return words[:min(len(words), most)]
}

// fieldRule matches a rule of a summary's own field: its name, and what it means.
var fieldRule = regexp.MustCompile(`(?m)^ *- fields\.([A-Za-z][A-Za-z0-9_]*): (.+)$`)

// fields answers the fields that the rules of a summary name. Each is the statement of the user that has most of the
// words by which the rule says what the field means. A field without such a statement is left out.
func (m *model) fields(t transcript, rules string) map[string]any {
	values := map[string]any{}
	for _, rule := range fieldRule.FindAllStringSubmatch(rules, -1) {
		wanted, most := m.topics(rule[2]), 0.0
		for _, turn := range t.turns {
			if turn.role != "user" {
				continue
			}
			for _, sentence := range m.retold(turn) {
				if share := overlap(wanted, m.topics(sentence)); share > most {
					values[rule[1]], most = truncate.Prose(strings.TrimRight(sentence, "."), statementRoom), share
				}
			}
		}
	}
	return values
}

// The most remarks of a kind, and the longest, in bytes.
const (
	maxRemarks  = 5
	remarkBytes = 200
)

var (
	spineHeading = regexp.MustCompile(`^(Spine so far|Patterns|Wins|Struggles|Session summary):$`)
	sessionLine  = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[^,]*, ([^:]{1,60}): (.*)$`)
	chapterLead  = regexp.MustCompile(`^On \d{1,2} [A-Z][a-z]+ \d{4} in [^:.]{1,60}: `)
)

// spine answers the format spine: the spine so far with what the new sessions add, the oldest shortened first, and the
// user's patterns, wins and struggles, the newest last.
func (m *model) spine(text string) map[string]any {
	in, heading := map[string][]string{}, ""
	for raw := range strings.Lines(text) {
		if raw = strings.TrimSpace(raw); spineHeading.MatchString(raw) {
			heading = strings.ToLower(strings.TrimSuffix(raw, ":"))
		} else if raw != "" {
			in[heading] = append(in[heading], strings.TrimPrefix(raw, "- "))
		}
	}
	sentences := splitSentences(strings.Join(in["spine so far"], " "))
	for _, line := range in["session summary"] {
		lead, added := m.chapter(line)
		for i, sentence := range added {
			sentences = slices.DeleteFunc(sentences, func(old string) bool { // a session that goes on is summarized again
				return chapterLead.ReplaceAllString(old, "") == sentence
			})
			for _, list := range []string{"patterns", "wins", "struggles"} {
				if m.forms.has(list, sentence) && len(sentence) <= remarkBytes && !strings.HasPrefix(sentence, "The coach") {
					in[list] = m.remarks(in[list], sentence)
				}
			}
			added[i], lead = lead+sentence, ""
		}
		sentences = append(sentences, added...)
	}
	return map[string]any{
		"spine": strings.Join(m.fit(sentences, spineRoom), " "), "patterns": in["patterns"], "wins": in["wins"],
		"struggles": in["struggles"],
	}
}

// chapter returns what a spine says of one session, and what introduces it.
func (m *model) chapter(line string) (lead string, sentences []string) {
	if found := sessionLine.FindStringSubmatch(line); found != nil {
		line = found[3]
		if day, err := time.Parse(time.DateOnly, found[1]); err == nil {
			lead = "On " + day.Format("2 January 2006") + " in " + found[2] + ": "
		}
	}
	line = m.meant(line)
	saysLittle := func(s string) bool { return s == smallTalk || m.weight(s) < enough }
	return lead, m.fit(slices.DeleteFunc(splitSentences(line), saysLittle), chapterRoom)
}

// remarks adds a remark to a list in the place of one about the same matter, and keeps the newest.
func (m *model) remarks(list []string, remark string) []string {
	stems := m.topics(remark)
	list = slices.DeleteFunc(slices.Clone(list), func(old string) bool { return overlap(m.topics(old), stems) >= repeats })
	list = append(list, remark)
	return list[max(0, len(list)-maxRemarks):]
}
