package dynamo

import (
	"container/list"
	"context"
	"hash/maphash"
	"sync"

	"github.com/throughline/throughline/internal/conversation"
)

// sessionCache remembers sessions as this process last read or wrote them, and the generations of users. Every write
// checks what it takes from the cache, so a stale entry costs a call and nothing else.
type sessionCache struct {
	mu    sync.Mutex
	limit int
	byKey map[cacheKey]*list.Element
	order list.List // the front is the entry that was used last
}

// cacheKey names a session of a user, or with an empty session the user's generation.
type cacheKey struct {
	user    conversation.UserID
	session string
}

type cacheEntry struct {
	key        cacheKey
	session    conversation.Session
	generation int64
}

func newSessionCache(limit int) *sessionCache {
	return &sessionCache{limit: limit, byKey: make(map[cacheKey]*list.Element)}
}

func (c *sessionCache) session(user conversation.UserID, id string) (conversation.Session, bool) {
	e, ok := c.get(cacheKey{user, id})
	return e.session, ok
}

// saveSession remembers a session unless the cache has a later version of it. The summary is left out: writers do not
// need it, and it changes without the version.
func (c *sessionCache) saveSession(user conversation.UserID, s conversation.Session) {
	s.Summary = nil
	c.put(cacheEntry{key: cacheKey{user, s.ID}, session: s}, func(old cacheEntry) bool {
		o := old.session
		return o.Generation == s.Generation && o.CreatedAt.Equal(s.CreatedAt) && o.Version > s.Version
	})
}

func (c *sessionCache) removeSession(user conversation.UserID, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[cacheKey{user, id}]; ok {
		c.order.Remove(e)
		delete(c.byKey, cacheKey{user, id})
	}
}

// generation returns the user's generation. For a user that is not in the cache it returns 0, which is right for
// everybody who has never been erased.
func (c *sessionCache) generation(user conversation.UserID) int64 {
	e, _ := c.get(cacheKey{user: user})
	return e.generation
}

func (c *sessionCache) saveGeneration(user conversation.UserID, g int64) {
	c.put(cacheEntry{key: cacheKey{user: user}, generation: g}, func(old cacheEntry) bool { return old.generation > g })
}

func (c *sessionCache) get(k cacheKey) (cacheEntry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[k]
	if !ok {
		return cacheEntry{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(cacheEntry), true
}

// put stores an entry unless isLater says that the one in the cache is later.
func (c *sessionCache) put(entry cacheEntry, isLater func(old cacheEntry) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[entry.key]; ok {
		if !isLater(e.Value.(cacheEntry)) {
			e.Value = entry
		}
		c.order.MoveToFront(e)
		return
	}
	c.byKey[entry.key] = c.order.PushFront(entry)
	if c.order.Len() > c.limit {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		delete(c.byKey, oldest.Value.(cacheEntry).key)
	}
}

// sessionLocks lets one goroutine at a time append to a session. Without it, goroutines of one process lose most of
// their transactions to each other, and the slowest of twenty that append all the time pass OperationTimeout. A Lambda
// function handles one request at a time and never waits for it. Few sessions share a lock.
type sessionLocks [256]chan struct{}

var lockSeed = maphash.MakeSeed()

func newSessionLocks() (l sessionLocks) {
	for i := range l {
		l[i] = make(chan struct{}, 1)
	}
	return l
}

// lock waits until a session is free and returns the function that frees it, or the context's error when that ends
// first.
func (l *sessionLocks) lock(ctx context.Context, k cacheKey) (unlock func(), err error) {
	held := l[maphash.Comparable(lockSeed, k)%uint64(len(l))]
	select {
	case held <- struct{}{}:
		return func() { <-held }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
