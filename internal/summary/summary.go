// Package summary writes what each session came to, as it goes: incremental, at most one model call per summary,
// never on the chat path, and never at the cost of a message (design 4.2).
package summary

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// Summary is the record of what one session came to, of its context's record type.
type Summary struct {
	RecordType conversation.RecordType
	// SubjectID is the session's id, or the programId or workoutId that its context keeps summaries by.
	SubjectID string
	SessionID string
	Context   string
	CoachID   string
	Text      string
	Tokens    int
	Kind      conversation.SummaryKind
	// InProgress is true while the session is not completed.
	InProgress bool
	// CoveredThrough is the seq of the last message it covers.
	CoveredThrough int
	// OccurredAt is the time of that message.
	OccurredAt time.Time
	UpdatedAt  time.Time
	// Fields are the record type's own, from the session's attributes.
	Fields map[string]any
	// Model and PromptVersion say what wrote it.
	Model         string
	PromptVersion string
	Generation    int64
}

// ID is the summary's id in the vector index: "<recordType>#<subject id>".
func (s Summary) ID() string { return string(s.RecordType) + "#" + s.SubjectID }

// Replaces reports whether the summary may take the place of what a session has: it covers more, or as much where the
// model's takes the place of a stand-in, or a finished one that of one in progress. Whatever order summaries arrive
// in, the best stays. Every store keeps this rule, as a condition of its write.
func (s Summary) Replaces(old *conversation.SessionSummary) bool {
	if old == nil || s.CoveredThrough != old.CoveredThrough {
		return old == nil || s.CoveredThrough > old.CoveredThrough
	}
	better := s.Kind == conversation.ByModel && old.Kind == conversation.Extractive
	finished := old.InProgress && !s.InProgress && s.Kind == old.Kind
	return better || finished
}
