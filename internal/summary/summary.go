// Package summary writes a summary of each session as the session grows. Summaries are incremental: the model gets the
// previous summary and the new messages, at most one call for each summary. A summary is never written while a chat
// waits for it, and never changes a message.
package summary

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// Summary is the record of one session's summary. Its record type is that of the session's context.
type Summary struct {
	RecordType conversation.RecordType
	// SubjectID is the session's id, or the programId or workoutId that its context keeps summaries by.
	SubjectID string
	SessionID string
	Context   string
	CoachID   string
	Text      string
	Tokens    int
	// Tags are the topics of the conversation: 2 to 5 short texts in lower case, or none if no model has named them.
	Tags []string
	Kind conversation.SummaryKind
	// InProgress is true while the session is not completed.
	InProgress bool
	// CoveredThrough is the seq of the last message that the summary covers.
	CoveredThrough int
	// OccurredAt is the time of that message.
	OccurredAt time.Time
	UpdatedAt  time.Time
	// Fields are the record type's own fields, from the session's attributes.
	Fields map[string]any
	// Model and PromptVersion name the model and the prompt that wrote the text.
	Model         string
	PromptVersion string
	Generation    int64
}

// ID is the summary's id in the vector index: "<recordType>#<subject id>".
func (s Summary) ID() string { return string(s.RecordType) + "#" + s.SubjectID }

// Replaces reports whether the summary may replace that of a session. It may when it covers more messages, or covers
// the same ones and is the model's where the old one is a fallback, or is finished where the old one of the same kind
// is in progress. So the best summary stays, in whatever order summaries arrive. Every store enforces this rule as a
// condition of its write.
func (s Summary) Replaces(old *conversation.SessionSummary) bool {
	if old == nil || s.CoveredThrough != old.CoveredThrough {
		return old == nil || s.CoveredThrough > old.CoveredThrough
	}
	better := s.Kind == conversation.ByModel && old.Kind == conversation.Extractive
	finished := old.InProgress && !s.InProgress && s.Kind == old.Kind
	return better || finished
}

// Of returns the summary record of a session, as far as the session's own copy has it; ok is false where there is no
// summary. OccurredAt is the time of the session's last message, even when the summary does not cover it yet.
func Of(s conversation.Session) (record Summary, ok bool) {
	surface, err := conversation.SurfaceOf(s.Context)
	if err != nil || s.Summary == nil {
		return Summary{}, false
	}
	return Summary{
		RecordType: surface.Writes, SubjectID: subject(s, surface), SessionID: s.ID, Context: s.Context,
		CoachID: s.CoachID, Text: s.Summary.Text, Tags: s.Summary.Tags, Kind: s.Summary.Kind,
		InProgress: s.Status != conversation.Completed, CoveredThrough: s.Summary.CoveredThrough,
		OccurredAt: s.LastMessageAt, UpdatedAt: s.Summary.UpdatedAt, Fields: fields(s, surface),
		Generation: s.Generation,
	}, true
}

// subject is the id that the context keeps summaries by: the program or workout that the session's attributes name,
// else the session.
func subject(s conversation.Session, surface conversation.Surface) string {
	if surface.SubjectAttribute != "" {
		id := identifier(s.Attributes[surface.SubjectAttribute])
		if conversation.ValidID(id) {
			return id
		}
		if id != "" {
			return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(id))) // a key contains valid ids only
		}
	}
	return s.ID
}

// identifier converts an attribute that holds an id, as a text or a number, to a text.
func identifier(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case nil, bool, []any, map[string]any:
		return ""
	}
	return fmt.Sprint(value)
}

// fields are the record type's own fields, from the session's attributes.
func fields(s conversation.Session, surface conversation.Surface) map[string]any {
	out := make(map[string]any, len(surface.FieldAttributes))
	for _, name := range surface.FieldAttributes {
		if value, ok := s.Attributes[name]; ok && value != nil {
			out[name] = value
		}
	}
	return out
}
