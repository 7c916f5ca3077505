// Package summary writes a summary of each session as the session grows. Summaries are incremental: the model gets the
// previous summary and the new messages, at most one call for each summary. A summary is never written while a chat
// waits for it, and never changes a message.
package summary

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// Summary is the record of one session's summary. There is one record for each session and record type, which is that
// of the session's context. It is rewritten as the session grows and as the session's attributes change.
type Summary struct {
	RecordType conversation.RecordType
	SessionID  string
	// SubjectID is the program or workout that the summary is about, or else the session. Several sessions can have the
	// same subject; readers take the newest summary of each.
	SubjectID string `stored:"subjectId,omitempty"`
	Context   string `stored:"sourceContext"`
	CoachID   string `stored:"coachId,omitempty"`
	Text      string `stored:"summary"`
	Tokens    int    `stored:"tokens"`
	// Tags are the topics of the conversation: 2 to 5 short texts in lower case, or none if no model has named them.
	Tags []string                 `stored:"summaryTags,omitempty"`
	Kind conversation.SummaryKind `stored:"summaryKind"`
	// InProgress is true while the session is not completed.
	InProgress bool `stored:"summaryInProgress"`
	// CoveredThrough is the seq of the last message that the summary covers.
	CoveredThrough int `stored:"summaryCoveredSeq"`
	// CoveredAt is the time of that message, zero where it is not known. It is not stored with the record.
	CoveredAt time.Time
	// OccurredAt is the time of that message.
	OccurredAt time.Time `stored:"occurredAt,omitempty"`
	UpdatedAt  time.Time `stored:"updatedAt"`
	// Fields are the record type's own fields (unified-conversation-context, "Existing Pinecone Summary Inventory").
	Fields map[string]any
	// OwnFields are the fields that are not attributes of the session. Digest identifies the attributes that the summary
	// was made with, and SessionVersion is the version of the session that had them. Days are what the session's latest
	// days came to. Only the session's copy of the summary has these four.
	OwnFields      map[string]any
	Digest         string
	SessionVersion int64
	Days           []conversation.DaySummary
	// Model and PromptVersion name the model and the prompt that wrote the text.
	Model         string `stored:"model,omitempty"`
	PromptVersion string `stored:"promptVersion,omitempty"`
	Generation    int64  `stored:"generation"`
}

// ID is the summary's id in the vector index: "<recordType>#<session id>". A user has each session id once, so that
// each session has one vector of each record type, and writes of it can be repeated.
func (s Summary) ID() string { return string(s.RecordType) + "#" + s.SessionID }

// Replaces reports whether the summary may replace that of its session. One that covers more messages may. Of two that
// cover the same messages, one made with other attributes may if the session has not been edited since it was read. One
// made with the same attributes may if it is the model's where the old one is a fallback, or if it is finished where
// the old one of the same kind is in progress. So the best summary stays, in whatever order summaries arrive. Every
// store enforces this rule as a condition of its write.
func (s Summary) Replaces(session conversation.Session) bool {
	old := session.Summary
	switch {
	case old == nil:
		return true
	case s.CoveredThrough != old.CoveredThrough:
		return s.CoveredThrough > old.CoveredThrough
	case s.Digest != old.Digest:
		return s.SessionVersion == session.Version
	}
	better := s.Kind == conversation.ByModel && old.Kind == conversation.Extractive
	finished := old.InProgress && !s.InProgress && s.Kind == old.Kind
	return better || finished
}

// IsNewForSpine reports whether the summary says something about its session that no spine can have yet.
func (s Summary) IsNewForSpine(session conversation.Session) bool {
	if s.Kind != conversation.ByModel || s.Text == "" || session.CoachID == "" {
		return false
	}
	old := session.Summary
	return old == nil || old.Kind != conversation.ByModel || old.Text != s.Text || old.Digest != s.Digest
}

// Subject is what a summary is about: a program, a workout or a session.
type Subject struct {
	RecordType conversation.RecordType
	ID         string
}

// Subject returns what the summary is about.
func (s Summary) Subject() Subject { return Subject{s.RecordType, s.SubjectID} }

// SubjectOf returns what a session's summary is about, as Of does; ok is false where there is no summary.
func SubjectOf(s conversation.Session) (of Subject, ok bool) {
	appContext, err := conversation.AppContextOf(s.Context)
	if err != nil || s.Summary == nil {
		return Subject{}, false
	}
	return Subject{appContext.Summary.Type, subject(s, appContext)}, true
}

// Of returns the summary record of a session, as far as the session's own copy has it; ok is false where there is no
// summary. Fields are as the session's attributes are now. OccurredAt is the time of the session's last message, even
// when the summary does not cover it yet.
func Of(s conversation.Session) (record Summary, ok bool) {
	appContext, err := conversation.AppContextOf(s.Context)
	if err != nil || s.Summary == nil {
		return Summary{}, false
	}
	return Summary{
		RecordType: appContext.Summary.Type, SessionID: s.ID, SubjectID: subject(s, appContext), Context: s.Context,
		CoachID: s.CoachID, Text: s.Summary.Text, Tokens: s.Summary.Tokens, Tags: s.Summary.Tags, Kind: s.Summary.Kind,
		InProgress: s.Status != conversation.Completed, CoveredThrough: s.Summary.CoveredThrough,
		OccurredAt: occurredAt(s, appContext), UpdatedAt: s.Summary.UpdatedAt, Model: s.Summary.Model,
		Fields: fields(s, appContext, s.Summary.Fields), OwnFields: s.Summary.Fields, Digest: s.Summary.Digest,
		SessionVersion: s.Version, Generation: s.Generation,
	}, true
}
