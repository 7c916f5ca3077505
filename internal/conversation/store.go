package conversation

import (
	"context"
	"time"
)

// Idempotency makes a call repeatable. A call with the Scope and Key of an earlier one returns the answer of that call
// for 24 hours; if its BodyHash differs, it is an IdempotencyMismatch error. The zero value asks for no idempotency.
type Idempotency struct {
	// Scope is the method and path of the request. Key is the key that the client sent.
	Scope, Key string
	// BodyHash is the hex SHA-256 of the request body.
	BodyHash string
}

// Set reports whether the client asked for idempotency.
func (i Idempotency) Set() bool { return i.Key != "" }

// Created is the result of CreateSession. A replay returns the result of the first call, even if the session was
// changed or deleted since.
type Created struct {
	Session  Session
	Replayed bool
}

// Appended is the result of Append: the messages as stored, and the session after them. A replay returns the result of
// the first call, including messages deleted since. Only the title and attributes of the session are the current ones.
type Appended struct {
	Messages []Message
	Session  Session
	Replayed bool
}

// Append is a call that appends 1 to 50 messages to one session. All of them are stored or none.
type Append struct {
	SessionID   string
	Messages    []NewMessage
	Idempotency Idempotency
	// Replaces, if set, is what a turn takes the place of. Only BeginTurn knows it. Before it deletes anything it asks
	// Admit about the message that will be answered, and returns its error.
	Replaces *Replaces
	Admit    func(ctx context.Context, session Session, message string, tokens int) error
}

// SessionStore stores sessions. A session of another user is NotFound.
type SessionStore interface {
	SessionReader
	// CreateSession stores a new session. An id that the user already has, in any context, is a Conflict.
	CreateSession(ctx context.Context, user UserID, in NewSession, idem Idempotency) (Created, error)
	UpdateSession(ctx context.Context, user UserID, id string, change SessionChange) (Session, error)
	// LeaveSession records that the user left the session. The summariser learns it from the table's stream.
	LeaveSession(ctx context.Context, user UserID, id string, at time.Time) error
}

// SessionReader reads sessions.
type SessionReader interface {
	Session(ctx context.Context, user UserID, id string) (Session, error)
	// Sessions lists sessions by their ListedAt, newest first.
	Sessions(ctx context.Context, user UserID, filter SessionFilter, page Page) ([]Session, Position, error)
}

// MessageStore stores messages. Every read that begins after Append has returned includes its messages. They are never
// lost, stored twice or reordered.
type MessageStore interface {
	MessageReader
	Append(ctx context.Context, user UserID, in Append) (Appended, error)
}

// MessageReader reads messages.
type MessageReader interface {
	TimelineReader
	// Messages returns one page of a session's messages by seq. It is complete even if an index lags.
	Messages(ctx context.Context, user UserID, sessionID string, page Page) ([]Message, Position, error)
}

// TimelineReader reads the messages of a user over all contexts.
type TimelineReader interface {
	// Timeline returns one page of them by time.
	Timeline(ctx context.Context, user UserID, r Range, page Page) ([]Message, Position, error)
}

// SequelReader reads what follows in a session.
type SequelReader interface {
	// SessionIn reads a session of a known context, consistently.
	SessionIn(ctx context.Context, user UserID, context, id string) (Session, error)
	// MessagesAfter reads at most limit of a session's messages after a watermark, oldest first, and fewer where they are
	// larger than MaxPageBytes together. It reads none only where there are no more. The answer has no gap even when an
	// index lags.
	MessagesAfter(ctx context.Context, user UserID, session Session, after Watermark, limit int) ([]Message, error)
}

// CoachReader reads the sessions with a coach.
type CoachReader interface {
	// CoachSessions returns one page of those that have messages or a summary, latest first.
	CoachSessions(ctx context.Context, user UserID, of CoachSessions, page Page) ([]Session, Position, error)
}

// Turn is one turn of the streaming chat: the user's message, which is stored before the first token is sent, and the
// answer if there is one.
type Turn struct {
	// Message is the user's message as stored. Session is the session after it.
	Message Message
	Session Session
	// Answer is set if the turn was finished before. The caller then returns it and generates nothing.
	Answer *Message
	// AnswerID is the id that the answer will have if no other message comes between the question and it. It is that of
	// this holder of the turn alone.
	AnswerID string
	// Idempotency is that of the call that began the turn.
	Idempotency Idempotency
	// Lease identifies this holder of the turn. It is empty without an idempotency key.
	Lease string
	// Permit names the turn's permit among the user's answers that are generated at once. It is empty where their number
	// has no bound.
	Permit string
	// Spent is how many tokens the model took for the answer. The caller sets it before it finishes the turn.
	Spent int
	// SpentOnce says that all who finish the turn report the same tokens. Only the one whose answer is stored is charged.
	SpentOnce bool
	// Replaced says that another turn has taken the place of this one. Only OpenTurn sets it, also beside the error of a
	// message that is gone.
	Replaced bool
	// Until is when the lease ends. Only OpenTurn sets it. It is zero for a turn that was released.
	Until time.Time
}

// DayUsage is how many tokens of the models a user spent on a day, as in 2026-02-05.
type DayUsage struct {
	Day    string `json:"day"`
	Tokens int64  `json:"tokens"`
}

// Held is a record in a user's partition that no other list has.
type Held struct {
	// Kind is the kind of record: a summary, an app's conversation with an id that the
	// API cannot name. It is empty for a record of another kind that the app wrote beside Throughline's.
	Kind string
	// Key is the record's sort key, and of an app's own of another kind only its part up to the first '#'.
	Key string
	// Record are the stored attributes, nil for an app's own of another kind.
	Record map[string]any
}

// Quota is how many tokens of the models a user has spent today.
type Quota struct {
	Used int64
	// Limit is how many a user may spend in a day. It is 0 where there is no limit; then nothing is counted.
	Limit int64
	// ResetsAt is when the day ends.
	ResetsAt time.Time
}

// TurnStore stores turns. A turn with an idempotency key has a lease, so that one request at a time generates its
// answer.
type TurnStore interface {
	TurnLeaser
	// BeginTurn stores the messages of in, of which the last is the user's, and takes the lease, in one transaction.
	// While another request holds the lease, it returns a Conflict with RetryAfter. If that request has finished, it
	// returns the turn with its Answer. If the lease has expired, it takes the lease and returns the turn with the
	// message already stored. For a user who has spent the day's tokens, or has as many answers under way as may be at
	// once, it stores nothing and returns RateLimited with RetryAfter. A turn that Replaces deletes what it replaces in
	// the same transaction, and ends the turn that was there: whoever finishes or renews that one gets a Conflict.
	BeginTurn(ctx context.Context, user UserID, in Append, lease time.Duration) (Turn, error)
	// FinishTurn stores the answer and ends the lease, in one transaction. The answer gets the turn's AnswerID, and the
	// time in it, unless another message came between: then it gets a later time, and an id of that time. If another
	// holder finished first, FinishTurn returns the answer of that holder and stores nothing.
	FinishTurn(ctx context.Context, user UserID, turn Turn, answer NewMessage) (Message, error)
}

// TurnLeaser keeps the leases of turns. A Conflict means that the turn was released, or that another request has taken
// the lease.
type TurnLeaser interface {
	// RenewTurn extends the lease to that time from now.
	RenewTurn(ctx context.Context, user UserID, turn Turn, lease time.Duration) error
	// ReleaseTurn gives back the lease and the permit of a turn without an answer, so that a repeated request can generate
	// at once, and charges what the turn has spent, whatever has become of its lease. A renewal that arrives later changes
	// nothing.
	ReleaseTurn(ctx context.Context, user UserID, turn Turn) error
}

// TurnWatcher watches what a turn needs while its answer is generated.
type TurnWatcher interface {
	// CheckTurn returns a NotFound error when the turn's session was deleted or its user erased, and a Conflict when its
	// message was deleted. Otherwise it reports whether somebody has joined the turn, and wants its progress to be saved.
	CheckTurn(ctx context.Context, user UserID, turn Turn) (joined bool, err error)
	// SaveProgress stores the text so far and the id of the prompt for those who have joined, while the turn is the
	// caller's. The text is deleted with the turn's end.
	SaveProgress(ctx context.Context, user UserID, turn Turn, p Progress) error
}

// TurnKeeper opens turns that another call began, and keeps their prompts for those who repeat that call.
type TurnKeeper interface {
	// OpenTurn returns the turn that the call with that scope and key began, with its answer if it has one. It returns
	// NotFound where there is none, and where its session or message is gone.
	OpenTurn(ctx context.Context, user UserID, idem Idempotency) (Turn, error)
	// KeepPrompt keeps the prompt of a turn, unless one is kept already. It returns the one that is kept.
	KeepPrompt(ctx context.Context, user UserID, turn Turn, p KeptPrompt) (KeptPrompt, error)
	// KeptPrompt returns the prompt that is kept, or NotFound.
	KeptPrompt(ctx context.Context, user UserID, turn Turn) (KeptPrompt, error)
}

// KeptPrompt is a prompt as it was answered, for repeats.
type KeptPrompt struct {
	PromptID string
	// Tokens is the length of the prompt.
	Tokens int
	// Data is the encoded prompt, at most MaxKeptPromptBytes. It is gone after Until.
	Data  []byte
	Until time.Time
}

// MaxKeptPromptBytes is the size of a prompt that a store keeps.
const MaxKeptPromptBytes = 350 << 10

// Progress is how far the answer of a turn is.
type Progress struct {
	// QuestionID and AnswerID are the ids of the user's message and of the answer to come.
	QuestionID, AnswerID string
	// PromptID is empty, and Text is what was said some time ago, until the holder of the turn has saved them.
	PromptID, Text string
	// Answer is set when the answer is stored.
	Answer *Message
	// Ended says that the holder of the turn has given it up, or is gone. There is no more to come.
	Ended bool
}

// Joined is a turn that somebody has joined. The zero value is none.
type Joined struct {
	Session Session
	// Record and Lease name the turn and its holder.
	Record, Lease string
	// End is called when the one who joined leaves. It is nil where there is no turn.
	End func(ctx context.Context) error
}

// TurnJoiner follows a turn whose answer another request generates, maybe in another process.
type TurnJoiner interface {
	// JoinTurn returns the turn whose answer is being generated in a session, the last that began, or the zero value. It
	// returns NotFound for a session that the user does not have, and RateLimited for a user who has joined as many turns
	// as may be at once. A join that does not end counts until the longest time is over.
	JoinTurn(ctx context.Context, user UserID, sessionID string, longest time.Duration) (Joined, error)
	// AskForProgress asks for the progress to be saved. It has to be called every few seconds.
	AskForProgress(ctx context.Context, user UserID, j Joined) error
	// FollowTurn returns the progress, or a NotFound error when the session is gone.
	FollowTurn(ctx context.Context, user UserID, j Joined) (Progress, error)
}

// CoachSessions asks for the sessions with one coach that have messages or a summary.
type CoachSessions struct {
	CoachID string
	// Except is a session that is left out.
	Except string
	// Allows reports whether sessions of a context are wanted. It is asked before any of their records is read. Nil wants
	// all.
	Allows func(ctx context.Context, context string) (bool, error)
}

// RecentSessions asks for the sessions that have messages or a summary and were active since a time.
type RecentSessions struct {
	Since time.Time
	// Contexts are the contexts whose sessions are wanted. None wants all.
	Contexts []string
}

// Change is one decoded record of the table's stream: a session or a message that was written, or a memory, check-in or
// document that was written or deleted. Either the sessions, Embedded, Message or RecordID is set.
type Change struct {
	User UserID
	// Sequence is the sequence number of the record. A batch that fails reports it.
	Sequence string
	// Before and After are the session before and after the change. Before is nil if it was created, After if it was
	// deleted.
	Before, After *Session
	// Embedded is the id of a session that was written and whose messages are in an array of the app's. Nobody summarises
	// or indexes it there.
	Embedded string
	// Gone is a session whose record was deleted, wherever its messages are.
	Gone *Session
	// Message is a message that was stored.
	Message *Message
	// RecordID is the id of a memory, check-in or document of that generation. The table has its current state.
	// Version is that of the change, 0 if the record was deleted. Past says that it is not among the live records.
	// Vectors is how many vectors a document may have, before the change or after it.
	RecordID   string
	Generation int64
	Version    int64
	Past       bool
	Vectors    int
}
