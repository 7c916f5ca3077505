package conversation

import (
	"fmt"
	"maps"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// MaxTitleChars bounds a session's title.
const MaxTitleChars = 1024

// Prepare checks what a caller gives to create a session and returns it as it will be stored, with the context's
// default mode. It reports every wrong field together as Invalid. The id may still be empty.
func (n NewSession) Prepare() (NewSession, error) {
	var wrong []fault.Field
	surface, err := SurfaceOf(n.Context)
	if err != nil {
		wrong = append(wrong, fault.From(err).Fields...)
	}
	if n.Mode == "" {
		n.Mode = surface.DefaultMode
	}
	if n.ID != "" && !ValidID(n.ID) {
		wrong = append(wrong, fault.Field{Field: "sessionId", Message: idProblem})
	}
	if !ValidID(n.CoachID) {
		wrong = append(wrong, fault.Field{Field: "coachId", Message: idProblem})
	}
	wrong = append(wrong, namesProblems(n.Mode, n.Title)...)
	doc, w := PrepareDocument("attributes", n.Attributes, MaxAttributesBytes)
	n.Attributes = doc
	if wrong = append(wrong, w...); len(wrong) > 0 {
		return NewSession{}, fault.InvalidFields(wrong...)
	}
	return n, nil
}

const idProblem = `must be 1 to 128 of [A-Za-z0-9_.:-], and neither "." nor ".."`

func namesProblems(mode, title string) []fault.Field {
	var wrong []fault.Field
	if p := nameProblem(mode); p != "" {
		wrong = append(wrong, fault.Field{Field: "mode", Message: p})
	}
	if utf8.RuneCountInString(title) > MaxTitleChars || !utf8.ValidString(title) {
		wrong = append(wrong, fault.Field{
			Field: "title", Message: fmt.Sprintf("must be at most %d characters of valid UTF-8", MaxTitleChars),
		})
	}
	return wrong
}

// Edit returns the session with a change applied. An empty mode is the context's default, an empty title takes the
// title away. It reports every wrong field together as Invalid. The version counts the change.
func (s Session) Edit(c SessionChange) (Session, error) {
	var wrong []fault.Field
	if c.Status != nil {
		s.Status = *c.Status
		if !s.Status.valid() {
			wrong = append(wrong, fault.Field{Field: "status", Message: "must be active, completed or archived"})
		}
	}
	if c.Mode != nil {
		s.Mode = *c.Mode
	}
	if surface, err := SurfaceOf(s.Context); err == nil && s.Mode == "" {
		s.Mode = surface.DefaultMode
	}
	if c.Title != nil {
		s.Title = *c.Title
	}
	wrong = append(wrong, namesProblems(s.Mode, s.Title)...)
	merged, w := PrepareDocument("attributes", merge(s.Attributes, c.Attributes), MaxAttributesBytes)
	s.Attributes = merged
	s.Version++
	if wrong = append(wrong, w...); len(wrong) > 0 {
		return Session{}, fault.InvalidFields(wrong...)
	}
	return s, nil
}

func (s Status) valid() bool { return s == Active || s == Completed || s == Archived }

func merge(old, change map[string]any) map[string]any {
	if len(change) == 0 {
		return old
	}
	out := maps.Clone(old)
	if out == nil {
		out = make(map[string]any, len(change))
	}
	for k, v := range change {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = v
		}
	}
	return out
}

// Without returns the session after one of its messages is deleted. first and last are the messages at its ends then,
// nil where none is left. Seq numbers stay. A summary that covers the message is gone, and with it the watermark, which
// otherwise passes over deleted messages.
func (s Session) Without(m Message, first, last *Message) Session {
	s.Deleted = s.Deleted.Add(m.Seq)
	s.MessageCount--
	s.Version++
	s.StartedAt, s.LastMessageAt = time.Time{}, time.Time{}
	if first != nil && last != nil {
		s.StartedAt, s.LastMessageAt = first.Timestamp, last.Timestamp
	}
	if s.Summary != nil && m.Seq <= s.Summary.CoveredThrough {
		s.Summary, s.SummarizedSeq = nil, 0
	}
	if last == nil || last.Seq <= s.SummarizedSeq {
		s.SummarizedSeq = s.LastSeq // nothing is left to summarise
	}
	return s
}
