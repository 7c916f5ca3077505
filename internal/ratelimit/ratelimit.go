// Package ratelimit bounds how much a user may ask for in a minute, so that one user cannot delay the others. What a
// request weighs is the caller's choice.
//
// Each instance of a function counts in its own memory. It adds a user's count to the user's record, which all
// instances share, only when that has grown by a twentieth of the limit. So an ordinary user causes no call, and a user
// at the limit one in every twentieth of it. An instance knows the others' counts when it adds its own. A user can pass
// the limit by what the instances have not added yet.
package ratelimit

import (
	"context"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Counter is the record of what users ask for.
type Counter interface {
	// CountRequests adds n to the user's count of the minute that begins then, and returns the new count.
	CountRequests(ctx context.Context, user conversation.UserID, minute time.Time, n int) (int, error)
}

// Config configures a Limiter. All fields are needed.
type Config struct {
	// PerMinute is the limit of each user's count. 0 means that there is none.
	PerMinute int
	Counter   Counter
	Now       func() time.Time
	// Report is called when the count of a user could not be added. The user is not limited by it.
	Report func(ctx context.Context, err error)
}

const (
	// window is how long counts last. Windows begin with the minutes of the clock, so that all instances agree.
	window = time.Minute
	// shares is the part of the limit that an instance adds at once.
	shares = 20
	// addTimeout is how long one request waits for the record.
	addTimeout = 300 * time.Millisecond
	// maxUsers bounds the users whose counts an instance has in memory. When there are more, it forgets all.
	maxUsers = 10_000
)

// Limiter counts what users ask for. It is safe for concurrent use.
type Limiter struct {
	Config
	mu    sync.Mutex
	begin time.Time
	users map[conversation.UserID]*count
}

// count is a user's count of the current window.
type count struct {
	// own is what this instance has not added to the record yet.
	own int
	// total is the record's count when this instance last added to it.
	total int
}

// New returns a limiter.
func New(c Config) *Limiter { return &Limiter{Config: c, users: map[conversation.UserID]*count{}} }

// Allow counts a request of that weight. Past the limit it returns a RateLimited error, whose RetryAfter is the rest of
// the window.
func (l *Limiter) Allow(ctx context.Context, user conversation.UserID, weight int) error {
	if l.PerMinute <= 0 {
		return nil
	}
	begin, add, over := l.count(user, weight)
	if add > 0 && !over {
		over = l.add(ctx, user, begin, add)
	}
	if !over {
		return nil
	}
	f := fault.New(fault.RateLimited, "this user asks for too much in a minute")
	f.RetryAfter = max(begin.Add(window).Sub(l.Now()), time.Second)
	return f
}

// count counts in memory. It returns when the window began, what is to be added to the record now, and whether the user
// is past the limit as far as this instance knows.
func (l *Limiter) count(user conversation.UserID, weight int) (begin time.Time, add int, over bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	begin = l.Now().UTC().Truncate(window)
	if !begin.Equal(l.begin) || len(l.users) >= maxUsers {
		clear(l.users)
		l.begin = begin
	}
	c := l.users[user]
	if c == nil {
		c = &count{}
		l.users[user] = c
	}
	if c.total+c.own >= l.PerMinute {
		return begin, 0, true
	}
	c.own += weight
	if c.own*shares >= l.PerMinute {
		add, c.own = c.own, 0
	}
	return begin, add, false
}

// add adds to the record, and reports whether the user is past the limit.
func (l *Limiter) add(ctx context.Context, user conversation.UserID, begin time.Time, n int) (over bool) {
	inTime, cancel := context.WithTimeout(ctx, addTimeout)
	defer cancel()
	total, err := l.Counter.CountRequests(inTime, user, begin, n)
	if err != nil {
		l.Report(ctx, err)
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.users[user]; c != nil && l.begin.Equal(begin) {
		c.total = max(c.total, total)
	}
	return total-n >= l.PerMinute
}
