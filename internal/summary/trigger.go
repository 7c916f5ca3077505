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

// Consume summarises the sessions for which a batch of changes triggers a summary: sessions that were completed or
// left, that have many messages since the last summary, or that the user moved away from. It returns the number of
// changes, from the first, that need not be delivered again.
func (s *Service) Consume(ctx context.Context, changes []conversation.Change) (done int, err error) {
	targets, first, err := s.targets(ctx, changes)
	if err != nil {
		return 0, err
	}
	failures := make([]error, len(targets))
	parallel.Each(len(targets), atOnce, func(i int) { failures[i] = s.summarizeNow(ctx, targets[i]) })
	done = len(changes)
	for i, failure := range failures {
		if failure != nil {
			// The same move has to be noticed when the change is delivered again.
			s.lastSessions.delete(targets[i].user)
			if first[i] < done {
				done, err = first[i], failure
			}
		}
	}
	return done, err
}

// targets collects the sessions to summarise, each once. first has the place of the first change that triggers each.
func (s *Service) targets(
	ctx context.Context, changes []conversation.Change,
) (targets []target, first []int, err error) {
	seen := map[target]bool{}
	add := func(t target, place int) {
		if !seen[t] {
			seen[t] = true
			targets, first = append(targets, t), append(first, place)
		}
	}
	appends := lastAppends(changes)
	for i, c := range changes {
		if c.After != nil && s.triggers(c) {
			add(targetOf(c.User, *c.After), i)
		}
		if last, ok := appends[c.User]; !ok || last != i || !s.lastSessions.moved(c.User, c.After.ID, s.Now()) {
			continue
		}
		left, found, err := s.leftBehind(ctx, c)
		if err != nil {
			s.lastSessions.delete(c.User)
			return nil, nil, err
		}
		if found {
			add(left, i)
		}
	}
	return targets, first, nil
}

func targetOf(user conversation.UserID, s conversation.Session) target {
	return target{user: user, context: s.Context, id: s.ID}
}

// triggers reports whether a change triggers a summary of its own session.
func (s *Service) triggers(c conversation.Change) bool {
	after := *c.After
	if !stale(after) {
		return false
	}
	before := conversation.Session{}
	if c.Before != nil {
		before = *c.Before
	}
	completed := after.Status == conversation.Completed && before.Status != conversation.Completed
	left := !after.LeftAt.IsZero() && !after.LeftAt.Equal(before.LeftAt)
	return completed || left || isAppend(c) && after.LastSeq-covered(after) >= s.EveryMessages
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
func (s *Service) summarizeNow(ctx context.Context, t target) error {
	session, err := s.Store.SessionIn(ctx, t.user, t.context, t.id)
	if err == nil && stale(session) {
		_, err = s.Summarize(ctx, t.user, session)
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
