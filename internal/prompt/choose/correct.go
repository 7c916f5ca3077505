package choose

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/word"
)

// correctionChars limits what replaced a statement, in the message that made it.
const correctionChars = 160

// correct marks a message from elsewhere that made a statement which holds no more, with what took its place, so that
// the message is never told alone: "I live in Porto. (since replaced on 3 May 2026: The user lives in Faro.)".
func correct(c *chooser, e *Candidate) {
	if marks := marksOf(c, c.Ended[e.ID], e.Role, e.Text, e.At); marks != "" && e.Kind != kindCheckIn {
		e.Text, e.Tokens = e.Text+marks, 0
	}
}

// marksOf returns the marks of what ended of that which a message said.
func marksOf(c *chooser, ended []gather.Ending, by conversation.Role, text string, at time.Time) (marks string) {
	if len(ended) == 0 {
		return ""
	}
	told := longterm.NewLikeness(text)
	isSaid := func(n uint16) bool { return slices.Contains(told, n) }
	for _, of := range ended[:min(len(ended), maxMarks)] {
		if at.After(of.EndIn(c.Zone)) {
			continue // it says what holds since
		}
		if of.IsNamed && by == conversation.RoleAssistant &&
			!slices.ContainsFunc(longterm.NewLikeness(of.Content), isSaid) {
			continue // it answers something else that the message said
		}
		said := ""
		if of.IsNamed {
			said = "\"" + excerpt(of.Content, correctionChars) + "\": "
		}
		marks += endMark(c, said, of.Memory)
	}
	return marks
}

// maxMarks is how many ends of what a message said are told with it.
const maxMarks = 4

// correctSummary marks each sentence of a session's summary that says what a memory from the session said which holds
// no more.
func correctSummary(c *chooser, e *Candidate) {
	correctSentences(c, e, func(m longterm.Memory) bool { return !c.IsFrom(m, e.SessionID, e.At) })
}

// correctSentences marks each sentence of a text that says what a memory said which holds no more, but for some
// memories. The text is not cut before its last mark, so that no such sentence is told without one.
func correctSentences(c *chooser, e *Candidate, isOther func(longterm.Memory) bool) {
	past := slices.DeleteFunc(slices.Clone(c.Past), isOther)
	if e.Left != "" || len(past) == 0 {
		return
	}
	said := make([]longterm.Likeness, len(past))
	for i, m := range past {
		said[i] = longterm.NewLikeness(m.Content)
	}
	var text strings.Builder
	isMarked := false
	for _, sentence := range truncate.SentencesAt(e.Text) {
		told := strings.TrimRight(sentence, " \t\r\n")
		text.WriteString(told)
		if i := slices.IndexFunc(said, func(l longterm.Likeness) bool { return l.Resembles(told) }); i >= 0 {
			text.WriteString(endMark(c, "", past[i]))
			isMarked, e.MinChars = true, max(e.MinChars, utf8.RuneCountInString(text.String())+1)
		}
		text.WriteString(sentence[len(told):])
	}
	if isMarked {
		e.Text, e.Tokens = text.String(), 0
	}
}

// endMark says when and why a memory ended, and what holds in its place. Before that it has what the memory said, where
// that is given. It is empty where the same holds again.
func endMark(c *chooser, said string, m longterm.Memory) string {
	by, day := successor(c, m)
	if slices.ContainsFunc(c.Snapshot.Memories, m.IsSaidBy) {
		return ""
	}
	mark := map[longterm.EndedReason]string{
		longterm.EndedReplaced: "since replaced on ", longterm.EndedFalse: "not true, the user said on ",
	}[m.EndedReason]
	mark = cmp.Or(mark, "over since ") + calendar.Date(day, c.Zone)
	if by != "" {
		mark += ": " + excerpt(by, correctionChars)
	}
	return " (" + said + mark + ")"
}

// successor returns the content of the memory that holds now in place of one, where this prompt may have it, and when
// that took the place. Without one it returns when the memory ended.
func successor(c *chooser, m longterm.Memory) (content string, at time.Time) {
	at = m.EndIn(c.Zone)
	for range maxSuccessors {
		is := func(by longterm.Memory) bool { return by.ID == m.SupersededBy }
		if i := slices.IndexFunc(c.Snapshot.Memories, is); i >= 0 {
			return c.Snapshot.Memories[i].Content, m.EndIn(c.Zone)
		}
		i := slices.IndexFunc(c.Past, is)
		if i < 0 {
			break
		}
		m = c.Past[i]
	}
	return "", at
}

// maxSuccessors is how often a statement may have been replaced until its successor is not looked for.
const maxSuccessors = 8

// withQuestions puts what a short answer of the assistant answers directly behind it, so that a budget has both: "Yes,
// twice a week." says nothing alone.
func withQuestions(hits []found) []found {
	type place struct {
		session string
		seq     int
	}
	places := map[place]int{}
	for i, h := range hits {
		if h.Role == conversation.RoleUser && h.SessionID != "" {
			places[place{h.SessionID, h.seq}] = i
		}
	}
	out, taken := make([]found, 0, len(hits)), make([]bool, len(hits))
	for i, h := range hits {
		if taken[i] {
			continue
		}
		out = append(out, h)
		q, known := places[place{h.SessionID, h.seq - 1}]
		if isAnswer := h.Role == conversation.RoleAssistant && h.Tokens <= shortTokens; !isAnswer || !known ||
			h.irrelevant || q < i || isEmptyAnswer(h.Candidate) {
			continue
		}
		question := hits[q]
		question.irrelevant, taken[q] = false, true
		out = append(out, question)
	}
	return out
}

// leaveAnswers leaves out each short answer of the assistant whose question is left out: it would seem to answer what
// stands before that. The candidates are a conversation's messages, the newest first.
func leaveAnswers(candidates []*Candidate) {
	for i, e := range candidates[:max(0, len(candidates)-1)] {
		question := candidates[i+1]
		isAnswer := e.Role == conversation.RoleAssistant && e.Cut == "" && e.Tokens <= shortTokens
		if isAnswer && e.Left == "" && question.Role == conversation.RoleUser && question.Left != "" {
			e.leave(question.Left)
		}
	}
}

// isEmptyAnswer reports whether a message of the assistant says nothing but that another one was received.
func isEmptyAnswer(e *Candidate) bool {
	return e.Role == conversation.RoleAssistant && word.IsReceipt(e.Text)
}
