package memory

import (
	"sync"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/truncate"
)

// What a warm function remembers between batches. Losing it costs quality or a repeated write, never correctness.
const (
	// tailBytes is how much of a message's end is cached. It is more than the index takes.
	tailBytes = 400
	// maxSessions limits each of the two halves of the tail cache, and the mark cache: a few megabytes.
	maxSessions = 10_000
)

type sessionKey struct {
	user conversation.UserID
	ref  SessionRef
}

// tailCache has the end of each session's last message, so that the next message can be indexed together with what it
// answers. On a miss nothing is read: the message is indexed without.
type tailCache struct {
	mu sync.Mutex
	// The cache drops the older half when the newer one is full.
	newer, older map[sessionKey]tail
}

type tail struct {
	seq  int
	text string
}

func newTailCache() *tailCache { return &tailCache{newer: map[sessionKey]tail{}} }

// before returns the end of the message before a run.
func (c *tailCache) before(r run) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.newer[r.sessionKey()]
	if !ok {
		last, ok = c.older[r.sessionKey()]
	}
	return last.text, ok && last.seq == r.messages[0].Seq-1
}

// add caches the end of a run unless a later one is cached. Stored system messages are not part of the conversation.
func (c *tailCache) add(r run) {
	last := r.messages[len(r.messages)-1]
	if last.Role == conversation.System {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := r.sessionKey()
	if c.newer[key].seq > last.Seq || c.older[key].seq > last.Seq {
		return
	}
	if len(c.newer) >= maxSessions {
		c.older, c.newer = c.newer, map[sessionKey]tail{}
	}
	c.newer[key] = tail{last.Seq, truncate.LastBytes(last.Content, tailBytes)}
}

// markCache has the messages that are indexed but not covered by the watermark yet. A question is marked together with
// its answer, which arrives a moment later: this saves one write a turn. When an entry is lost, the session stays below
// the watermark and is indexed once more, by the next message or the sweep.
type markCache struct {
	mu      sync.Mutex
	pending map[sessionKey]span
}

// span is a range of seqs, both ends included.
type span struct{ from, through int }

func newMarkCache() *markCache { return &markCache{pending: map[sessionKey]span{}} }

// next returns the seq from which an indexed run is to be marked, which includes a pending run before it. With wait the
// run becomes pending itself.
func (c *markCache) next(r run) (from int, wait bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := r.sessionKey()
	from, last := r.messages[0].Seq, r.messages[len(r.messages)-1]
	pending, ok := c.pending[key]
	if ok && pending.through == from-1 {
		delete(c.pending, key)
		return pending.from, false // at most one run is pending, so that a session without answers is marked too
	}
	if last.Role != conversation.User {
		return from, false
	}
	if len(c.pending) >= maxSessions {
		clear(c.pending)
	}
	c.pending[key] = span{from, last.Seq}
	return from, true
}
