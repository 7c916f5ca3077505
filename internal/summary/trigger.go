package summary

import (
	"context"
	"errors"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/parallel"
	"github.com/throughline/throughline/internal/sweep"
)

const (
	// atOnce is how many summaries one invocation writes in parallel.
	atOnce = 16
	// maxOfUser is how many sessions of one user a batch summarises. The sweep, which deals out among users, finds the
	// rest. So a user who ends many sessions at once delays the others of the batch by one model call at most.
	maxOfUser = atOnce
	// lookBack is how many of a user's newest messages are read at once to find the session that the user has left,
	// maxLookBacks how often. The sweep finds it where that is not enough.
	lookBack     = 50
	maxLookBacks = 4
)

// target is a session to summarise.
type target struct {
	user    conversation.UserID
	context string
	id      string
}

// job is a target with the reason for its summary, the message through which the summary has to reach, and the place of
// the first change that triggers it. The reason is empty where no summary is needed. extracts says that the session has
// to be read for memories.
type job struct {
	target
	reason   TriggerReason
	through  int
	first    int
	extracts bool
}

// Consume summarises the sessions for which a batch of changes triggers a summary: sessions that were completed or
// left, that have many messages since the last summary, or whose user has gone on in another one. Sessions that come to
// rest are also read for memories, and so are those that are overdue. Consume returns the number of changes, from the
// first, that need not be delivered again.
func (s *Service) Consume(ctx context.Context, changes []conversation.Change) (done int, err error) {
	jobs, err := s.jobs(ctx, changes)
	if err != nil {
		return 0, err
	}
	failures := make([]error, len(jobs))
	parallel.Each(len(jobs), atOnce, func(i int) { failures[i] = s.work(ctx, jobs[i]) })
	done = len(changes)
	for i, failure := range failures {
		if failure != nil && jobs[i].first < done {
			done, err = jobs[i].first, failure
		}
	}
	return done, err
}

// jobs collects the sessions to work on, each once.
func (s *Service) jobs(ctx context.Context, changes []conversation.Change) ([]job, error) {
	var jobs []job
	places, ofUser := map[target]int{}, map[conversation.UserID]int{}
	add := func(j job) {
		place, seen := places[j.target]
		if !seen && ofUser[j.user] == maxOfUser {
			return
		}
		if !seen {
			places[j.target] = len(jobs)
			ofUser[j.user]++
			jobs = append(jobs, j)
			return
		}
		known := &jobs[place]
		known.through, known.extracts = max(known.through, j.through), known.extracts || j.extracts
		if known.reason == "" || known.reason == AttributesChanged && j.reason != "" {
			known.reason = j.reason // which summarises messages, too
		}
	}
	for i, c := range changes {
		if c.After == nil {
			continue
		}
		if reason, extracts := s.triggers(c); reason != "" || extracts {
			add(job{target{c.User, c.After.Context, c.After.ID}, reason, c.After.LastSeq, i, extracts})
		}
		if !isAppend(c) || !arrives(c) {
			continue
		}
		left, found, err := s.leftBehind(ctx, c)
		if err != nil {
			return nil, err
		}
		if found {
			left.first = i
			add(left)
		}
	}
	return jobs, nil
}

// triggers returns why a change triggers a summary of its own session, and whether it triggers the extraction of
// memories.
func (s *Service) triggers(c conversation.Change) (reason TriggerReason, extracts bool) {
	reason = reasonOf(c, s.EveryMessages)
	isAtRest := reason == Completed || reason == Left
	extracts = c.After.NeedsExtraction() && (isAtRest || becomesOverdue(c, s.Memories))
	if !staleThrough(*c.After, c.After.LastSeq) {
		reason = ""
	}
	return reason, extracts
}

// becomesOverdue reports whether an append makes its session overdue for extraction, or brings another urgent message.
func becomesOverdue(c conversation.Change, memories Extractor) bool {
	if !isAppend(c) || !memories.IsOverdue(*c.After) {
		return false
	}
	return c.Before == nil || c.Before.UrgentSeq != c.After.UrgentSeq || !memories.IsOverdue(*c.Before)
}

// reasonOf returns the reason for a summary that a change gives, if any.
func reasonOf(c conversation.Change, everyMessages int) TriggerReason {
	after, before := *c.After, conversation.Session{}
	if c.Before != nil {
		before = *c.Before
	}
	switch {
	case after.Status == conversation.Completed && before.Status != conversation.Completed:
		return Completed
	case !after.LeftAt.IsZero() && !after.LeftAt.Equal(before.LeftAt):
		return Left
	case isAppend(c) && hasManyMessages(after, everyMessages):
		return MessageCount
	case after.Version != before.Version && IsOutdated(after):
		return AttributesChanged // without another version it may be a claim of the worker that summarises the session
	}
	return ""
}

// hasManyMessages reports whether there are enough messages since the last summary for the next one.
func hasManyMessages(session conversation.Session, everyMessages int) bool {
	return session.LastSeq-covered(session).Seq >= everyMessages
}

// isAppend reports whether a change added messages to its session.
func isAppend(c conversation.Change) bool {
	return c.After != nil && c.After.LastSeq > 0 && (c.Before == nil || c.After.LastSeq > c.Before.LastSeq)
}

// arrives reports whether an append may have brought the user from another session. A session that the user has left
// has a summary of all its messages, because the append in the other session triggers it. So while a session has
// messages without a summary, its user is still there, and nothing has to be read.
func arrives(c conversation.Change) bool {
	return c.Before == nil || covered(*c.Before).Seq >= c.Before.LastSeq
}

// leftBehind finds the session from which an append has brought the user: that of the newest message since the append
// before it. It reads messages and not the list of sessions, which also has sessions that the user never wrote in.
func (s *Service) leftBehind(ctx context.Context, c conversation.Change) (left job, found bool, err error) {
	r := conversation.Range{To: c.After.LastMessageAt, Unerased: true}
	if c.Before != nil {
		r.From = c.Before.LastMessageAt
	}
	page := conversation.Page{Limit: lookBack, Descending: true}
	for range maxLookBacks {
		messages, next, err := s.Store.Timeline(ctx, c.User, r, page)
		if err != nil {
			return job{}, false, err
		}
		for _, m := range messages {
			if m.SessionID != c.After.ID {
				t := target{c.User, m.Context, m.SessionID}
				return job{target: t, reason: NavigatedAway, through: m.Seq, extracts: true}, true, nil
			}
		}
		if page.After = next; next == "" {
			break
		}
	}
	return job{}, false, nil
}

// claimAttempts is how often a session is read and claimed that other workers claim and give back meanwhile.
const claimAttempts = 3

// work reads a session, claims it, and summarises it, unless its summary reaches as far as the change that triggers it.
// A change that is delivered again later finds that summary. It ignores a session that is gone, and one that another
// worker summarises. A session that is only read for memories is not claimed: its user has a lease.
func (s *Service) work(ctx context.Context, j job) error {
	if j.reason == "" {
		_, _ = s.extract(ctx, j.target)
		return nil
	}
	for range claimAttempts {
		session, err := s.Store.SessionIn(ctx, j.user, j.context, j.id)
		if err != nil {
			return fault.IgnoreNotFound(err)
		}
		if !staleThrough(session, j.through) || isClaimed(session, j.reason, s.Now()) {
			if j.extracts && session.NeedsExtraction() {
				_, _ = s.extract(ctx, j.target)
			}
			return nil
		}
		c, ok, err := s.Store.ClaimSession(ctx, j.user, session, s.Now().Add(sweep.ClaimTime))
		if err != nil {
			return err
		}
		if ok {
			return s.summarizeClaimed(ctx, c, session, j)
		}
	}
	return fault.New(fault.Conflict, "other workers claim the session")
}

// extract reads the next messages of a session for memories, and returns how far it is read. What is left, and a
// failure, which is reported, is the sweep's.
func (s *Service) extract(ctx context.Context, of target) (conversation.Watermark, error) {
	through, err := s.Memories.ExtractNext(ctx, of.user, of.context, of.id)
	if err == nil && through.Seq > 0 {
		sweep.Note(ctx, sweep.Extracting, nil)
	}
	if err = fault.IgnoreNotFound(err); err != nil {
		s.Report(ctx, "extract memories", err)
	}
	return through, err
}

// summarizeClaimed summarises a session in one step, and then reads it for memories where the job asks for it, or
// leaves that to the next sweep. What is left is the sweep's, so that no session delays the others of its batch by more
// than a call of each kind. When the model fails, a fallback summary is stored, the failure is reported, and the sweep
// tries again. A failure of the index is reported and left to the sweep, too.
func (s *Service) summarizeClaimed(ctx context.Context, c sweep.Claim, session conversation.Session, j job) error {
	after, err := s.advance(ctx, c.User, session, task{reason: j.reason}, 1)
	o, again := outcome{before: session, after: after, failure: err, extracted: j.extracts}, s.Idle
	switch reads := j.extracts && after.NeedsExtraction() && (err == nil || isIndexError(err)); {
	case reads && s.Defers && !s.Memories.IsOverdue(after):
		o.extracted, again = false, 0
	case reads:
		through, failure := s.extract(ctx, j.target)
		if through.Seq > after.Extracted.Seq {
			o.after.Extracted = through
		}
		o.waits = failure == nil && isSummarized(after)
	}
	endErr := s.end(ctx, c, o, again)
	if isIndexError(err) {
		s.Report(ctx, "index summary", err)
		err = nil
	}
	return fault.IgnoreNotFound(errors.Join(err, endErr))
}
