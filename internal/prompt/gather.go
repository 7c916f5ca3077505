package prompt

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/truncate"
)

// The sources of a prompt, as the manifest names them. What Search stands on reports under its own names.
const (
	sourceSession  = "session"
	sourceMessages = "messages"
	sourceTail     = "tail"
	sourceCurrent  = "current_message"
	sourceOrigins  = "memory_origins"
	sourceLongTerm = "long_term"
	sourceSessions = "sessions"
	sourceSearch   = "search"
)

const (
	// timelinePages bounds the pages of a recipe that tells long histories.
	timelinePages = 6
	// sessionYears is how far back sessions may lie: the latest summary may be old.
	sessionYears = 10
	// queryBytes is how much of a message is searched for: its beginning and its end.
	queryBytes = 6000
)

// gathered is everything that the sources brought.
type gathered struct {
	session  conversation.Session
	access   longterm.Access
	tail     []*conversation.Message
	timeline []*conversation.Message
	snapshot *longterm.Snapshot
	// sessions is nil where the source is missing.
	sessions []conversation.Session
	hits     []recall.Hit
	// origins are the sessions of the messages behind extracted memories, where the user keeps contexts apart.
	origins  map[string]origin
	degraded []recall.Degradation
	// currentSeq is the current message's, 0 where it is not stored.
	currentSeq int
	// messageTokens is the count of the current message.
	messageTokens int
	timings       map[string]time.Duration
}

// gathering is one prompt's wave of reads.
type gathering struct {
	*Service
	user conversation.UserID
	order
	now time.Time

	// opened is closed when the session and the access are there.
	opened chan struct{}

	mu  sync.Mutex
	got gathered
}

// gather asks every source at once, each under its own deadline. The session and its messages are needed; whatever
// else fails or is late is noted, and the prompt goes on without it.
func (s *Service) gather(ctx context.Context, user conversation.UserID, o order, now time.Time) (gathered, error) {
	g := &gathering{Service: s, user: user, order: o, now: now, opened: make(chan struct{}), got: gathered{timings: map[string]time.Duration{}}}
	wave, waveCtx := errgroup.WithContext(ctx)
	wave.Go(func() error { return g.need(waveCtx, sourceSession, g.open) })
	wave.Go(func() error { return g.need(waveCtx, sourceMessages, g.readTimeline) })
	wave.Go(func() error {
		g.got.messageTokens = s.Counter.Count(o.Message)
		return nil
	})
	g.optional(wave, waveCtx, sourceLongTerm, s.Deadlines.LongTerm, g.readLongTerm)
	g.optional(wave, waveCtx, sourceSessions, s.Deadlines.Sessions, g.readSessions)
	g.optional(wave, waveCtx, sourceSearch, s.Deadlines.Search, g.search)
	if err := wave.Wait(); err != nil {
		return gathered{}, unavailable("gather prompt", err)
	}
	g.got.timeline = slices.DeleteFunc(g.got.timeline, func(m *conversation.Message) bool {
		return m.Generation < g.got.access.Generation // an unfinished erasure has left it behind
	})
	if g.needsTail() {
		if err := g.need(ctx, sourceTail, g.readTail); err != nil {
			return gathered{}, err
		}
	}
	if err := g.checkCurrent(ctx); err != nil {
		return gathered{}, err
	}
	g.readOrigins(ctx)
	slices.SortFunc(g.got.degraded, func(a, b recall.Degradation) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Reason, b.Reason))
	})
	return g.got, nil
}

// need runs a source that a prompt can't do without.
func (g *gathering) need(ctx context.Context, source string, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, g.Deadlines.Messages)
	defer cancel()
	err := g.timed(source, func() error { return read(ctx) })
	if err == nil {
		return nil
	}
	return unavailable("read "+source, err)
}

// unavailable says that the store can't be read now, unless the error says something else that the caller may know.
func unavailable(op string, err error) error {
	switch fault.CodeOf(err) {
	case fault.NotFound, fault.Invalid, fault.Forbidden, fault.Unavailable, fault.RateLimited:
		return err
	}
	return &fault.Error{
		Code: fault.Unavailable, Message: "the conversation can't be read now", RetryAfter: time.Second, Op: op, Err: err,
	}
}

// optional runs a source that a prompt can do without, unless its breaker is open.
func (g *gathering) optional(wave *errgroup.Group, ctx context.Context, source string, limit time.Duration, read func(context.Context) error) {
	if !g.wants(source) {
		return
	}
	brk := g.breakers[source]
	if missing, open := brk.open(g.Now()); open {
		for _, name := range missing {
			g.degrade(name, "was skipped after it failed several times")
		}
		return
	}
	wave.Go(func() error {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := g.timed(source, func() error { return read(limited) })
		var partly missingError
		switch {
		case err == nil:
			brk.succeeded()
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &partly):
			brk.failed(partly, g.Now())
		default:
			brk.failed([]string{source}, g.Now())
			g.degrade(source, failure(err))
			g.Log.WarnContext(ctx, "prompt source missing", "source", source, "error", err.Error())
		}
		return nil
	})
}

// failure words why a source is missing; the cause is not the caller's to see.
func failure(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "did not answer in time"
	}
	return "is not available at the moment"
}

// missingError says that a source answered without some of what it stands on, which it has named itself.
type missingError []string

func (m missingError) Error() string { return "missing " + strings.Join(m, ", ") }

// wants reports whether the recipe reads a source. Long-term memory has the coach's persona and model, which all need.
func (g *gathering) wants(source string) bool {
	switch source {
	case sourceSessions:
		return g.recipe.Reads.Sessions > 0
	case sourceSearch:
		return g.recipe.Reads.Hits > 0
	}
	return true
}

func (g *gathering) timed(source string, read func() error) error {
	began := time.Now()
	err := read()
	took := time.Since(began)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got.timings[source] = took
	return err
}

func (g *gathering) degrade(source, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got.degraded = append(g.got.degraded, recall.Degradation{Source: source, Reason: reason})
}

func (g *gathering) open(ctx context.Context) (err error) {
	if g.got.session, g.got.access, err = g.Store.Open(ctx, g.user, g.Context, g.SessionID); err != nil {
		return err
	}
	close(g.opened)
	return nil
}

// access waits for what open reads: the search needs it only when the embedding is there, so that it need not read
// the same again.
func (g *gathering) access(ctx context.Context) (longterm.Access, error) {
	select {
	case <-g.opened:
		return g.got.access, nil
	case <-ctx.Done():
		return longterm.Access{}, ctx.Err()
	}
}

// readTimeline reads the newest messages over all contexts, page by page until the recipe's history is full.
func (g *gathering) readTimeline(ctx context.Context) error {
	page := conversation.Page{Limit: g.recipe.Reads.Messages, Descending: true}
	chars := 0
	for range timelinePages {
		messages, next, err := g.Store.Timeline(ctx, g.user, conversation.Range{Unerased: true}, page)
		if err != nil {
			return err
		}
		g.got.timeline = append(g.got.timeline, pointers(messages)...)
		for _, m := range g.got.timeline[len(g.got.timeline)-len(messages):] {
			chars += utf8.RuneCountInString(m.Content)
		}
		if next == "" || len(messages) == 0 || chars >= g.recipe.Reads.Chars || g.tooOld(messages[len(messages)-1]) {
			break
		}
		page.After = next
	}
	slices.Reverse(g.got.timeline)
	return nil
}

// tooOld reports whether no recipe tells a message in full any more.
func (g *gathering) tooOld(m conversation.Message) bool {
	return g.now.Sub(m.Timestamp) > 48*time.Hour
}

func (g *gathering) readLongTerm(ctx context.Context) error {
	snapshot, err := g.Store.LongTerm(ctx, g.user)
	if err != nil {
		return err
	}
	g.got.snapshot = &snapshot
	return nil
}

func (g *gathering) readSessions(ctx context.Context) error {
	sessions, err := g.Store.RecentSessions(ctx, g.user, g.now.AddDate(-sessionYears, 0, 0), g.recipe.Reads.Sessions)
	if err != nil {
		return err
	}
	g.got.sessions = append(make([]conversation.Session, 0, len(sessions)), sessions...)
	return nil
}

func (g *gathering) search(ctx context.Context) error {
	found, err := g.Search.Search(ctx, g.user, recall.Search{
		Text: queryText(g.Message), RecordTypes: g.recipe.Reads.Records, Limit: g.recipe.Reads.Hits, Rerank: true,
		Context: g.Context, SessionID: g.SessionID, CoachID: g.CoachID, Access: g.access,
	})
	if err != nil {
		return err
	}
	g.got.hits = found.Hits
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got.degraded = append(g.got.degraded, found.Degraded...)
	maps.Copy(g.got.timings, found.Timings)
	if len(found.Degraded) == 0 {
		return nil
	}
	var missing missingError
	for _, d := range found.Degraded {
		missing = append(missing, d.Source)
	}
	return missing
}

// queryText is the part of a message that is searched for.
func queryText(message string) string {
	if len(message) <= queryBytes {
		return message
	}
	return truncate.Bytes(message, queryBytes/2) + "\n" + truncate.LastBytes(message, queryBytes/2)
}

// ownNeeded is how many of the session's own messages the recipe may tell.
func (g *gathering) ownNeeded() int {
	return g.recipe.strategy().Reach(g.agent) + 1 // the current message may be stored already
}

// needsTail reports whether the timeline lacks some of the session's last messages: they are older than what it
// brought, its index lags, or the session has not moved to the shared store yet.
func (g *gathering) needsTail() bool {
	s := g.got.session
	if s.LastSeq == 0 && s.Placement != conversation.Embedded {
		return false
	}
	if s.Placement == conversation.Embedded || s.Placement == conversation.Dual {
		return true
	}
	own := map[int]conversation.Role{}
	for _, m := range g.got.timeline {
		if m.SessionID == s.ID {
			own[m.Seq] = m.Role
		}
	}
	found := 0
	for seq := s.LastSeq; seq > 0 && found < g.ownNeeded(); seq-- {
		role, known := own[seq]
		if !known && !s.Deleted.Contains(seq) {
			return true
		}
		if tellable(role) {
			found++
		}
	}
	return false
}

func (g *gathering) readTail(ctx context.Context) error {
	messages, err := g.Store.Tail(ctx, g.user, g.got.session, g.ownNeeded())
	g.got.tail = pointers(messages)
	return err
}

// pointers lets long histories be passed on without copying their messages, which nothing changes.
func pointers(messages []conversation.Message) []*conversation.Message {
	if messages == nil {
		return nil
	}
	out := make([]*conversation.Message, len(messages))
	for i := range messages {
		out[i] = &messages[i]
	}
	return out
}
