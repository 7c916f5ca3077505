package summary

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/llm/metered"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/sweep"
)

// SpineStore is what the writing of spines reads and writes. A session summary of the model makes its coach's spine due
// in the transaction that stores it, and a deletion of what a spine may be drawn from clears the spine in its own.
type SpineStore interface {
	SpineReader
	SpineWriter
}

// SpineReader reads what a spine is written from.
type SpineReader interface {
	// SpineDue reads the spine of a due record, consistently. It is NotFound when the record is of no spine, or its user
	// is erased.
	SpineDue(ctx context.Context, d sweep.Due) (DueSpine, error)
	conversation.CoachReader
}

// SpineWriter stores spines.
type SpineWriter interface {
	// SaveSpine stores a spine. It is a Conflict unless the spine in the table still has the version of this one and the
	// user still allows memory, and NotFound when the user is of another generation.
	SaveSpine(ctx context.Context, user conversation.UserID, generation int64, s longterm.Spine) error
	// Postpone is the method of sweep.Store.
	Postpone(ctx context.Context, c sweep.Claim, at time.Time, succeeded bool) error
}

// DueSpine is a spine that is due, with what the user allows. Where there is no spine it has the coach's id alone.
type DueSpine struct {
	longterm.Spine
	longterm.Access
	// ReplacedAt is when the app last stored the user summary, and so replaced earlier remarks.
	ReplacedAt time.Time
}

// SpineDeps are the dependencies of Spines. All are needed.
type SpineDeps struct {
	Store  SpineStore
	Model  metered.Completer
	Quota  metered.Quota
	Tokens llm.Counter
	Now    func() time.Time
	// Random returns a number from 0 to below 1, for waits.
	Random func() float64
	// Report is called with failures that change nothing.
	Report func(ctx context.Context, op string, err error)
	// Written is called when a spine is stored, with the number of sessions that are new in it.
	Written func(ctx context.Context, sessions int)
	// Idle is how long a session has to be quiet before it enters the spine.
	Idle time.Duration
	// Background is false while all background model calls are stopped. Spines stay due meanwhile.
	Background bool
}

// Spines writes the spine of each user and coach, and with it the user summary. It is safe for concurrent use.
type Spines struct{ SpineDeps }

// NewSpines returns what writes spines.
func NewSpines(d SpineDeps) *Spines { return &Spines{d} }

var _ sweep.Visitor = (*Spines)(nil)

const (
	// spineSessions is how many sessions a spine is brought up to date with by one call of the model, and how many are
	// read at a time, maxSpinePages how often at most: the latest 10,000 sessions with a coach.
	spineSessions = 50
	maxSpinePages = 200
	// spineMargin is how old a session's summary has to be before a spine covers its time: an earlier summary may be
	// under way to the table, or to the index of sessions.
	spineMargin = time.Minute
)

// Visit brings a due spine up to date with the sessions that came to rest, by one model call for all of them.
func (s *Spines) Visit(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
	at := conversation.Milliseconds(s.Now())
	due, err := s.Store.SpineDue(ctx, c.Due)
	if fault.Is(err, fault.NotFound) {
		return sweep.Removed, nil
	}
	if err != nil {
		return sweep.Kept, err
	}
	if !due.Preferences.Memory || !due.Preferences.CrossContext {
		return sweep.Removed, nil
	}
	base := due.base(at)
	rested, next, err := s.rested(ctx, c.User, base)
	if err != nil {
		return sweep.Kept, err
	}
	if len(rested) > 0 {
		if outcome, ok, err := s.mayAsk(ctx, c); err != nil || !ok {
			return outcome, err
		}
		err := s.write(ctx, c.User, due, base, rested)
		switch {
		case fault.Is(err, fault.NotFound):
			return sweep.Removed, nil
		case fault.Is(err, fault.Conflict): // cleared or written meanwhile
			return sweep.Again(s.Now()), nil
		case err != nil:
			return sweep.Kept, err
		}
	}
	if next.IsZero() {
		return sweep.Removed, nil
	}
	return sweep.Again(next), nil
}

// base returns what the next spine goes on from, as read at a time. Where the user keeps other contexts apart than when
// the spine was written, it is written anew. Remarks that the app has replaced are left out.
func (d DueSpine) base(at time.Time) longterm.Spine {
	base := d.Spine
	var unshared []string
	for context, apart := range d.Preferences.Unshared {
		if apart {
			unshared = append(unshared, context)
		}
	}
	slices.Sort(unshared)
	if !slices.Equal(unshared, base.Unshared) {
		base = longterm.Spine{CoachID: base.CoachID, Unshared: unshared, Version: base.Version}
	}
	if !base.UpdatedAt.After(d.ReplacedAt) {
		base.Patterns, base.Wins, base.Struggles = nil, nil, nil
	}
	base.UpdatedAt = at
	return base
}

// rested returns the sessions that came to rest since the spine was written, by the time of their summaries, and at
// most spineSessions, unless more were summarized at one time. It stops at the first session that is not at rest,
// because the spine covers everything before a time. next is when there may be more, zero where there is nothing
// left.
func (s *Spines) rested(ctx context.Context, user conversation.UserID, base longterm.Spine,
) (rested []conversation.Session, next time.Time, err error) {
	sessions, err := s.newSessions(ctx, user, base)
	if err != nil {
		return nil, time.Time{}, err
	}
	slices.SortFunc(sessions, func(a, b conversation.Session) int {
		return cmp.Or(a.Summary.UpdatedAt.Compare(b.Summary.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	for i, x := range sessions {
		if at := s.restsAt(x); at.After(s.Now()) {
			sessions, next = sessions[:startOfTime(sessions, i)], at
			break
		}
	}
	if len(sessions) > spineSessions {
		if end := startOfTime(sessions, spineSessions); end > 0 { // unless all are of one time
			return sessions[:end], s.Now(), nil
		}
	}
	return sessions, next, nil
}

// startOfTime returns the place of the first of the sessions whose summaries are of the same time as that at a place. A
// spine covers all of them or none.
func startOfTime(sessions []conversation.Session, at int) int {
	for at > 0 && sessions[at-1].Summary.UpdatedAt.Equal(sessions[at].Summary.UpdatedAt) {
		at--
	}
	return at
}

// newSessions returns the sessions with a summary of the model that the spine does not have. It reads all pages.
// Sessions are listed by their activity, and an old one may be summarized late, as imported ones are, so that one which
// is new may come after any number of pages that are known. A session that is passed over would never be read again,
// once the spine covers a later time.
func (s *Spines) newSessions(ctx context.Context, user conversation.UserID, base longterm.Spine,
) (found []conversation.Session, err error) {
	isShared := func(_ context.Context, context string) (bool, error) {
		return !slices.Contains(base.Unshared, context), nil
	}
	of := conversation.CoachSessions{CoachID: base.CoachID, Allows: isShared}
	page := conversation.Page{Limit: spineSessions}
	for range maxSpinePages {
		sessions, next, err := s.Store.CoachSessions(ctx, user, of, page)
		if err != nil {
			return nil, err
		}
		isKnown := func(x conversation.Session) bool {
			return x.Summary == nil || hasFallback(x) || !x.Summary.UpdatedAt.After(base.CoveredTo)
		}
		found = append(found, slices.DeleteFunc(sessions, isKnown)...)
		if next == "" {
			break
		}
		page.After = next
	}
	return found, nil
}

// restsAt is when a session is at rest, if nothing happens to it until then: its summary agrees with it, and it is
// finished or has been quiet for Idle.
func (s *Spines) restsAt(session conversation.Session) time.Time {
	at := session.Summary.UpdatedAt.Add(min(spineMargin, s.Idle))
	if !upToDate(session) {
		return s.Now().Add(s.Idle)
	}
	if quiet := session.LastActiveAt().Add(s.Idle); session.Status == conversation.Active && quiet.After(at) {
		return quiet
	}
	return at
}

// mayAsk reports whether the model may be asked, and otherwise what becomes of the due spine.
func (s *Spines) mayAsk(ctx context.Context, c sweep.Claim) (o sweep.Outcome, ok bool, err error) {
	if !s.Background {
		at := s.Now().Add(sweep.Wait(s.Idle, c.Failures, s.Random()))
		return sweep.Kept, false, s.Store.Postpone(ctx, c, at, false)
	}
	reset, err := s.Quota.Reset(ctx, c.User)
	if err != nil || reset.IsZero() {
		return sweep.Kept, true, err
	}
	return sweep.Again(reset.Add(time.Duration(s.Random() * float64(quotaSpread)))), false, nil
}

// write asks the model for the next spine and stores it.
func (s *Spines) write(ctx context.Context, user conversation.UserID, due DueSpine, base longterm.Spine,
	rested []conversation.Session,
) error {
	next, err := s.complete(ctx, user, due, base, rested)
	if err != nil {
		return err
	}
	contexts := slices.Clone(base.Contexts)
	for _, x := range rested {
		contexts = append(contexts, x.Context)
	}
	slices.Sort(contexts)
	next.CoachID, next.Version, next.Unshared = base.CoachID, base.Version, base.Unshared
	next.Contexts = slices.Compact(contexts)
	next.CoveredTo, next.UpdatedAt = rested[len(rested)-1].Summary.UpdatedAt, base.UpdatedAt
	next.Tokens = s.Tokens.Count(next.Text)
	if err := s.Store.SaveSpine(ctx, user, due.Generation, next); err != nil {
		return err
	}
	s.Written(ctx, len(rested))
	return nil
}
