package prompt

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
)

// The sources of a prompt, as the manifest names them. Search reports its own sources by their names.
const (
	sourceSession  = "session"
	sourceMessages = "messages"
	sourceTail     = "tail"
	sourceCurrent  = "current_message"
	sourceHistory  = "history"
	sourceMemories = "memory_origins"
	sourceLongTerm = "long_term"
	sourceSessions = "sessions"
	sourceSearch   = "search"
)

// gathered is everything that the sources returned.
type gathered struct {
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
	// unread says why not all messages of a session were read that the prompt should tell, by session.
	unread map[string]string
	// exhausted are the sessions that have no messages before those that were read.
	exhausted map[string]bool
	// memorySources are the sessions of the messages behind extracted memories. They are read only for a user who
	// separates contexts.
	memorySources map[string]memorySource
	degraded      []recall.Degradation
	// warnings say which bound ended a read.
	warnings []string
	// current is the current message as it is stored, nil if it is not.
	current *conversation.Message
	// messageTokens is the token count of the current message.
	messageTokens int
	timings       map[string]time.Duration
}

// addSessions adds a page of sessions, with the details of their summaries. next is where the next page begins.
func (got *gathered) addSessions(sessions []conversation.Session, next conversation.Position) {
	for _, s := range sessions {
		got.sessions = append(got.sessions, withDetails(s))
		got.listedTo = s.ActiveAt()
	}
	got.moreSessions = next
}

// gatherer reads the sources of one prompt.
type gatherer struct {
	*Service
	user conversation.UserID
	checkedRequest
	now time.Time

	// opened is closed when the session and the access have been read.
	opened chan struct{}

	mu  sync.Mutex
	got gathered
}

// isOfEarlierSession reports whether a message is of a session that was deleted before this one of its id was created.
func (g *gatherer) isOfEarlierSession(m *conversation.Message) bool {
	return !m.SessionCreatedAt.IsZero() && m.SessionCreatedAt.Before(g.got.session.CreatedAt)
}

// gather reads every source at once, each under its own deadline. The session and its messages are required. Any other
// source that fails or is late is noted, and the prompt is built without it. The search takes longest, because it waits
// for an embedding. The history is read and selected beside it.
func (s *Service) gather(ctx context.Context, user conversation.UserID, o checkedRequest, now time.Time) (*selection,
	gathered, error,
) {
	g := &gatherer{
		Service: s, user: user, checkedRequest: o, now: now, opened: make(chan struct{}),
		got: gathered{timings: map[string]time.Duration{}, unread: map[string]string{}, exhausted: map[string]bool{}},
	}
	var sel *selection
	chains, chainCtx := errgroup.WithContext(ctx)
	chains.Go(func() error {
		err := g.readStore(chainCtx)
		if err == nil && g.got.sessions != nil {
			sel, err = historyReader{g}.readHistory(chainCtx)
		}
		return err
	})
	// The goroutine that starts last runs first.
	g.readOptional(chains, chainCtx, sourceSearch, g.searchLimit(), g.search)
	err := chains.Wait()
	if err == nil && sel == nil { // the search's hits stand in for the list of sessions
		sel, err = historyReader{g}.readHistory(ctx)
	}
	if err != nil {
		return nil, gathered{}, unavailable("gather prompt", err)
	}
	g.readMemorySources(ctx)
	slices.SortFunc(g.got.degraded, func(a, b recall.Degradation) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Reason, b.Reason))
	})
	sel.addSources(&g.got)
	return sel, g.got, nil
}

// readStore reads what the store has for the prompt: the session, the newest messages of all sessions, the latest
// sessions, and long-term memory.
func (g *gatherer) readStore(ctx context.Context) error {
	wave, waveCtx := errgroup.WithContext(ctx)
	wave.Go(func() error { return g.readRequired(waveCtx, sourceSession, g.open) })
	wave.Go(func() error { return g.readRequired(waveCtx, sourceMessages, g.readTimeline) })
	wave.Go(func() error {
		g.got.messageTokens = g.Counter.Count(g.Message)
		return nil
	})
	g.readOptional(wave, waveCtx, sourceLongTerm, g.Deadlines.LongTerm, g.readLongTerm)
	g.readOptional(wave, waveCtx, sourceSessions, g.Deadlines.Sessions, g.readSessions)
	if err := wave.Wait(); err != nil {
		return err
	}
	g.got.timeline = slices.DeleteFunc(g.got.timeline, func(m *conversation.Message) bool {
		// An unfinished erasure, or the unfinished deletion of an earlier session of this id, has left it behind.
		return m.Generation < g.got.access.Generation || m.SessionID == g.got.session.ID && g.isOfEarlierSession(m)
	})
	return g.checkCurrent(ctx)
}

// readRequired reads a source without which there is no prompt.
func (g *gatherer) readRequired(ctx context.Context, source string, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, g.Deadlines.Messages)
	defer cancel()
	err := g.timed(source, func() error { return read(ctx) })
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

// readOptional reads a source that a prompt can do without, unless its breaker is open.
func (g *gatherer) readOptional(wave *errgroup.Group, ctx context.Context, source string, limit time.Duration,
	read func(context.Context) error,
) {
	if !g.reads(source) {
		return
	}
	brk := g.breakers[source]
	if missing, open := brk.open(g.Now()); open {
		for _, name := range missing {
			g.addDegraded(name, "was skipped after it failed several times")
		}
		return
	}
	wave.Go(func() error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := g.timed(source, func() error { return read(limited) })
		var partly partialError
		switch {
		case err == nil:
			brk.succeeded()
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &partly):
			brk.failed(partly, g.Now())
		default:
			brk.failed([]string{source}, g.Now())
			g.addDegraded(source, degradedReason(err))
			g.Log.WarnContext(ctx, "prompt source missing", "source", source, "error", err.Error())
		}
		return nil
	})
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

// reads reports whether the recipe reads a source. Every recipe reads long-term memory, for the coach's persona and
// model.
func (g *gatherer) reads(source string) bool {
	switch source {
	case sourceSessions:
		return g.recipe.Reads.Sessions > 0
	case sourceSearch:
		return g.recipe.Reads.Hits > 0
	}
	return true
}

func (g *gatherer) timed(source string, read func() error) error {
	began := time.Now()
	err := read()
	took := time.Since(began)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got.timings[source] = took
	return err
}

func (g *gatherer) addDegraded(source, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got.degraded = append(g.got.degraded, recall.Degradation{Source: source, Reason: reason})
}

const (
	// breakAfter is how many failures in a row open a breaker.
	breakAfter = 5
	// breakFor is how long a breaker then stays open, until one call tries the source again.
	breakFor = 2 * time.Second
)

// breaker skips a source that keeps failing, so that users do not wait for it. It is safe for concurrent use.
type breaker struct {
	mu       sync.Mutex
	failures int
	until    time.Time
	missing  []string
}

// open reports whether the source is skipped now, and what was missing when it last failed. After the pause it lets
// one call through; the others skip the source until that call has ended.
func (b *breaker) open(now time.Time) (missing []string, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < breakAfter {
		return nil, false
	}
	if now.Before(b.until) {
		return b.missing, true
	}
	b.until = now.Add(breakFor)
	return nil, false
}

func (b *breaker) succeeded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures = 0
}

// failed records a failure, and what was missing because of it.
func (b *breaker) failed(missing []string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.missing = missing
	if b.failures++; b.failures >= breakAfter {
		b.until = now.Add(breakFor)
	}
}
