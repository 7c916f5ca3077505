package conversation

import "time"

// Status is where a session stands.
type Status string

// The statuses of the specification's session record.
const (
	Active    Status = "active"
	Completed Status = "completed"
	Archived  Status = "archived"
)

// Placement is where a session's messages live while an app migrates (design 4.6).
type Placement string

// The placements of design 4.6. A session that Throughline creates is Shared.
const (
	Embedded Placement = "embedded"
	Dual     Placement = "dual"
	Shared   Placement = "shared"
)

// SummaryKind says who wrote a summary.
type SummaryKind string

// A summary is the model's, or the extractive stand-in made in process while the model is late (design 4.2).
const (
	ByModel    SummaryKind = "model"
	Extractive SummaryKind = "extractive"
)

// SessionSummary is what a session came to so far.
type SessionSummary struct {
	Text string
	// Tokens is what the text takes of a prompt, 0 where it was not counted.
	Tokens int
	Kind   SummaryKind
	// InProgress is true while the session it covers is not completed.
	InProgress bool
	// CoveredThrough is the seq of the last message that it covers.
	CoveredThrough int
	UpdatedAt      time.Time
}

// Session is one conversation in one context. Its times are UTC with milliseconds; StartedAt and LastMessageAt are
// those of its first and last message, and zero where it has none.
type Session struct {
	ID         string
	Context    string
	CoachID    string
	Mode       string
	Status     Status
	Title      string
	Attributes map[string]any

	// MessageCount is how many messages it holds; LastSeq is the highest seq given out, and stays when messages
	// are deleted.
	MessageCount int
	LastSeq      int
	// Deleted are the seqs of its deleted messages, so that a reader knows which gaps are meant to be.
	Deleted       SeqSet
	CreatedAt     time.Time
	StartedAt     time.Time
	LastMessageAt time.Time
	LeftAt        time.Time

	Summary *SessionSummary
	// SummarizedSeq, IndexedSeq and ExtractedSeq are the watermarks: the seq through which the session has been
	// summarised, indexed and read for memories. They are the truth; stream records are hints (design 4.2).
	SummarizedSeq int
	IndexedSeq    int
	ExtractedSeq  int

	Placement  Placement
	Version    int64
	Generation int64
	// DueAt is when the sweep has to look at it; zero while nothing is uncovered.
	DueAt time.Time
}

// Uncovered reports whether the session has messages that summarising or indexing has not covered.
func (s Session) Uncovered() bool {
	return s.SummarizedSeq < s.LastSeq || s.IndexedSeq < s.LastSeq
}

// NewSession is what a caller gives to create a session. An empty ID asks for a fresh one, an empty Mode for the
// context's default.
type NewSession struct {
	ID         string
	Context    string
	CoachID    string
	Mode       string
	Title      string
	Attributes map[string]any
}

// SessionChange is a partial change of a session; nil leaves a field as it is. Attributes are merged key by key,
// and a nil value removes its key.
type SessionChange struct {
	Status     *Status
	Mode       *string
	Title      *string
	Attributes map[string]any
}

// SessionFilter narrows a list of sessions; empty fields let all through.
type SessionFilter struct {
	Context string
	Status  Status
}
