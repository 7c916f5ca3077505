package summary

import (
	"context"
	"errors"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/sweep"
)

const (
	// stepReserve is the time before a deadline in which a backlog's next summary is left to the sweep.
	stepReserve = 25*time.Second + llm.Patience
	// revisitAfter is when the sweep visits a session that changed during a visit, or that an event has left to it.
	revisitAfter = time.Minute
	// leaseWait is when a session is due again that another session of its user keeps from being read for memories.
	leaseWait = 5 * time.Second
	// quotaSpread is the time after the reset of the quotas in which the sessions that waited for it are due, so that not
	// all of them are due together.
	quotaSpread = 15 * time.Minute
	// clockSkew is by how much the clocks of two instances may differ.
	clockSkew = 30 * time.Second
)

var _ sweep.Visitor = (*Service)(nil)

// Visit summarises a due session that is idle, does what a lost trigger left undone, indexes what is not indexed, and
// reads what is not read for memories. A session in which everything is covered leaves the due index.
func (s *Service) Visit(ctx context.Context, c sweep.Claim) (sweep.Outcome, error) {
	session, err := s.Store.SessionDue(ctx, c.Due)
	if fault.Is(err, fault.NotFound) {
		return sweep.Removed, nil
	}
	if err != nil {
		return sweep.Kept, err
	}
	if quiet := s.quietAt(session); quiet.After(s.Now()) {
		if s.Memories.IsOverdue(session) {
			_, err = s.Memories.Extract(ctx, c.User, session.Context, session.ID)
			sweep.Note(ctx, sweep.Extracting, err)
		}
		return sweep.Again(quiet), fault.IgnoreNotFound(err)
	}
	after, err := s.cover(ctx, c.User, session)
	if fault.Is(err, fault.NotFound) {
		return sweep.Removed, nil
	}
	o := outcome{before: session, after: after, failure: err, extracted: true}
	return sweep.Kept, errors.Join(err, s.end(ctx, c, o, revisitAfter))
}

// outcome is what the work on a claimed session came to. extracted says that the session was to be read for memories,
// and waits that only this is left, and that another worker may just be reading for the user.
type outcome struct {
	before, after conversation.Session
	failure       error
	extracted     bool
	waits         bool
}

// isStuck reports whether something is left of which nothing was done, so that another visit at once would do no more.
func (o outcome) isStuck() bool {
	summarized, read := progressed(o.before, o.after), o.after.Extracted.Seq > o.before.Extracted.Seq
	return !summarized && (!upToDate(o.after) || !read) || o.extracted && o.after.NeedsExtraction() && !read
}

// isEnough reports whether nothing that was to be done is left.
func (o outcome) isEnough() bool {
	return o.failure == nil && isSummarized(o.after) && (!o.extracted || !o.after.NeedsExtraction())
}

// end ends the work on a claimed session. A session in which everything is covered leaves the due index. If it changed
// in the meantime it is due again after that time, if a backlog is left at once, and after a failure later each time,
// unless the failure is that of a service. A session whose user has no tokens left is due when there are new ones.
func (s *Service) end(ctx context.Context, c sweep.Claim, o outcome, again time.Duration) error {
	if o.failure == nil && IsDone(o.after) { // the messages may have been indexed meanwhile: the store compares
		if settled, err := s.Store.Settle(ctx, c.User, o.after); settled || err != nil {
			return err
		}
	}
	succeeded, at := true, s.Now()
	switch {
	case o.isEnough():
		at = at.Add(again)
	case o.waits:
		at = at.Add(leaseWait)
	case o.failure != nil || o.isStuck():
		if reset := s.quotaReset(ctx, c.User, o.failure); !reset.IsZero() {
			at = reset.Add(time.Duration(s.Random() * float64(quotaSpread)))
			break
		}
		failures := c.Failures
		if !sweep.IsOfRecord(o.failure) || s.IsFailing != nil && s.IsFailing() {
			failures = 1
		}
		succeeded, at = false, at.Add(sweep.Wait(s.Idle, failures, s.Random()))
	}
	return s.Store.EndClaim(ctx, c, o.after, at, succeeded)
}

// quotaReset is when the user has tokens again, if the want of them is what kept a visit from a summary. It is the zero
// time otherwise.
func (s *Service) quotaReset(ctx context.Context, user conversation.UserID, failure error) time.Time {
	if failure != nil || !s.Background {
		return time.Time{}
	}
	reset, err := s.Quota.Reset(ctx, user)
	if err != nil {
		s.Report(ctx, "read quota", err)
		return time.Time{}
	}
	return reset
}

// quietAt is the time from which a session may be summarised: when it has been quiet for Idle, or at once when a
// trigger was lost, and where the stream has summarised it and left the rest to the sweep.
func (s *Service) quietAt(session conversation.Session) time.Time {
	if s.missedTrigger(session) != Idle || s.Defers && upToDate(session) {
		return time.Time{}
	}
	return session.LastMessageAt.Add(s.Idle)
}

// missedTrigger is the reason for a summary that the sweep writes.
func (s *Service) missedTrigger(session conversation.Session) TriggerReason {
	switch {
	case session.Status != conversation.Active:
		return Completed
	case !session.LeftAt.IsZero() && !session.LeftAt.Before(session.LastMessageAt):
		return Left
	case hasManyMessages(session, s.EveryMessages):
		return MessageCount
	case covered(session).Seq >= session.LastSeq && IsOutdated(session):
		return AttributesChanged
	}
	return Idle
}

// cover brings the session's summary, vectors and memories up to date, and returns the session as it is then. A summary
// that was stored before is indexed now if it is not yet: no model is asked for it again.
func (s *Service) cover(
	ctx context.Context, user conversation.UserID, session conversation.Session,
) (conversation.Session, error) {
	after, err := s.advance(ctx, user, session, task{reason: s.missedTrigger(session), patient: true}, maxSteps)
	if isIndexError(err) {
		sweep.Note(ctx, sweep.Indexing, err)
	}
	if err != nil {
		return after, err
	}
	if record, ok := Of(after); ok && !isSummaryIndexed(after) {
		err := s.Index.IndexSummary(ctx, user, record)
		if sweep.Note(ctx, sweep.Indexing, err); err != nil {
			return after, indexError{err}
		}
		indexed := *after.Summary
		indexed.Indexed = true
		after.Summary = &indexed
	}
	err = s.Messages.Repair(ctx, user, session)
	if err != nil || session.Indexed.Seq < session.LastSeq {
		sweep.Note(ctx, sweep.Indexing, err)
	}
	if err != nil {
		return after, err
	}
	after.Indexed.Seq = after.LastSeq // as far as is known here; Settle compares with the table
	if after.NeedsExtraction() {
		through, err := s.Memories.Extract(ctx, user, after.Context, after.ID)
		if err != nil || through.Seq > after.Extracted.Seq {
			sweep.Note(ctx, sweep.Extracting, err)
		}
		if err != nil {
			return after, err
		}
		after.Extracted = through
	}
	return after, nil
}

// isClaimed reports whether another worker has claimed the session as it is, so that its summary is being written. More
// messages since then are no reason to write another one at once: the session stays due.
// A claim that was extended after many failures protects its worker for as long as any other.
func isClaimed(session conversation.Session, reason TriggerReason, now time.Time) bool {
	lasts := session.DueAt.After(now) && now.Before(session.ClaimedAt.Add(sweep.ClaimTime+clockSkew))
	return session.ClaimedVersion != 0 && lasts &&
		(session.ClaimedVersion == session.Version || reason == MessageCount)
}
