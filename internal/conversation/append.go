package conversation

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// MaxNameChars bounds a mode and an agentId.
const MaxNameChars = 128

// ActivityStep is the grain of a session's activity time: local midnights fall on quarter hours in every zone, so
// that days stay exact (design 3).
const ActivityStep = 15 * time.Minute

// Prepare checks an append against the rules of api 1 and 2 and returns it as it will be stored: metadata in the
// form in which it reads back. It reports every wrong field together as Invalid, and contents that are too long
// together as TooLarge. The order of times is checked here, before anything is raised.
func (a Append) Prepare(now time.Time) (Append, error) {
	if n := len(a.Messages); n < 1 || n > MaxMessagesPerCall {
		return Append{}, fault.InvalidField("messages", fmt.Sprintf("must hold 1 to %d messages", MaxMessagesPerCall))
	}
	total := 0
	for _, m := range a.Messages {
		total += len(m.Content)
	}
	if total > MaxCallBytes {
		return Append{}, fault.New(fault.TooLarge, "the contents of one call may take 1 MiB together")
	}
	out := a
	out.Messages = make([]NewMessage, len(a.Messages))
	var wrong []fault.Field
	for i, m := range a.Messages {
		field := fmt.Sprintf("messages[%d].", i)
		var w []fault.Field
		out.Messages[i], w = m.prepare(field, now)
		wrong = append(wrong, w...)
	}
	wrong = append(wrong, decreasing(a.Messages, now)...)
	if len(wrong) > 0 {
		return Append{}, fault.InvalidFields(wrong...)
	}
	return out, nil
}

func (m NewMessage) prepare(field string, now time.Time) (NewMessage, []fault.Field) {
	var wrong []fault.Field
	add := func(name, message string) {
		if message != "" {
			wrong = append(wrong, fault.Field{Field: field + name, Message: message})
		}
	}
	add("role", m.Role.problem())
	add("content", contentProblem(m.Content))
	add("timestamp", timestampProblem(m.Timestamp, now))
	add("mode", nameProblem(m.Mode))
	add("agentId", nameProblem(m.AgentID))
	if !m.Timestamp.IsZero() {
		m.Timestamp = Milliseconds(m.Timestamp)
	}
	doc, w := PrepareDocument(field+"metadata", m.Metadata, MaxMetadataBytes)
	m.Metadata = doc
	return m, append(wrong, w...)
}

func (r Role) problem() string {
	switch r {
	case User, Assistant, System:
		return ""
	}
	return "must be user, assistant or system"
}

func contentProblem(content string) string {
	switch {
	case content == "" || len(content) > MaxContentBytes:
		return "must be 1 byte to 256 KiB long"
	case !utf8.ValidString(content):
		return "must be valid UTF-8"
	}
	return ""
}

func timestampProblem(at, now time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case at.After(now.Add(MaxAhead)):
		return "must lie at most 5 minutes in the future"
	case at.UTC().Year() < 1:
		return "must lie after the year 0"
	}
	return ""
}

func nameProblem(name string) string {
	if utf8.RuneCountInString(name) > MaxNameChars || !utf8.ValidString(name) {
		return fmt.Sprintf("must be at most %d characters of valid UTF-8", MaxNameChars)
	}
	return ""
}

// decreasing reports the messages whose own time, given and not yet cut, lies before the one in front of them; a
// message without a time takes the present, or its predecessor's where that is later.
func decreasing(messages []NewMessage, now time.Time) []fault.Field {
	var wrong []fault.Field
	var last time.Time
	for i, m := range messages {
		at := m.effective(last, now)
		if at.Before(last) {
			wrong = append(wrong, fault.Field{
				Field:   fmt.Sprintf("messages[%d].timestamp", i),
				Message: "must not lie before the message in front of it",
			})
		}
		last = at
	}
	return wrong
}

func (m NewMessage) effective(last, now time.Time) time.Time {
	if !m.Timestamp.IsZero() {
		return m.Timestamp
	}
	if now = Milliseconds(now); now.After(last) {
		return now
	}
	return last
}

// Extend returns the messages of a prepared append as they follow a session as it stands, and the session after
// them. Seq goes on from the last one given out; a time that is not after the one before it is raised by the least
// that keeps them increasing. The messages have no id yet. Extend is pure: a writer that lost a race calls it again
// with the session as the winner left it.
func (s Session) Extend(messages []NewMessage, now time.Time) ([]Message, Session) {
	out := make([]Message, len(messages))
	var asked time.Time
	last := s.LastMessageAt
	for i, m := range messages {
		asked = m.effective(asked, now)
		last = later(asked, last, s.MessageCount > 0 || i > 0)
		out[i] = s.Message(m, s.LastSeq+i+1, last)
	}
	if s.MessageCount == 0 {
		s.StartedAt = out[0].Timestamp
	}
	s.LastMessageAt = last
	s.LastSeq += len(out)
	s.MessageCount += len(out)
	s.Version++
	return out, s
}

// later returns asked, raised to a millisecond after last where there is a last that it does not follow.
func later(asked, last time.Time, some bool) time.Time {
	if some && !asked.After(last) {
		return last.Add(time.Millisecond)
	}
	return asked
}

// Message returns a message of a prepared append as it stands in the session at that place; it has no id yet.
func (s Session) Message(m NewMessage, seq int, at time.Time) Message {
	mode := m.Mode
	if mode == "" {
		mode = s.Mode
	}
	return Message{
		Seq: seq, SessionID: s.ID, Context: s.Context, CoachID: s.CoachID, AgentID: m.AgentID,
		Role: m.Role, Content: m.Content, Tokens: m.Tokens, Timestamp: at, Mode: mode,
		Metadata: m.Metadata, Generation: s.Generation,
	}
}

// ActiveAt is the time that a session is listed by: its last message's, or its creation's before the first, rounded
// down to ActivityStep.
func (s Session) ActiveAt() time.Time {
	at := s.LastMessageAt
	if at.IsZero() {
		at = s.CreatedAt
	}
	return at.UTC().Truncate(ActivityStep)
}
