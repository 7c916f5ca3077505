package offlinemodel

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The parts of a summary and their lengths in bytes. Together they are at most 600.
const (
	sentenceRoom = 460
	previousRoom = 250 // of it, reserved for the summary so far
	openRoom     = 130
	unitBytes    = 220 // the longest statement
)

// enough is the weight of a statement. What weighs less is small talk.
const enough = 0.9

// openLead introduces what the user still has to do.
const openLead = "Open: "

// unit is a sentence that may go into a summary.
type unit struct {
	text   string // without its full stop
	weight float64
	stems  map[string]bool
	turn   int // the message that it is from; -1 for the summary so far
	taken  bool
}

// writer writes summaries and spines.
type writer struct{ *model }

// summary answers the format session_summary: the text, its topics and its rating.
func (m writer) summary(t transcript) map[string]any {
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
	}
}

// lastDay retells the day of the last message: what is known of it so far, and its messages.
func (m writer) lastDay(t transcript) string {
	const room = 250
	if len(t.turns) == 0 {
		return ""
	}
	last := t.turns[len(t.turns)-1].at.Format(time.DateOnly)
	of := slices.DeleteFunc(slices.Clone(t.turns), func(x turn) bool { return x.at.Format(time.DateOnly) != last })
	return clip(m.summarize(transcript{previous: t.day, turns: of}), room)
}

// summarize retells the weightiest statements of the summary so far and of the new messages in their order. What the
// user still has to do is at the end.
func (m writer) summarize(t transcript) string {
	if len(t.details) > 0 && len(t.turns) == 0 {
		return clip("The app recorded: "+strings.Join(t.details, "; ")+".", sentenceRoom+openRoom)
	}
	previous, listed, _ := strings.Cut(oneLine(t.previous), openLead)
	var open []string
	if listed = strings.TrimRight(listed, ". "); listed != "" {
		open = strings.Split(listed, "; ")
	}
	var units []unit
	for _, sentence := range splitSentences(previous) {
		units = append(units, m.unit(sentence, 0.9, -1))
	}
	old := len(units)
	for i := range t.turns {
		units = append(units, m.turnUnits(t.turns, i)...)
	}
	used := pick(units[:old], nil, 0, previousRoom)
	used = pick(units[old:], units[:old], used, sentenceRoom)
	pick(units, nil, used, sentenceRoom)
	text := render(units)
	if todo := newest(m.openLoops(open, t.turns), openRoom-len(openLead)); todo != "" {
		text = strings.TrimSpace(text + " " + openLead + todo + ".")
	}
	switch {
	case text != "":
		return text
	case previous != "":
		return clip(oneLine(t.previous), sentenceRoom)
	default:
		return m.said(t.turns)
	}
}

// said quotes the newest message of the user that says something, for a conversation without a statement that is
// understood.
func (m writer) said(turns []turn) string {
	summary := "Nothing was said yet."
	for _, turn := range slices.Backward(turns) {
		if turn.role != "user" {
			continue
		}
		text := clip(quoteMarks.Replace(oneLine(m.meant(turn.text))), unitBytes)
		last, _ := utf8.DecodeLastRuneInString(text)
		switch {
		case m.unit(text, 1, 0).weight < enough || strings.Contains(text, ownMark):
			summary = "The user made small talk."
		case strings.ContainsRune(questions, last):
			return "The user asked: “" + text + "”"
		default:
			return "The user said: “" + strings.TrimRight(text, ends) + "”."
		}
	}
	return summary
}

// turnUnits retells the statements of a message. It leaves out what this model said, which only repeats the prompt, and
// what the user still has to do.
func (m writer) turnUnits(turns []turn, i int) (units []unit) {
	from := turns[i]
	if strings.Contains(from.text, ownMark) {
		return nil
	}
	text := quoteMarks.Replace(oneLine(from.text))
	if from.role == "user" {
		text = m.meant(text)
	}
	for _, sentence := range splitSentences(text) {
		switch sentence = clip(sentence, unitBytes); from.role {
		case "assistant":
			if rewritten, ok := m.forms.apply("coach", decapitalize(strings.TrimRight(sentence, ".!?"))); ok {
				units = append(units, m.unit(from.at.resolve(m.reported(rewritten)), 0.7, i))
			}
		case "user":
			for _, clause := range splitClauses(sentence) {
				clause = m.bare(clause)
				if isStatement(clause) && !m.forms.has("loop", clause) {
					u := m.unit(from.at.resolve(m.forms.retell(clause)), 1, i)
					u.stems = m.topics(clause)
					units = append(units, u)
				}
			}
		}
	}
	if len(units) > 0 && from.role == "assistant" && i+1 < len(turns) && turns[i+1].role == "user" {
		last := &units[len(units)-1]
		for _, group := range []string{"agree", "refuse"} {
			if answer, ok := m.forms.apply(group, turns[i+1].text); ok {
				last.text, last.weight = last.text+answer, 2*last.weight
				break
			}
		}
	}
	return units
}

// reported puts what the coach says to the user into the third person.
func (m writer) reported(text string) string {
	for _, f := range m.forms["address"] {
		text = f.match.ReplaceAllString(text, f.content)
	}
	return m.forms.thirdPerson(text)
}

// quoteMarks are the marks that would look like the ends of a quotation in a summary.
var quoteMarks = strings.NewReplacer("’", "'", "“", "'", "”", "'", `"`, "'")

// unit weighs a sentence. Its everyday words add next to nothing.
func (m writer) unit(sentence string, trust float64, from int) unit {
	u := unit{text: strings.TrimRight(clip(sentence, 2*unitBytes), ". "), stems: m.topics(sentence), turn: from}
	for _, stem := range m.lex.Topics(sentence) {
		if stem != "user" && stem != "coach" {
			u.weight += trust * math.Pow(m.lex.Weight(stem), 2)
		}
	}
	switch {
	case m.forms.has("safety", sentence) && !strings.HasPrefix(sentence, "The coach"):
		u.weight *= 3
	case m.forms.has("vague", strings.TrimPrefix(sentence, "The user said: “")):
		u.weight *= 0.5
	case m.forms.has("weighty", sentence):
		u.weight *= 1.5
	}
	return u
}

// pick takes the units of most weight for their length that fit into the room, and that no taken one repeats. It
// returns what is used.
func pick(units, earlier []unit, used, room int) int {
	order := make([]int, len(units))
	for i := range order {
		order[i] = i
	}
	worth := func(u unit) float64 { return u.weight / math.Sqrt(float64(len(u.text)+1)) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(worth(units[b]), worth(units[a])) })
	for _, i := range order {
		u := &units[i]
		same := func(other unit) bool { return other.taken && overlap(other.stems, u.stems) >= repeats }
		size := len(u.text) + len(". ")
		if u.taken || u.weight < enough || used+size > room || slices.ContainsFunc(units, same) ||
			slices.ContainsFunc(earlier, same) {
			continue
		}
		u.taken = true
		used += size
	}
	return used
}

// render writes the units that are taken. Two short statements of one message make one sentence.
func render(units []unit) string {
	var out strings.Builder
	last := unit{turn: -1}
	for _, u := range units {
		if !u.taken {
			continue
		}
		rest, ok := strings.CutPrefix(u.text, "The user ")
		const short = 60
		plain := !strings.ContainsAny(last.text, ",“") && !strings.Contains(last.text, " and ")
		joins := ok && u.turn >= 0 && u.turn == last.turn && len(u.text) < short && len(last.text) < short &&
			strings.HasPrefix(last.text, "The user ") && plain
		switch {
		case joins && !strings.HasPrefix(rest, "said: "):
			out.WriteString(" and " + rest)
			u.turn = -1 // a sentence has two statements at most
		case out.Len() > 0:
			out.WriteString(". " + u.text)
		default:
			out.WriteString(u.text)
		}
		last = u
	}
	if out.Len() == 0 {
		return ""
	}
	return out.String() + "."
}

// openLoops lists what the user still has to do: what was open before and is not done since, and what the new messages
// add, the newest last.
func (m writer) openLoops(open []string, turns []turn) []string {
	for _, turn := range turns {
		if turn.role != "user" || strings.Contains(turn.text, ownMark) {
			continue
		}
		for _, sentence := range splitSentences(m.meant(quoteMarks.Replace(turn.text))) {
			for _, clause := range splitClauses(oneLine(sentence)) {
				clause = strings.TrimRight(m.bare(clause), "?")
				todo, ok := m.forms.apply("loop", clause)
				todo = m.forms.thirdPerson(turn.at.resolve(todo))
				if ok && m.isTask(todo) && !slices.Contains(open, todo) {
					open = append(open, todo)
				} else if !ok && m.forms.has("done", clause) {
					stems := m.topics(clause)
					same := func(loop string) bool { return overlap(m.topics(loop), stems) >= sameMatter }
					open = slices.DeleteFunc(open, same)
				}
			}
		}
	}
	return open
}

// newest joins the last entries of a list that fit into the room.
func newest(list []string, room int) string {
	for len(strings.Join(list, "; ")) >= room {
		list = list[1:]
	}
	return strings.Join(list, "; ")
}

// tags returns the topics of a text: up to five words that have most weight, in lower case.
func (m writer) tags(text string) []string {
	const most = 5
	counts, words := map[string]float64{}, []string{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		stems := m.lex.Topics(word)
		const letters = 3
		if len(stems) == 0 || len(word) < letters || m.lex.Weight(stems[0]) < 1 || stems[0] == "user" || stems[0] == "coach" {
			continue
		}
		if counts[word] == 0 {
			words = append(words, word)
		}
		counts[word] += m.lex.Weight(stems[0])
	}
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return words[:min(len(words), most)]
}
