package prompt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
)

const (
	// firstMessages is how many messages of one session are read where the timeline lacks some, moreMessages how many are
	// read at a time after that.
	firstMessages = 50
	moreMessages  = 200
	// maxWaves limits how often more of the history is read.
	maxWaves = 6
	// moreSessions is how many sessions a page after the first one has, one batch read with the generation.
	moreSessions = 99
	// maxSessions is the number of sessions after which no more are read.
	maxSessions = 300
	// parallelReads limits the reads at once.
	parallelReads = 8
)

// historyReader reads the history that the first reads lack.
type historyReader struct{ *gatherer }

// readHistory reads what the recipe's tiers need beside the newest messages and the latest sessions, and returns the
// selection of all. Mostly that is nothing. Each wave reads in parallel what the one before it has shown to be missing.
func (g historyReader) readHistory(ctx context.Context) (*selection, error) {
	for wave := 0; ; wave++ {
		sel := newSelection(g.checkedRequest, &g.got, g.now)
		reads := g.missing(sel, wave)
		if len(reads) == 0 {
			return sel, nil
		}
		if wave == maxWaves {
			g.got.warnings = append(g.got.warnings, fmt.Sprintf("not all messages of the thread and of today were read: "+
				"the read ended after %d pages", maxWaves))
			return sel, nil
		}
		err := g.readRequired(ctx, sourceHistory, func(ctx context.Context) error {
			work, workCtx := errgroup.WithContext(ctx)
			work.SetLimit(parallelReads)
			for _, read := range reads {
				work.Go(func() error { return read(workCtx) })
			}
			return work.Wait()
		})
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(g.got.timeline, func(a, b *conversation.Message) int {
			return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.ID, b.ID))
		})
		g.got.timeline = slices.CompactFunc(g.got.timeline, func(a, b *conversation.Message) bool { return a.ID == b.ID })
	}
}

// missing returns the reads of what the prompt should tell and was not read yet.
func (g historyReader) missing(sel *selection, wave int) (reads []func(context.Context) error) {
	clear(g.got.unread)
	tail := wave == 0 && g.needsTail()
	if tail {
		reads = append(reads, g.readTail)
	}
	h := sel.history
	if !g.recipe.has(blockNow) || h.fills(g.budget, g.recipe.capOf(blockThread)) {
		return reads
	}
	if g.needsSessions(sel) {
		reads = append(reads, g.readMoreSessions)
	}
	n := moreMessages
	if wave == 0 {
		n = firstMessages
	}
	since := h.since(g.recipe.has(blockThread))
	for i := range h.sessions {
		s := &h.sessions[i]
		own := i == 0
		switch {
		case own && tail:
		case h.lacksMessages(s, since, g.recipe.has(blockThread)):
			g.got.unread[s.ID] = fmt.Sprintf("the read ended after %d pages", maxWaves)
			reads = append(reads, g.readBefore(h, s, n))
		case g.recipe.has(blockThread) && !(own && g.recipe.has(blockLatest)) && hasSummary(*s) && h.lacksDay(s):
			reads = append(reads, g.readBefore(h, s, 1))
		}
	}
	return reads
}

// readBefore reads a session's last n messages before those that were read.
func (g historyReader) readBefore(h *history, s *conversation.Session, n int) func(context.Context) error {
	var before conversation.Message
	if all := h.sittings[s.ID]; len(all) > 0 && len(all[0].messages) > 0 {
		before = *all[0].messages[0]
	} else if current, ok := g.got.storedMessage(g.MessageID); ok && s == h.own() {
		before = *current
	}
	session := *s
	return func(ctx context.Context) error {
		messages, err := g.Store.MessagesBefore(ctx, g.user, session, before, n)
		g.addMessages(messages)
		if err == nil && len(messages) == 0 {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.got.exhausted[session.ID] = true
		}
		return err
	}
}

func (g *gatherer) addMessages(messages []conversation.Message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got.timeline = append(g.got.timeline, pointers(messages)...)
}

// readSessions reads the latest sessions with the coach. Those of contexts that the user does not share are left out
// before their records are read.
func (g *gatherer) readSessions(ctx context.Context) error {
	of, err := g.coachSessions(ctx)
	if err != nil {
		return err
	}
	page := conversation.Page{Limit: g.recipe.Reads.Sessions}
	sessions, next, err := g.Store.CoachSessions(ctx, g.user, of, page)
	if err != nil {
		return err
	}
	g.got.sessions = make([]conversation.Session, 0, len(sessions)) // not nil, which means that the list is missing
	g.got.addSessions(sessions, next)
	return nil
}

// coachSessions asks for the sessions that the prompt may tell of.
func (g *gatherer) coachSessions(ctx context.Context) (conversation.CoachSessions, error) {
	coach := g.CoachID
	if coach == "" {
		if _, err := g.access(ctx); err != nil {
			return conversation.CoachSessions{}, err
		}
		coach = g.got.session.CoachID
	}
	return conversation.CoachSessions{
		CoachID: coach, Except: g.SessionID,
		Allows: func(ctx context.Context, context string) (bool, error) {
			access, err := g.access(ctx)
			return access.Preferences.Shares(context, g.Context), err
		},
	}, nil
}

func (g historyReader) readMoreSessions(ctx context.Context) error {
	of, err := g.coachSessions(ctx)
	if err != nil {
		return err
	}
	page := conversation.Page{Limit: moreSessions, After: g.got.moreSessions}
	sessions, next, err := g.Store.CoachSessions(ctx, g.user, of, page)
	if err != nil {
		g.got.moreSessions = ""
		g.addDegraded(sourceSessions, degradedReason(err))
		return nil
	}
	g.got.addSessions(sessions, next)
	return nil
}

// needsSessions reports whether the prompt may tell of sessions that come after those that were read: of the days of
// its tiers, or the latest one with a summary that recent_activity does not have.
func (g historyReader) needsSessions(sel *selection) bool {
	n := len(g.got.sessions)
	if g.got.moreSessions == "" || n == 0 {
		return false
	}
	if g.recipe.has(blockThread) && sel.history.dayTier(g.got.listedTo) != tierNone {
		return g.withinSessions(n)
	}
	isLatest := func(s conversation.Session) bool { return hasSummary(s) && !isActivity(sel, s) }
	// The sweep summarizes every session, so only the newest ones have no summary yet. One more page is enough.
	return g.recipe.has(blockLatest) && n <= g.recipe.Reads.Sessions && !slices.ContainsFunc(sel.sessions, isLatest)
}

// withinSessions reports whether more than n sessions may be read, and notes it if not.
func (g historyReader) withinSessions(n int) bool {
	if n < maxSessions {
		return true
	}
	note := fmt.Sprintf("only the latest %d sessions with this coach were read", n)
	if !slices.Contains(g.got.warnings, note) {
		g.got.warnings = append(g.got.warnings, note)
	}
	return false
}

// since is the time since which a prompt tells sittings in full: the beginning of the user's day or, if earlier, the
// time at which a sitting would still belong to the thread. Without transcripts only the latter counts.
func (h *history) since(transcripts bool) time.Time {
	since := h.thread.edge.Add(-ThreadGap)
	local := h.now.In(h.zone)
	if midnight := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, h.zone); transcripts &&
		midnight.Before(since) {
		return midnight
	}
	return since
}

// lacksMessages reports whether messages of a session were not read that the prompt should tell.
func (h *history) lacksMessages(s *conversation.Session, since time.Time, transcripts bool) bool {
	all := h.sittings[s.ID]
	if !h.isUnread(s, all) {
		return false
	}
	first := len(all) > 0 && all[0].partial && all[0].tier.isFull()
	own := s == h.own() && len(all) == 1 && len(all[0].messages) == 0
	return transcripts && (first || own) || !h.newestUnread(s, all).Before(since)
}

// lacksDay reports whether the day of a session's newest sitting that is not told in full is unknown.
func (h *history) lacksDay(s *conversation.Session) bool {
	all := h.sittings[s.ID]
	return len(all) > 0 && len(all[0].messages) > 0 && all[0].tier.isFull() && h.isUnread(s, all)
}

// fills reports whether what is told in full takes the whole budget, so that nothing before it can be told.
func (h *history) fills(budget cost, limit Cap) bool {
	var total cost
	for _, s := range h.all() {
		if !s.tier.isFull() {
			continue
		}
		for _, m := range s.messages {
			if !isConversational(m.Role) {
				continue
			}
			if total = total.add(cappedCost(m, limit, budget.chars > 0)); !total.within(budget) {
				return true
			}
		}
	}
	return false
}

// cappedCost is about what a message takes of a budget. Characters are counted if the budget or the limit has some.
func cappedCost(m *conversation.Message, limit Cap, countsChars bool) cost {
	c := cost{tokens: m.Tokens}
	if countsChars || limit.Chars > 0 {
		c.chars = utf8.RuneCountInString(m.Content)
	}
	if limit.Chars > 0 && c.chars > limit.Chars {
		c.tokens, c.chars = c.tokens*limit.Chars/c.chars, limit.Chars
	}
	return c
}
