package conversation

import (
	"cmp"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// MaxClientIDChars is the maximum length of a clientMessageId. maxWrites is how many messages and ids one call may have
// together: a transaction of DynamoDB has at most 100 writes: one for each of them, for the session and for the
// idempotency record.
const (
	MaxClientIDChars = 128
	maxWrites        = 98
)

// MaxNameChars is the maximum length of a mode and of an agentId.
const MaxNameChars = 128

// ActivityStep is the precision of a session's activity time. Local midnight is on a quarter hour in every time zone,
// so rounding moves no session to another day.
const ActivityStep = 15 * time.Minute

// Prepare checks an append and returns it as it will be stored, with its metadata in the form that reads return. All
// invalid fields are reported in one Invalid error. Contents that are too long together are a TooLarge error. Times
// that decrease are invalid; Extend raises only times that are not after the session's last message.
func (a Append) Prepare(now time.Time) (Append, error) {
	if n := len(a.Messages); n < 1 || n > MaxMessagesPerCall {
		return Append{}, fault.InvalidField("messages", fmt.Sprintf("must hold 1 to %d messages", MaxMessagesPerCall))
	}
	total := 0
	for _, m := range a.Messages {
		total += m.size()
	}
	if total > MaxCallBytes {
		return Append{}, fault.New(fault.TooLarge, "the contents of one call may take 1 MiB together")
	}
	out := a
	out.Messages = make([]NewMessage, len(a.Messages))
	var wrong fault.Problems
	for i, m := range a.Messages {
		out.Messages[i] = m.prepare(&wrong, fmt.Sprintf("messages[%d].", i), now)
	}
	checkOrder(&wrong, a.Messages, now)
	checkClientIDs(&wrong, a.Messages)
	return out, wrong.Err()
}

func (m NewMessage) prepare(wrong *fault.Problems, field string, now time.Time) NewMessage {
	add := func(name, message string) { wrong.If(message != "", field+name, message) }
	add("role", m.Role.problem())
	if m.Parts = preparedParts(wrong, field+"parts", m.Parts); len(m.Parts) > 0 && m.Content == "" {
		m.Content = TextOf(m.Parts)
	}
	add("content", m.contentProblem())
	add("clientMessageId", clientIDProblem(m.ClientMessageID))
	add("timestamp", TimestampProblem(m.Timestamp, now))
	add("mode", nameProblem(m.Mode))
	add("agentId", nameProblem(m.AgentID))
	if !m.Timestamp.IsZero() {
		m.Timestamp = Milliseconds(m.Timestamp)
	}
	doc, more := PrepareDocument(field+"metadata", m.Metadata, MaxMetadataBytes)
	m.Metadata, *wrong = doc, append(*wrong, more...)
	return m
}

func (r Role) problem() string {
	switch r {
	case RoleUser, RoleAssistant, RoleSystem, RoleTool:
		return ""
	}
	return "must be user, assistant, system or tool"
}

// size is how many bytes the content and the parts take. A content that is made of the parts counts once more, because
// it is stored, too.
func (m NewMessage) size() int {
	text, err := EncodeParts(m.Parts)
	if err != nil {
		return MaxCallBytes + 1 // prepare says which part is no JSON
	}
	return len(m.Content) + len(text)
}

func (m NewMessage) contentProblem() string {
	switch {
	case m.Content == "" && len(m.Parts) == 0 || len(m.Content) > MaxContentBytes:
		return "must be 1 byte to 256 KiB long"
	case m.size() > MaxContentBytes:
		return "must be at most 256 KiB long together with the parts"
	case !utf8.ValidString(m.Content):
		return "must be valid UTF-8"
	}
	return ""
}

func clientIDProblem(id string) string {
	if utf8.RuneCountInString(id) > MaxClientIDChars || !utf8.ValidString(id) {
		return fmt.Sprintf("must be at most %d characters of valid UTF-8", MaxClientIDChars)
	}
	return ""
}

// checkClientIDs reports ids that are repeated in one call, and a call that would be too many writes.
func checkClientIDs(wrong *fault.Problems, messages []NewMessage) {
	seen := map[string]bool{}
	for i, m := range messages {
		wrong.If(seen[m.ClientMessageID], fmt.Sprintf("messages[%d].clientMessageId", i), "is repeated in this call")
		if m.ClientMessageID != "" {
			seen[m.ClientMessageID] = true
		}
	}
	wrong.If(len(messages)+len(seen) > maxWrites, "messages", fmt.Sprintf(
		"must be at most %d together with their clientMessageIds: send the rest in another call", maxWrites))
}

// CheckDuplicate returns a Conflict error unless the message that is stored under the clientMessageId is the one to
// append. exists is false where it was deleted.
func (m NewMessage) CheckDuplicate(stored Message, exists bool) error {
	switch {
	case !exists:
		return fault.Newf(fault.Conflict, "the message with the clientMessageId %q was deleted: to store it again, send "+
			"another id", m.ClientMessageID)
	case stored.Role != m.Role, stored.Content != m.Content, !EqualParts(stored.Parts, m.Parts):
		return fault.Newf(fault.Conflict, "the clientMessageId %q is that of a message with another content",
			m.ClientMessageID)
	}
	return nil
}

// TimestampProblem says what is wrong with a time that a client sent for what was said, or nothing.
func TimestampProblem(at, now time.Time) string {
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

// checkOrder reports the messages whose time, before truncation, is before that of the previous message. A message
// without a time has the time now, or that of the previous message if it is later.
func checkOrder(wrong *fault.Problems, messages []NewMessage, now time.Time) {
	var last time.Time
	for i, m := range messages {
		at := m.effective(last, now)
		wrong.If(at.Before(last), fmt.Sprintf("messages[%d].timestamp", i), "must not lie before the message in front of it")
		last = at
	}
}

// effective returns the message's own time, or the later of last and now if it has none.
func (m NewMessage) effective(last, now time.Time) time.Time {
	if !m.Timestamp.IsZero() {
		return m.Timestamp
	}
	if now = Milliseconds(now); now.After(last) {
		return now
	}
	return last
}

// Extend returns the messages of a prepared append as they follow the session, and the session after them. Seq
// continues after LastSeq. A time that is not after that of the previous message becomes one millisecond later than it.
// The messages have no id yet. Extend changes nothing: after a conflict, a writer calls it again with the newer
// session.
func (s Session) Extend(messages []NewMessage, now time.Time) ([]Message, Session) {
	out := make([]Message, len(messages))
	var requested time.Time
	last := s.LastMessageAt
	userSeq, urgentSeq := 0, 0
	for i, m := range messages {
		requested = m.effective(requested, now)
		last = later(requested, last, s.MessageCount > 0 || i > 0)
		out[i] = s.Message(m, s.LastSeq+i+1, last)
		if m.Role == RoleUser {
			userSeq = out[i].Seq
			if !m.NoExtract && IsUrgent(m.Content) {
				urgentSeq = out[i].Seq
			}
		}
	}
	s.UserSeq, s.UrgentSeq = max(s.UserSeq, userSeq), max(s.UrgentSeq, urgentSeq)
	if s.MessageCount == 0 {
		s.StartedAt = out[0].Timestamp
	}
	s.LastMessageAt = last
	s.LastSeq += len(out)
	s.MessageCount += len(out)
	s.Version++
	return out, s
}

// later returns the requested time, or a millisecond after last if there is a last message and the requested time is
// not after it.
func later(requested, last time.Time, hasLast bool) time.Time {
	if hasLast && !requested.After(last) {
		return last.Add(time.Millisecond)
	}
	return requested
}

// Message returns a message of a prepared append as the session's message with that seq and time. It has no id yet.
func (s Session) Message(m NewMessage, seq int, at time.Time) Message {
	m.Seq, m.SessionID, m.Context, m.CoachID = seq, s.ID, s.Context, s.CoachID
	m.Timestamp, m.Mode = at, cmp.Or(m.Mode, s.Mode)
	m.Generation, m.SessionCreatedAt = s.Generation, s.CreatedAt
	return m
}

// ListedAt is the time by which sessions are listed: LastActiveAt, or the time of the creation if that is zero, rounded
// down to ActivityStep.
func (s Session) ListedAt() time.Time {
	at := s.LastActiveAt()
	if at.IsZero() {
		at = s.CreatedAt
	}
	return at.UTC().Truncate(ActivityStep)
}

// LastActiveAt is the time of the last message. For a session without messages it is the time of its completion, or
// zero.
func (s Session) LastActiveAt() time.Time {
	if s.LastMessageAt.IsZero() {
		return s.CompletedAt
	}
	return s.LastMessageAt
}
