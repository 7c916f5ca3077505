package choose

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/prompt/calendar"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/untrusted"
)

// KindMessage, KindMemory and KindSummary are the kinds of candidates that are messages, memories and summaries of
// sessions.
const (
	KindMessage = "message"
	KindMemory  = "memory"
	KindSummary = "summary"
	// kindSession is what is told of another session's activity.
	kindSession = "session"
)

// Candidate is one thing that a prompt may have. Nothing changes it once Blocks has returned it.
type Candidate struct {
	// Kind and ID say what it is; SessionID, Context and At where and when it came up.
	Kind, ID, SessionID, Context string
	At                           time.Time
	// Score is how relevant it is. Features are the parts of the score of a message that the search found.
	Score    float64
	Features rank.Contributions
	// Role is the speaker, if it is a message, and CoachID the coach that was spoken with.
	Role    conversation.Role
	CoachID string
	// Label says where and when: "Program Designer - 2 hours ago". It consists of Throughline's own words and of the
	// letters and digits of a coach's name.
	Label string
	// Text is the stored text, Tokens its stored count, or 0 if it has to be counted. Fields, if set, replace Text. Note
	// is written after it, such as a goal's type.
	Text   string
	Tokens int
	Fields []Field
	Note   string
	// Files are those of the user's message that the model's provider can fetch. They are not counted.
	Files []llm.File
	// Trusted marks text of Throughline's own and text that only the app can write. It is written verbatim.
	Trusted bool
	// Constant marks trusted text that is the same in every prompt of a recipe, so that it is counted once.
	Constant bool
	// CountOnly marks what the model is sent beside the text, such as a tool. It is counted and not written.
	CountOnly bool
	// MinChars is the fewest characters to which the text may be cut.
	MinChars int
	// Position is where it is written in its block, ascending. Candidates of equal position keep their rank.
	Position int
	// Group is the conversation that it is written in, nil for most candidates.
	Group *Group
	// Fresh is set if it is no part of a stable prefix: it came up after the sitting began, or its label changes within
	// the day.
	Fresh bool

	// Left says why the candidate is left out. It is empty if the prompt may have it.
	Left string
	// Why, if set, is the reason for including it. Cut says how its text was cut.
	Why, Cut string
	// Deferred, if set, says why it is added only in the end, from what the budget leaves.
	Deferred string
	// Replaces is how many messages a summary replaces, if a transcript may have them too. If all of them are in the
	// prompt, the summary is left out. 0 keeps it in any case.
	Replaces int
}

// Field is one named value of a candidate that consists of several, such as a profile.
type Field struct {
	Label, Value string
	// Stored is true if the label is stored text, too.
	Stored bool
}

// Group is one conversation, or one exchange of it, whose messages are written together.
type Group struct {
	Kind, ID           string
	SessionID, Context string
	Label              string
	// Day is the calendar day in words, Date in figures. From and To are the local times of its first and last message.
	Day, Date, From, To string
	// Since, if set, is the date on which the session began, for a summary that covers more than the day of its label.
	Since string
	// Unread, if set, says why messages before its first one were not read.
	Unread string
	Began  time.Time
	// Listed is set if the manifest has a line for each of its messages.
	Listed bool
}

// HasText reports whether the candidate says anything.
func (e *Candidate) HasText() bool {
	return e.CountOnly || len(e.Fields) > 0 || untrusted.HasVisible(e.Text)
}

// leave leaves a candidate out.
func (e *Candidate) leave(reason string) *Candidate {
	e.Left = reason
	return e
}

// key is the dedupe key of a message or a note.
func (e *Candidate) key() dedupeKey { return dedupeKey{e.Kind, e.ID} }

func messageCandidate(m *conversation.Message) *Candidate {
	e := &Candidate{
		Kind: KindMessage, ID: m.ID, SessionID: m.SessionID, Context: m.Context, At: m.Timestamp,
		Role: m.Role, CoachID: m.CoachID, Text: untrusted.NameData(m.Content), Tokens: m.Tokens,
	}
	if len(e.Text) != len(m.Content) {
		e.Tokens = 0
	}
	return e
}

// files returns the files of a message of the user that the model's provider can fetch. They are handed on while the
// sitting goes on. Later the prompt has their texts only: a provider refuses the whole call for one address that is
// gone.
func (c *chooser) files(m *conversation.Message) (files []llm.File) {
	if m.Role != conversation.RoleUser || m.Timestamp.Before(c.History.SittingBegan()) {
		return nil
	}
	for _, p := range m.Parts {
		if p.IsFetchable(c.Now) {
			files = append(files, llm.File{MediaType: p.MediaType, URL: p.URL})
		}
	}
	return files
}

// summaryCandidate returns a candidate for a session's summary, left out if it is superseded. at is the last message
// that it is about.
func (c *chooser) summaryCandidate(s *conversation.Session, at time.Time) *Candidate {
	e := &Candidate{
		Kind: KindSummary, ID: s.ID, SessionID: s.ID, Context: s.Context, At: at,
		Text: s.Summary.Text, Tokens: s.Summary.Tokens,
		Label: ContextLabel(s.Context) + " - " + c.age(at) + c.since(s, at), Fresh: c.isFresh(s.Summary.UpdatedAt),
	}
	if c.isSuperseded(s) {
		e.leave(reasonSuperseded)
	}
	return e
}

// age says how long ago something was. In a stable prefix it does not change within the day.
func (c *chooser) age(at time.Time) string {
	if c.StablePrefix && calendar.IsSameDay(at, c.Now, c.Zone) {
		return "today, " + calendar.Clock(at, c.Zone)
	}
	return conversation.Age(at, c.Now, c.Zone)
}

// ContextLabel names a context for a reader of the prompt.
func ContextLabel(context string) string { return conversation.LabelOf(context, "Another screen") }

// reasonItems is the reason of a candidate that its block's number of items leaves out.
const reasonItems = "over the number of items of its block"

// capItems leaves out what exceeds the block's number of items, the least valuable candidates.
func capItems(candidates []*Candidate, slot *Slot) []*Candidate {
	kept := 0
	for _, e := range candidates {
		if e.Left != "" {
			continue
		}
		if kept++; slot.Items > 0 && kept > slot.Items {
			e.leave(reasonItems)
		}
	}
	return candidates
}

// capChars cuts a candidate's text to its block's number of characters, and notes it.
func capChars(e *Candidate, slot *Slot) *Candidate {
	if slot.Chars == 0 {
		return e
	}
	cut := truncate.Runes(e.Text, slot.Chars)
	if len(cut) == len(e.Text) {
		return e
	}
	if !slot.NoEllipsis {
		cut = truncate.Ellipsis(e.Text, slot.Chars)
	}
	e.Text, e.Tokens = cut, 0
	e.Cut = fmt.Sprintf("cut to %d characters", slot.Chars)
	return e
}

// positionByTalk puts the candidates of each group together, in the order in which they were said. What is left out has
// no group.
func positionByTalk(candidates []*Candidate) {
	sorted := slices.DeleteFunc(slices.Clone(candidates), func(e *Candidate) bool { return e.Group == nil })
	slices.SortStableFunc(sorted, func(a, b *Candidate) int {
		return cmp.Or(a.Group.Began.Compare(b.Group.Began), cmp.Compare(a.Group.ID, b.Group.ID),
			a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	for i, e := range sorted {
		e.Position = i
	}
}

// excerpt returns a stored text in one line of at most n characters, with an ellipsis if it was cut.
func excerpt(text string, n int) string {
	return truncate.Ellipsis(untrusted.FoldLines(untrusted.Clean(text)), n)
}
