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
	// atOnce bounds the summaries that one invocation writes at once.
	atOnce = 8
	// lookBack is how many of a user's other sessions are looked at when the user moves on.
	lookBack = 10
	// remembered bounds the users whose last session a warm function knows.
	remembered = 10_000
	// believed is how long a warm function believes that the user is where it saw them: their records may come to
	// another instance in between.
	believed = 2 * time.Minute
)

// target is a session to summarise and the place of the change that asked for it.
type target struct {
	user    conversation.UserID
	context string
	id      string
}

// Consume summarises the sessions that a batch of changes asks for (design 4.2): completed, left, many messages
// since the last summary, and any that the user moved away from. It returns how many changes, from the first, need
// not come again.
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
			s.seen.forget(targets[i].user) // so that the same move is seen again when its change comes again
			if first[i] < done {
				done, err = first[i], failure
			}
		}
	}
	return done, err
}

// targets collects the sessions that changes ask for, each once, with the place of the change that asked first.
func (s *Service) targets(ctx context.Context, changes []conversation.Change) (targets []target, first []int, err error) {
	known := map[target]bool{}
	add := func(t target, place int) {
		if !known[t] {
			known[t] = true
			targets, first = append(targets, t), append(first, place)
		}
	}
	whereabouts := lastGains(changes)
	for i, c := range changes {
		if c.After != nil && s.due(c) {
			add(targetOf(c.User, *c.After), i)
		}
		if last, ok := whereabouts[c.User]; !ok || last != i || !s.seen.moved(c.User, c.After.ID, s.Now()) {
			continue
		}
		left, err := s.leftBehind(ctx, c)
		if err != nil {
			s.seen.forget(c.User)
			return nil, nil, err
		}
		for _, session := range left {
			add(targetOf(c.User, session), i)
		}
	}
	return targets, first, nil
}

func targetOf(user conversation.UserID, s conversation.Session) target {
	return target{user: user, context: s.Context, id: s.ID}
}

// due reports whether a change asks for a summary of its own session.
func (s *Service) due(c conversation.Change) bool {
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
	return completed || left || gained(c) && after.LastSeq-covered(after) >= s.EveryMessages
}

// lastGains finds each user's last change that brought messages: the session in which the user is now.
func lastGains(changes []conversation.Change) map[conversation.UserID]int {
	places := map[conversation.UserID]int{}
	for i, c := range changes {
		if gained(c) {
			places[c.User] = i
		}
	}
	return places
}

// gained reports whether a change brought messages.
func gained(c conversation.Change) bool {
	return c.After != nil && c.After.LastSeq > 0 && (c.Before == nil || c.After.LastSeq > c.Before.LastSeq)
}

// leftBehind finds the sessions that a user moved away from with messages that no summary has.
func (s *Service) leftBehind(ctx context.Context, c conversation.Change) ([]conversation.Session, error) {
	recent, err := s.Store.RecentSessions(ctx, c.User, time.Time{}, lookBack)
	if err != nil {
		return nil, err
	}
	var left []conversation.Session
	for _, session := range recent {
		if session.ID != c.After.ID && stale(session) {
			left = append(left, session)
		}
	}
	return left, nil
}

// summarizeNow reads the session as it stands and summarises what of it is not covered. A session that is gone needs
// no summary.
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

// lastSeen knows which session each user was last in, as far as this warm function has seen: the records of one user
// come through one shard, in order. What it does not know, the table does.
type lastSeen struct {
	mu    sync.Mutex
	users map[conversation.UserID]sighting
}

type sighting struct {
	session string
	// until is when the table has to be asked again.
	until time.Time
}

func newLastSeen() *lastSeen { return &lastSeen{users: map[conversation.UserID]sighting{}} }

// moved notes where the user is, and reports whether that is another session than before, or not known to be the same.
func (l *lastSeen) moved(user conversation.UserID, session string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.users[user]; last.session == session && now.Before(last.until) {
		return false
	}
	if len(l.users) >= remembered {
		clear(l.users)
	}
	l.users[user] = sighting{session, now.Add(believed)}
	return true
}

func (l *lastSeen) forget(user conversation.UserID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.users, user)
}
