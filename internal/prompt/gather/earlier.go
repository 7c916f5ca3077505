package gather

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/prompt/history"
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

// readHistory reads what the tiers need beside the newest messages and the latest sessions. Mostly that is nothing.
// Each wave reads in parallel what the one before it has shown to be missing.
func (r *reader) readHistory(ctx context.Context) (*Sources, error) {
	for wave := 0; ; wave++ {
		src := newSources(&r.Plan, &r.got)
		reads := r.missing(src, wave)
		if len(reads) == 0 {
			return src, nil
		}
		if wave == maxWaves {
			r.got.warnings = append(r.got.warnings, fmt.Sprintf("not all messages of the thread and of today were read: "+
				"the read ended after %d pages", maxWaves))
			return src, nil
		}
		err := r.readRequired(ctx, sourceHistory, func(ctx context.Context) error {
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
		slices.SortStableFunc(r.got.timeline, func(a, b *conversation.Message) int {
			return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.ID, b.ID))
		})
		r.got.timeline = slices.CompactFunc(r.got.timeline, func(a, b *conversation.Message) bool { return a.ID == b.ID })
	}
}

// missing returns the reads of what the prompt should have and was not read yet.
func (r *reader) missing(src *Sources, wave int) (reads []func(context.Context) error) {
	clear(r.got.unread)
	tail := wave == 0 && r.needsTail()
	if tail {
		reads = append(reads, r.readTail)
	}
	if wave == 0 {
		reads = append(reads, referencedReads(r, src)...)
	}
	h := src.History
	if !r.Thread || r.isFilled(h, history.TodayTier) {
		return reads
	}
	if r.needsSessions(src) {
		reads = append(reads, r.readMoreSessions)
	}
	n := moreMessages
	if wave == 0 {
		n = firstMessages
	}
	since, full := h.Since(r.Transcripts), r.isFilled(h, history.StaleTier)
	for i := range h.Sessions {
		s := &h.Sessions[i]
		own := i == 0
		switch {
		case own && (tail || full):
		case h.LacksMessages(s, since, r.Transcripts):
			r.got.unread[s.ID] = fmt.Sprintf("the read ended after %d pages", maxWaves)
			reads = append(reads, r.readBefore(h, s, n))
		case r.Transcripts && !(own && r.Latest) && HasSummary(s) && h.LacksDay(s):
			reads = append(reads, r.readBefore(h, s, 1))
		}
	}
	return reads
}

// readBefore reads a session's last n messages before those that were read.
func (r *reader) readBefore(h *history.History, s *conversation.Session, n int) func(context.Context) error {
	var before conversation.Message
	if all := h.SittingsOf(s.ID); len(all) > 0 && len(all[0].Messages) > 0 {
		before = *all[0].Messages[0]
	} else if current, ok := r.got.storedMessage(r.MessageID); ok && s == h.Own() {
		before = *current
	}
	session := *s
	return func(ctx context.Context) error {
		messages, err := r.Store.MessagesBefore(ctx, r.User, session, before, n)
		r.addMessages(messages)
		if err == nil && len(messages) == 0 {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.got.exhausted[session.ID] = true
		}
		return err
	}
}

func (r *reader) addMessages(messages []conversation.Message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got.timeline = append(r.got.timeline, pointers(messages)...)
}

// readSessions reads the latest sessions with the coach. Those of contexts that the user does not share are left out
// before their records are read.
func (r *reader) readSessions(ctx context.Context) error {
	return r.readSessionPage(ctx, conversation.Page{Limit: r.Sessions})
}

// readSessionPage reads a page of the sessions that the prompt may use.
func (r *reader) readSessionPage(ctx context.Context, page conversation.Page) error {
	coach := r.CoachID
	if coach == "" {
		if _, err := r.access(ctx); err != nil {
			return err
		}
		coach = r.got.session.CoachID
	}
	sessions, next, err := r.Store.CoachSessions(ctx, r.User, conversation.CoachSessions{
		CoachID: coach, Except: r.SessionID,
		Allows: func(ctx context.Context, context string) (bool, error) {
			access, err := r.access(ctx)
			allows := access.Preferences.Shares(context, r.Context)
			if err == nil && !allows {
				r.got.withheldSessions++ // one page is read at a time, and each session asked for once
			}
			return allows, err
		},
	}, page)
	if err != nil {
		return err
	}
	r.got.addSessions(sessions, next)
	return nil
}

func (r *reader) readMoreSessions(ctx context.Context) error {
	if err := r.readSessionPage(ctx, conversation.Page{Limit: moreSessions, After: r.got.moreSessions}); err != nil {
		r.got.moreSessions = ""
		r.addDegraded(sourceSessions, degradedReason(err))
	}
	return nil
}

// needsSessions reports whether the prompt may use sessions that come after those that were read: of the days of its
// tiers, or the latest one with a summary that is no recent activity.
func (r *reader) needsSessions(src *Sources) bool {
	n := len(r.got.sessions)
	if r.got.moreSessions == "" || n == 0 {
		return false
	}
	if r.Transcripts && src.History.DayTier(r.got.listedTo) != history.NoTier {
		return r.got.withinSessions(n)
	}
	isLatest := func(s conversation.Session) bool {
		return HasSummary(&s) && !(r.Activity && src.IsActivity(&s))
	}
	// The sweep summarizes every session, so only the newest ones have no summary yet. One more page is enough.
	return r.Latest && n <= r.Sessions && !slices.ContainsFunc(src.Sessions, isLatest)
}

// withinSessions reports whether more than n sessions may be read, and notes it if not.
func (got *read) withinSessions(n int) bool {
	if n < maxSessions {
		return true
	}
	note := fmt.Sprintf("only the latest %d sessions with this coach were read", n)
	if !slices.Contains(got.warnings, note) {
		got.warnings = append(got.warnings, note)
	}
	return false
}

// isFilled reports whether what the prompt has in full, through a tier, takes the whole budget, so that nothing
// before it has room.
func (p *Plan) isFilled(h *history.History, through history.Tier) bool {
	// A text has no more characters than bytes. Where the bytes fit, nothing is counted.
	bytes := func(text string) int { return len(text) }
	if p.MaxChars > 0 && p.MessageChars == 0 && !p.fills(h, through, bytes) {
		return false
	}
	return p.fills(h, through, utf8.RuneCountInString)
}

func (p *Plan) fills(h *history.History, through history.Tier, length func(string) int) bool {
	tokens, chars := 0, 0
	for _, s := range h.Sittings() {
		if s.Tier > through {
			continue
		}
		for _, m := range s.Messages {
			if !IsConversational(m.Role) {
				continue
			}
			t, c := p.sizeOf(m, length)
			tokens, chars = tokens+t, chars+c
			if tokens > p.MaxTokens || p.MaxChars > 0 && chars > p.MaxChars {
				return true
			}
		}
	}
	return false
}

// sizeOf is about what a message takes of a budget. Characters are counted if the budget has a limit of them, or if the
// message may be longer than its own limit.
func (p *Plan) sizeOf(m *conversation.Message, length func(string) int) (tokens, chars int) {
	tokens = m.Tokens
	isLong := p.MessageChars > 0 && len(m.Content) > p.MessageChars
	if p.MaxChars > 0 || isLong {
		chars = length(m.Content)
	}
	if isLong && chars > p.MessageChars {
		tokens, chars = tokens*p.MessageChars/chars, p.MessageChars
	}
	return tokens, chars
}
