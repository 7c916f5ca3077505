package conversation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/fault"
)

// Status is the state of a session.
type Status string

// The statuses of a session.
const (
	Active    Status = "active"
	Completed Status = "completed"
	Archived  Status = "archived"
)

// Adopted is what a store knows of a session whose messages are in an app's own record (docs/adr/0059). Only the
// package that adopts such records knows what is in it.
type Adopted interface {
	// HasCopies reports whether the shared store has messages of the session, too.
	HasCopies() bool
}

// SummaryKind is how a summary was made.
type SummaryKind string

// A summary is written by the model, or it is the extractive fallback made in process when the model is late.
const (
	ByModel    SummaryKind = "model"
	Extractive SummaryKind = "extractive"
)

// SessionSummary is the summary of a session up to one of its messages.
type SessionSummary struct {
	Text string `stored:"summary"`
	// Tokens is the length of Text in tokens, or 0 if it was not counted.
	Tokens int `stored:"summaryTokens"`
	// Tags are the topics of the conversation, none if the model has named none.
	Tags []string    `stored:"summaryTags"`
	Kind SummaryKind `stored:"summaryKind"`
	// InProgress is true if the session was not completed.
	InProgress bool `stored:"summaryInProgress"`
	// CoveredThrough is the seq of the last message that the summary covers.
	CoveredThrough int       `stored:"summaryCoveredSeq"`
	UpdatedAt      time.Time `stored:"summaryUpdatedAt"`
	// Model is the model that wrote the text, if one did.
	Model string `stored:"summaryModel,omitempty"`
	// Fields are the fields of the summary that are not attributes of the session, such as its confidence.
	Fields map[string]any `stored:"summaryFields,omitempty"`
	// Digest identifies the attributes that the summary was made with.
	Digest string `stored:"summaryDigest,omitempty"`
	// Days are what the latest days of the session came to, oldest first. It is empty where none was summarised yet.
	Days []DaySummary `stored:"summaryDays,omitempty"`
	// Indexed says that the vector index has this summary.
	Indexed bool
}

// Session is one conversation in one context. Its times are in UTC with milliseconds. StartedAt and LastMessageAt are
// the times of its first and last message, and zero if it has none.
type Session struct {
	ID         string
	Context    string
	CoachID    string `stored:"coachId"`
	Mode       string `stored:"mode,omitempty"`
	Status     Status `stored:"status"`
	Title      string `stored:"title,omitempty"`
	Attributes map[string]any

	// MessageCount is the number of messages. LastSeq is the highest seq ever assigned; deletions do not lower it.
	MessageCount int `stored:"messageCount"`
	LastSeq      int `stored:"lastSeq"`
	// UserSeq is the seq of the last message of role user, UrgentSeq that of the last one of these that IsUrgent.
	UserSeq   int `stored:"userSeq,omitempty"`
	UrgentSeq int `stored:"urgentSeq,omitempty"`
	// Deleted has the seqs of deleted messages, so that a reader can tell them from messages that an index lacks.
	Deleted SeqSet `stored:"deletedSeqs,omitempty"`
	// Forgotten has the seqs of messages that the user asked to forget.
	Forgotten     SeqSet    `stored:"forgottenSeqs,omitempty"`
	CreatedAt     time.Time `stored:"sessionCreatedAtMs,millis"`
	StartedAt     time.Time `stored:"startedAt,omitempty"`
	LastMessageAt time.Time `stored:"lastMessageAt,omitempty"`
	LeftAt        time.Time `stored:"leftAt,omitempty"`
	// CompletedAt is when the session was completed. It is zero if the session is not completed.
	CompletedAt time.Time `stored:"sessionCompletedAt,omitempty"`

	Summary *SessionSummary
	// Summarized, Indexed and Extracted are the watermarks: the last message that was summarised, indexed and read for
	// memories. They decide what remains to be done, because stream records may be lost.
	Summarized Watermark `stored:"summarized,prefix"`
	Indexed    Watermark `stored:"indexed,prefix"`
	Extracted  Watermark `stored:"extracted,prefix"`
	// Reading is what bad answers of the model have done to the reading for memories.
	Reading Reading `stored:"reading,json"`

	// Adopted is nil for a session whose messages are in the shared store only.
	Adopted Adopted
	// Version counts the writes. It is 0 for an app's own record, which Throughline has not changed.
	Version    int64 `stored:"version"`
	Generation int64 `stored:"generation"`
	// DueAt is when the sweep has to work on the session. It is zero if all messages are covered.
	DueAt time.Time `stored:"dueAt,omitempty"`
	// ClaimedVersion is the version that a worker has claimed until DueAt. It is 0 if none has.
	ClaimedVersion int64 `stored:"claimedVersion,omitempty"`
	// ClaimedAt is when that worker claimed it, the zero time if none has.
	ClaimedAt time.Time `stored:"claimedAt,omitempty"`
}

// Watermark is a place in a session: after the message of a seq. At is the timestamp of that message, with which a
// reader goes on there without reading what comes before. It is zero where it is not known.
type Watermark struct {
	Seq int       `stored:"Seq"`
	At  time.Time `stored:"At,omitempty"`
}

// Uncovered reports whether the session has messages that summarising, indexing or extraction has not covered.
func (s Session) Uncovered() bool {
	return s.Summarized.Seq < s.LastSeq || s.Indexed.Seq < s.LastSeq || s.NeedsExtraction()
}

// IsMigrated reports whether the shared store has messages of the session. It may lack some of an adopted one.
func (s Session) IsMigrated() bool { return s.Adopted == nil || s.Adopted.HasCopies() }

// HasContent reports whether the session has messages or a summary, which others may be shown.
func (s Session) HasContent() bool { return s.MessageCount > 0 || s.Summary != nil }

// NeedsExtraction reports whether messages of the user have not been read for memories.
func (s Session) NeedsExtraction() bool { return s.Extracted.Seq < s.UserSeq }

// IsSame reports whether two records are of one session, and not of one that was deleted and another of its id.
func (s Session) IsSame(other Session) bool {
	return s.ID == other.ID && s.Generation == other.Generation && s.CreatedAt.Equal(other.CreatedAt)
}

// NewSession is a session to create: its context, coach, title and attributes. An empty ID asks for a new one, an empty
// Mode for the default of the context.
type NewSession = Session

// SessionChange is a partial change of a session. A nil field stays as it is. Attributes are merged by key, and a nil
// value removes its key.
type SessionChange struct {
	Status     *Status
	Mode       *string
	Title      *string
	Attributes map[string]any
}

// SessionFilter limits a list of sessions. An empty field is no limit.
type SessionFilter struct {
	Context string
	Status  Status
}

// MaxTitleChars is the maximum length of a session's title.
const MaxTitleChars = 1024

// Prepare checks a new session and returns it as it will be stored. An empty mode becomes the default of the context.
// An empty id stays empty. All invalid fields are reported in one Invalid error.
func (s Session) Prepare() (NewSession, error) {
	var wrong fault.Problems
	appContext, err := AppContextOf(s.Context)
	if err != nil {
		wrong = fault.From(err).Fields
	}
	wrong.If(appContext.Retired, "context", "is retired: its sessions can be read, not made")
	s.Mode = cmp.Or(s.Mode, appContext.DefaultMode)
	wrong.If(s.ID != "" && !ValidID(s.ID), "sessionId", idProblem)
	wrong.If(!ValidID(s.CoachID), "coachId", idProblem)
	checkNames(&wrong, s.Mode, s.Title)
	s.Attributes = prepareAttributes(&wrong, s.Attributes, s.Attributes)
	return s, wrong.Err()
}

// Begin returns a prepared session as it is created now, with an id.
func (s Session) Begin(id string, now time.Time) Session {
	s.ID, s.Status, s.CreatedAt, s.Version = id, Active, Milliseconds(now), 1
	return s
}

// ArrayName is the name among an app's attributes under which it has a session's messages before they are migrated.
const ArrayName = "messages"

// prepareAttributes checks the attributes that a session will have, of which some are new.
func prepareAttributes(wrong *fault.Problems, all, given map[string]any) map[string]any {
	doc, w := PrepareDocument("attributes", all, MaxAttributesBytes)
	_, hasArray := given[ArrayName]
	w.If(hasArray, "attributes."+ArrayName, "is where an app's own records have their messages; use another name")
	*wrong = append(*wrong, w...)
	return doc
}

const idProblem = `must be 1 to 128 of [A-Za-z0-9_.:-], and neither "." nor ".."`

func checkNames(wrong *fault.Problems, mode, title string) {
	problem := nameProblem(mode)
	wrong.If(problem != "", "mode", problem)
	wrong.If(utf8.RuneCountInString(title) > MaxTitleChars || !utf8.ValidString(title),
		"title", fmt.Sprintf("must be at most %d characters of valid UTF-8", MaxTitleChars))
}

// Edit returns the session with a change applied at a time and a new version. An empty mode becomes the default of the
// context. An empty title removes the title. All invalid fields are reported in one Invalid error.
func (s Session) Edit(c SessionChange, at time.Time) (Session, error) {
	var wrong fault.Problems
	if c.Status != nil {
		s = s.withStatus(*c.Status, at)
		wrong.If(!s.Status.valid(), "status", "must be active, completed or archived")
	}
	if c.Mode != nil {
		s.Mode = *c.Mode
	}
	if appContext, err := AppContextOf(s.Context); err == nil && s.Mode == "" {
		s.Mode = appContext.DefaultMode
	}
	if c.Title != nil {
		s.Title = *c.Title
	}
	checkNames(&wrong, s.Mode, s.Title)
	if len(c.Attributes) > 0 { // what an app has in its own record may be larger
		s.Attributes = prepareAttributes(&wrong, merge(s.Attributes, c.Attributes), c.Attributes)
	}
	s.Version++
	return s, wrong.Err()
}

func (s Session) withStatus(status Status, at time.Time) Session {
	switch {
	case status == Active:
		s.CompletedAt = time.Time{}
	case status == Completed && s.Status != Completed:
		s.CompletedAt = Milliseconds(at)
	}
	s.Status = status
	return s
}

// Reopen returns the session after an append. A completed one is active again when the user says something after its
// completion. A message with a time before the completion is history, and what an app or a model adds is an afterword:
// neither reopens it. An archived session stays archived.
func (s Session) Reopen(messages []NewMessage) Session {
	isNew := func(m NewMessage) bool {
		return m.Role == RoleUser && (m.Timestamp.IsZero() || !m.Timestamp.Before(s.CompletedAt))
	}
	if s.Status == Completed && slices.ContainsFunc(messages, isNew) {
		return s.withStatus(Active, time.Time{})
	}
	return s
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

// Forgetting returns the session after the message of a seq was forgotten: without a summary that covers it.
func (s Session) Forgetting(seq int) Session {
	s.Forgotten = s.Forgotten.Add(seq)
	if s.Summary != nil && seq <= s.Summary.CoveredThrough {
		s.Summary, s.Summarized = nil, Watermark{}
	}
	return s
}

// Emptied returns the session without any of its messages: created at a time, or just after it was before. Its messages
// are those of a deleted session of the same id.
func (s Session) Emptied(now time.Time) Session {
	created := Milliseconds(now)
	if !created.After(s.CreatedAt) {
		created = s.CreatedAt.Add(time.Millisecond)
	}
	return Session{
		ID: s.ID, Context: s.Context, CoachID: s.CoachID, Mode: s.Mode, Status: s.Status, Title: s.Title,
		Attributes: s.Attributes, CompletedAt: s.CompletedAt, CreatedAt: created,
		Version: s.Version + 1, Generation: s.Generation,
	}
}

// Without returns the session after the deletion of one of its messages. first and last are the first and last of the
// remaining messages, or nil if none remains. The other messages keep their seq. A summary that covers the message is
// removed and Summarized is reset. If no message after it remains, its seq becomes LastSeq.
func (s Session) Without(m Message, first, last *Message) Session {
	s.Deleted = s.Deleted.Add(m.Seq)
	s.MessageCount--
	s.Version++
	s.StartedAt, s.LastMessageAt = time.Time{}, time.Time{}
	if first != nil && last != nil {
		s.StartedAt, s.LastMessageAt = first.Timestamp, last.Timestamp
	}
	s = s.Forgetting(m.Seq)
	if last == nil || last.Seq <= s.Summarized.Seq {
		s.Summarized = Watermark{s.LastSeq, s.LastMessageAt}
	}
	return s
}
