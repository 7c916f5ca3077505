package dynamo

import (
	"cmp"
	"io"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// DB is one table, which all stores share. It is safe for concurrent use.
type DB struct {
	*table.Table
	// idle is after what time a session falls due, spineWait after what time a spine.
	idle, spineWait time.Duration
	// summaryEvery is after how many messages a session asks for a summary.
	summaryEvery int
	// dailyTokens is how many tokens a user may spend in a day, 0 for any number.
	dailyTokens int
	// answersAtOnce is how many answers of a user may be generated at once, 0 for any number, and longestAnswer how long
	// one takes at most.
	answersAtOnce int
	longestAnswer time.Duration

	// adoption serves the sessions of an app's own records. It is nil in a table without such.
	adoption Adoption

	cache *sessionCache
	locks sessionLocks // of the sessions that are being appended to
}

// Option changes how a DB works.
type Option func(*DB)

// WithClock sets the clock for times and expiry. The default is time.Now.
func WithClock(now func() time.Time) Option { return func(db *DB) { db.Table.Now = now } }

// WithRandom sets the source of ids and jitter, which has to be safe for concurrent use. The default is crypto/rand.
func WithRandom(r io.Reader) Option { return func(db *DB) { db.Table.Random = r } }

// WithWaits sets how long after its first message without a summary a session falls due for the sweep, and how long
// after a summary that it does not have a spine does. The defaults, also in place of 0, are 15 minutes and 18 hours, in
// which the sessions of a day come to rest.
func WithWaits(idle, spine time.Duration) Option {
	return func(db *DB) { db.idle, db.spineWait = cmp.Or(idle, db.idle), cmp.Or(spine, db.spineWait) }
}

// WithSummaryEvery sets after how many messages since its summary a session asks for another one. The default is 20.
func WithSummaryEvery(n int) Option { return func(db *DB) { db.summaryEvery = max(1, n) } }

// Adopt sets what serves the sessions of an app's own records. It has to be called before the DB is used.
func (db *DB) Adopt(a Adoption) { db.adoption = a }

// Adoption returns what serves the sessions of an app's own records, or nil.
func (db *DB) Adoption() Adoption { return db.adoption }

// ForgetSession removes a session that somebody has changed from the cache.
func (db *DB) ForgetSession(user conversation.UserID, id string) { db.cache.removeSession(user, id) }

const (
	defaultIdle         = 15 * time.Minute
	defaultSpineWait    = 18 * time.Hour
	defaultSummaryEvery = 20
	cachedSessions      = 500
)

// New returns a DB on a table made from CreateTableInput, or on an app's own table with the same keys and indexes.
func New(client table.API, name string, options ...Option) *DB {
	db := &DB{
		Table: table.NewTable(client, name), idle: defaultIdle, spineWait: defaultSpineWait,
		summaryEvery: defaultSummaryEvery, cache: newSessionCache(cachedSessions), locks: newSessionLocks(),
	}
	for _, o := range options {
		o(db)
	}
	return db
}
