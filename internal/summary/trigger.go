package summary

import (
	"context"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/parallel"
)

const (
	// atOnce is how many summaries one invocation writes in parallel.
	atOnce = 8
	// lookBack is how many of a user's newest messages are read at once to find the session that the user moved away
	// from, maxLookBacks how often. The sweep finds it where that is not enough.
	lookBack     = 50
	maxLookBacks = 4
	// maxCachedUsers limits the users whose last session a warm function caches.
	maxCachedUsers = 10_000
	// cacheTime is how long an entry of that cache is used. In between, records of the user may go to another
	// instance.
	cacheTime = 2 * time.Minute
)

// target is a session to summarise.
type target struct {
	user    conversation.UserID
	context string
	id      string
}

// job is a target with the reason for its summary and the place of the first change that triggers it.
type job struct {
	target
	reason TriggerReason
	first  int
}

// Consume summarises the sessions for which a batch of changes triggers a summary: sessions that were completed or
// left, that have many messages since the last summary, or that the user moved away from. It returns the number of
// changes, from the first, that need not be delivered again.
func (s *Service) Consume(ctx context.Context, changes []conversation.Change) (done int, err error) {
	jobs, err := s.jobs(ctx, changes)
	if err != nil {
		return 0, err
	}
	failures := make([]error, len(jobs))
	parallel.Each(len(jobs), atOnce, func(i int) { failures[i] = s.summarizeNow(ctx, jobs[i]) })
	done = len(changes)
	for i, failure := range failures {
		if failure != nil {
			// The same move has to be noticed when the change is delivered again.
			s.lastSessions.delete(jobs[i].user)
			if jobs[i].first < done {
				done, err = jobs[i].first, failure
			}
		}
	}
	return done, err
}

// jobs collects the sessions to summarise, each once.
func (s *Service) jobs(ctx context.Context, changes []conversation.Change) ([]job, error) {
	var jobs []job
	places := map[target]int{}
	add := func(t target, reason TriggerReason, first int) {
		place, seen := places[t]
		switch {
		case !seen:
			places[t] = len(jobs)
			jobs = append(jobs, job{t, reason, first})
		case jobs[place].reason == AttributesChanged:
			jobs[place].reason = reason // which summarises messages, too
		}
	}
	appends := lastAppends(changes)
	for i, c := range changes {
		if c.After != nil {
			if reason, ok := s.triggers(c); ok {
				add(targetOf(c.User, *c.After), reason, i)
			}
		}
		if last, ok := appends[c.User]; !ok || last != i || !s.lastSessions.moved(c.User, c.After.ID, s.Now()) {
			continue
		}
		left, found, err := s.leftBehind(ctx, c)
		if err != nil {
			s.lastSessions.delete(c.User)
			return nil, err
		}
		if found {
			add(left, NavigatedAway, i)
		}
	}
	return jobs, nil
}

func targetOf(user conversation.UserID, s conversation.Session) target {
	return target{user: user, context: s.Context, id: s.ID}
}

// triggers reports whether a change triggers a summary of its own session, and why.
func (s *Service) triggers(c conversation.Change) (reason TriggerReason, ok bool) {
	after := *c.After
	if !stale(after) {
		return "", false
	}
	before := conversation.Session{}
	if c.Before != nil {
		before = *c.Before
	}
	switch {
	case after.Status == conversation.Completed && before.Status != conversation.Completed:
		return Completed, true
	case !after.LeftAt.IsZero() && !after.LeftAt.Equal(before.LeftAt):
		return Left, true
	case isAppend(c) && s.hasManyMessages(after):
		return MessageCount, true
	}
	return AttributesChanged, IsOutdated(after)
}

// hasManyMessages reports whether there are enough messages since the last summary for the next one.
func (s *Service) hasManyMessages(session conversation.Session) bool {
	return session.LastSeq-covered(session).Seq >= s.EveryMessages
}

// lastAppends finds each user's last change that added messages: its session is the one in which the user is now.
func lastAppends(changes []conversation.Change) map[conversation.UserID]int {
	places := map[conversation.UserID]int{}
	for i, c := range changes {
		if isAppend(c) {
			places[c.User] = i
		}
	}
	return places
}

// isAppend reports whether a change added messages to its session.
func isAppend(c conversation.Change) bool {
	return c.After != nil && c.After.LastSeq > 0 && (c.Before == nil || c.After.LastSeq > c.Before.LastSeq)
}

// leftBehind finds the session that a user moved away from: that of the newest message of another session than the one
// of the change. It reads messages and not the list of sessions, which also has sessions that the user never wrote in.
func (s *Service) leftBehind(ctx context.Context, c conversation.Change) (left target, found bool, err error) {
	page := conversation.Page{Limit: lookBack, Descending: true}
	for range maxLookBacks {
		messages, next, err := s.Store.Timeline(ctx, c.User, conversation.Range{Unerased: true}, page)
		if err != nil {
			return target{}, false, err
		}
		for _, m := range messages {
			if m.SessionID != c.After.ID {
				return target{user: c.User, context: m.Context, id: m.SessionID}, true, nil
			}
		}
		if page.After = next; next == "" {
			break
		}
	}
	return target{}, false, nil
}

// summarizeNow reads a session and summarises it if its summary is stale. It ignores a session that is gone.
func (s *Service) summarizeNow(ctx context.Context, j job) error {
	session, err := s.Store.SessionIn(ctx, j.user, j.context, j.id)
	if err == nil && stale(session) {
		_, err = s.Summarize(ctx, j.user, session, j.reason)
	}
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// sessionCache has the session in which each user was last, as far as this warm function has seen. On a miss the table
// is read.
type sessionCache struct {
	mu    sync.Mutex
	users map[conversation.UserID]lastSession
}

type lastSession struct {
	id      string
	expires time.Time
}

func newSessionCache() *sessionCache {
	return &sessionCache{users: map[conversation.UserID]lastSession{}}
}

// moved caches the user's session, and reports whether it is another one than before or the one before is not cached.
func (c *sessionCache) moved(user conversation.UserID, id string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.users[user]; last.id == id && now.Before(last.expires) {
		return false
	}
	if len(c.users) >= maxCachedUsers {
		clear(c.users)
	}
	c.users[user] = lastSession{id, now.Add(cacheTime)}
	return true
}

func (c *sessionCache) delete(user conversation.UserID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.users, user)
}
