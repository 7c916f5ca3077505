// Package gather is the first step of a prompt: it reads every source at once, each with its own deadline and circuit
// breaker, and returns what was read and may be used. It knows neither blocks nor budgets of blocks nor formats.
package gather

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/query"
	"github.com/throughline/throughline/internal/prompt/scoping"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/recall/rank"
)

// Store is what a prompt reads from the table.
type Store interface {
	SessionReader
	conversation.TimelineReader
	conversation.CoachReader
	RecordReader
}

// SessionReader reads one session.
type SessionReader interface {
	// Open reads a session of a known context, with the user's preferences and generation, consistently and in one
	// call. A session that does not exist, or belongs to another user, is NotFound.
	Open(ctx context.Context, user conversation.UserID, context, sessionID string) (conversation.Session, longterm.Access,
		error)
	// MessagesBefore returns the last n messages of a session before one of them, oldest first, or its last ones for a
	// zero message. It is complete even while the indexes lag.
	MessagesBefore(ctx context.Context, user conversation.UserID, session conversation.Session,
		before conversation.Message, n int) ([]conversation.Message, error)
}

// RecordReader reads records of the user.
type RecordReader interface {
	// LongTerm returns the user's live long-term memory in one query.
	LongTerm(ctx context.Context, user conversation.UserID) (longterm.Snapshot, error)
	recall.Resolver
}

// Searcher finds what is relevant to a text, best first: embedding, vector index, table.
type Searcher interface {
	Search(ctx context.Context, user conversation.UserID, q recall.Search) (recall.Found, error)
}

// Deadlines are how long each source may take before the prompt is built without it. Messages applies to the required
// sources, without which there is no prompt.
type Deadlines struct {
	Messages time.Duration
	LongTerm time.Duration
	Sessions time.Duration
	Search   time.Duration
}

// The defaults of Deadlines.
const (
	defaultMessages = 3 * time.Second
	defaultLongTerm = time.Second
	defaultSessions = time.Second
	defaultSearch   = 1500 * time.Millisecond
)

// Deps are the dependencies of a Gatherer. All are required. Zero deadlines take their defaults.
type Deps struct {
	Store     Store
	Search    Searcher
	Counter   llm.Counter
	Now       func() time.Time
	Log       *slog.Logger
	Deadlines Deadlines
}

// Gatherer reads the sources of prompts. It is safe for concurrent use.
type Gatherer struct {
	Deps
	breakers map[string]*breaker
}

// New returns a gatherer with its dependencies.
func New(d Deps) *Gatherer {
	d.Deadlines.Messages = cmp.Or(d.Deadlines.Messages, defaultMessages)
	d.Deadlines.LongTerm = cmp.Or(d.Deadlines.LongTerm, defaultLongTerm)
	d.Deadlines.Sessions = cmp.Or(d.Deadlines.Sessions, defaultSessions)
	d.Deadlines.Search = cmp.Or(d.Deadlines.Search, defaultSearch)
	return &Gatherer{Deps: d, breakers: map[string]*breaker{sourceLongTerm: {}, sourceSessions: {}, sourceSearch: {}}}
}

// Plan says what is read for one prompt.
type Plan struct {
	User conversation.UserID
	// Context and SessionID name the conversation. AppContext is the context's entry in the registry. CoachID is the
	// persona; empty means the session's.
	Context, SessionID, CoachID string
	AppContext                  conversation.AppContext
	// Message is the current message, MessageID its id if it is stored.
	Message, MessageID string
	// Zone is the requested time zone; nil means the user's preference.
	Zone *time.Location
	Now  time.Time
	// Embedding is that of the message, if it is known. Assumed is what the search asks the index with before the user's
	// records are read.
	Embedding *recall.Embedding
	Assumed   *longterm.Access

	// Messages and Sessions are how many of the newest messages and of the coach's latest sessions are read at first,
	// Hits how many hits the search returns, of the record types Records; empty means all. 0 is none.
	Messages, Sessions, Hits int
	Records                  []string
	// Strategy and Scoping select the session's own messages.
	Strategy scoping.Strategy
	Scoping  scoping.Config
	// Thread is set if the prompt says how the thread goes on. Transcripts, Activity and Latest are set if it has the
	// messages of the thread and of today, what the user did in other contexts, and the latest summary.
	Thread, Transcripts, Activity, Latest bool
	// Elsewhere is set if the prompt has messages from elsewhere.
	Elsewhere bool
	// MaxTokens and MaxChars limit the prompt, MessageChars each message of a transcript. 0 does not limit.
	MaxTokens, MaxChars, MessageChars int
}

// tailSize is how many of the session's own messages the prompt may need.
func (p *Plan) tailSize() int {
	return p.Strategy.Reach(p.Scoping) + 1 // the current message may be stored already
}

// The sources of a prompt, as the manifest names them. Search reports its own sources by their names.
const (
	sourceSession  = "session"
	sourceMessages = "messages"
	sourceCurrent  = "current_message"
	sourceHistory  = "history"
	sourceNamed    = "referenced_messages"
	sourceMemories = "memory_origins"
	sourceLongTerm = "long_term"
	sourceSessions = "sessions"
	sourceSearch   = "search"
)

// reader reads the sources of one prompt.
type reader struct {
	*Gatherer
	Plan
	// opened is closed when the session and the access have been read.
	opened chan struct{}

	mu  sync.Mutex
	got read
}

// read is everything that the sources returned.
type read struct {
	session conversation.Session
	access  longterm.Access
	// timeline are the messages that were read, oldest first. It has every message since reach, which is zero if it has
	// all.
	timeline []*conversation.Message
	reach    time.Time
	// tail are the session's last messages, nil if timeline has them.
	tail     []*conversation.Message
	snapshot *longterm.Snapshot
	// sessions are those with this coach, nil if the source is missing. listedTo is the last one's place in the list, and
	// moreSessions where the next page begins, empty after the last one.
	sessions     []conversation.Session
	listedTo     time.Time
	moreSessions conversation.Position
	hits         []recall.Hit
	// withheldSessions counts the listed sessions that the user's preferences keep from this context.
	withheldSessions int
	// unread says why not all messages of a session were read that the prompt should have, by session.
	unread map[string]string
	// referenced are messages that the message refers back to and that the timeline may not have.
	referenced []*conversation.Message
	// exhausted are the sessions that have no messages before those that were read.
	exhausted map[string]bool
	// origins are the sessions of the messages from which memories were extracted. They are read only for a user who
	// separates contexts.
	origins  map[string]origin
	degraded []recall.Degradation
	// warnings say which bound ended a read.
	warnings []string
	// current is the current message as it is stored, nil if it is not.
	current *conversation.Message
	// messageTokens is the token count of the current message. The others say what the message needs.
	messageTokens int
	reference     query.Reference
	overview      bool
	asked         func() *rank.Query
	timings       map[string]time.Duration
}

// addSessions adds a page of sessions. next is where the next page begins.
func (got *read) addSessions(sessions []conversation.Session, next conversation.Position) {
	if got.sessions == nil {
		got.sessions = []conversation.Session{} // nil means that the list is missing
	}
	got.sessions = append(got.sessions, sessions...)
	if n := len(sessions); n > 0 {
		got.listedTo = sessions[n-1].ListedAt()
	}
	got.moreSessions = next
}

// Gather reads every source at once, each under its own deadline. The session and its messages are required. Any other
// source that fails or is late is noted, and the prompt is built without it. The search takes longest, because it waits
// for an embedding. The history is read beside it.
//
// Errors: NotFound for a session that this user does not have, Invalid for a message id that does not name the current
// message, Unavailable if the session or its messages can't be read.
func (g *Gatherer) Gather(ctx context.Context, plan Plan) (*Sources, error) {
	r := &reader{
		Gatherer: g, Plan: plan, opened: make(chan struct{}),
		got: read{timings: map[string]time.Duration{}, unread: map[string]string{}, exhausted: map[string]bool{}},
	}
	r.got.asked = sync.OnceValue(func() *rank.Query { return rank.NewQuery(query.Part(plan.Message), plan.Now) })
	var src *Sources
	chains, chainCtx := errgroup.WithContext(ctx)
	chains.Go(func() error {
		err := r.readStore(chainCtx)
		if err == nil && r.got.sessions != nil {
			src, err = r.readHistory(chainCtx)
		}
		return err
	})
	var searchErr error
	if r.Hits > 0 { // here and not in a goroutine, so that the embedding, the longest wait, is asked for first
		searchErr = r.readOptional(chainCtx, sourceSearch, r.searchLimit(r.Deadlines.Search), r.search)
	}
	err := cmp.Or(chains.Wait(), searchErr)
	if err == nil && src == nil { // the search's hits replace the list of sessions
		src, err = r.readHistory(ctx)
	}
	if err != nil {
		return nil, unavailable("gather prompt", err)
	}
	r.readOrigins(ctx)
	slices.SortFunc(r.got.degraded, func(a, b recall.Degradation) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Reason, b.Reason))
	})
	src.complete(&r.got)
	return src, nil
}

// readStore reads what the store has for the prompt: the session, the newest messages of all sessions, the latest
// sessions, and long-term memory.
func (r *reader) readStore(ctx context.Context) error {
	wave, waveCtx := errgroup.WithContext(ctx)
	wave.Go(func() error { return r.readRequired(waveCtx, sourceSession, r.open) })
	wave.Go(func() error { return r.readRequired(waveCtx, sourceMessages, r.readTimeline) })
	wave.Go(func() error {
		r.got.addMessage(&r.Plan, r.Counter)
		return nil
	})
	wave.Go(func() error { return r.readOptional(waveCtx, sourceLongTerm, r.Deadlines.LongTerm, r.readLongTerm) })
	if r.Sessions > 0 {
		wave.Go(func() error { return r.readOptional(waveCtx, sourceSessions, r.Deadlines.Sessions, r.readSessions) })
	}
	if err := wave.Wait(); err != nil {
		return err
	}
	r.got.timeline = slices.DeleteFunc(r.got.timeline, r.got.isErased)
	return r.checkCurrent(ctx)
}

// isErased reports whether an unfinished erasure has left a message over, or the unfinished deletion of an earlier
// session of this id.
func (got *read) isErased(m *conversation.Message) bool {
	return m.Generation < got.access.Generation || m.SessionID == got.session.ID &&
		!m.SessionCreatedAt.IsZero() && m.SessionCreatedAt.Before(got.session.CreatedAt)
}

// readRequired reads a source without which there is no prompt.
func (r *reader) readRequired(ctx context.Context, source string, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.Deadlines.Messages)
	defer cancel()
	err := r.timed(source, func() error { return read(ctx) })
	if err == nil {
		return nil
	}
	return unavailable("read "+source, err)
}

// unavailable turns an error into Unavailable, unless it has a code that the caller may know.
func unavailable(op string, err error) error {
	switch fault.CodeOf(err) {
	case fault.NotFound, fault.Invalid, fault.Forbidden, fault.Unavailable, fault.RateLimited:
		return err
	}
	return &fault.Error{
		Code: fault.Unavailable, Message: "the conversation can't be read now", RetryAfter: time.Second, Op: op, Err: err,
	}
}

// readOptional reads a source that a prompt can do without, unless its breaker is open. Its error is that of ctx, which
// has ended.
func (r *reader) readOptional(ctx context.Context, source string, limit time.Duration,
	read func(context.Context) error,
) error {
	brk := r.breakers[source]
	if missing, open := brk.open(r.Gatherer.Now()); open {
		for _, name := range missing {
			r.addDegraded(name, "was skipped after it failed several times")
		}
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := r.timed(source, func() error { return read(limited) })
	var partly partialError
	switch {
	case err == nil:
		brk.succeeded()
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &partly):
		brk.failed(partly, r.Gatherer.Now())
	default:
		brk.failed([]string{source}, r.Gatherer.Now())
		r.addMissing(ctx, source, err)
	}
	return nil
}

// addMissing notes that a source is missing. The cause is for the log, not for the caller.
func (r *reader) addMissing(ctx context.Context, source string, err error) {
	r.addDegraded(source, degradedReason(err))
	r.Log.WarnContext(ctx, "prompt source missing", "source", source, "error", err.Error())
}

// degradedReason says why a source is missing. The cause is not for the caller to see.
func degradedReason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "did not answer in time"
	}
	return "is not available at the moment"
}

// partialError says that a source answered without some of its own sources, which it has reported itself.
type partialError []string

func (m partialError) Error() string { return "missing " + strings.Join(m, ", ") }

func (r *reader) timed(source string, read func() error) error {
	began := time.Now()
	err := read()
	took := time.Since(began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got.timings[source] = took
	return err
}

func (r *reader) addDegraded(source, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got.degraded = append(r.got.degraded, recall.Degradation{Source: source, Reason: reason})
}
