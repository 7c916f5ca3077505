package dynamo

import (
	"container/list"
	"sync"

	"github.com/throughline/throughline/internal/conversation"
)

// memo keeps what a warm function knows: sessions as they stood after its last write or read of them, and users'
// generations. It is a guess that every write checks; a wrong one costs a call and nothing else.
type memo struct {
	mu    sync.Mutex
	limit int
	byKey map[memoKey]*list.Element
	order list.List // front is the latest used
}

// memoKey names a session of a user, or with an empty session the user's generation.
type memoKey struct {
	user    conversation.UserID
	session string
}

type memoEntry struct {
	key        memoKey
	session    conversation.Session
	generation int64
}

func newMemo(limit int) *memo {
	return &memo{limit: limit, byKey: make(map[memoKey]*list.Element)}
}

func (m *memo) session(user conversation.UserID, id string) (conversation.Session, bool) {
	e, ok := m.get(memoKey{user, id})
	return e.session, ok
}

// keep remembers a session unless a later state of it is known.
func (m *memo) keep(user conversation.UserID, s conversation.Session) {
	s.Summary = nil // not what appends depend on, and old at once
	m.put(memoEntry{key: memoKey{user, s.ID}, session: s}, func(old memoEntry) bool {
		o := old.session
		return o.Generation == s.Generation && o.CreatedAt.Equal(s.CreatedAt) && o.Version > s.Version
	})
}

func (m *memo) forget(user conversation.UserID, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byKey[memoKey{user, id}]; ok {
		m.order.Remove(e)
		delete(m.byKey, memoKey{user, id})
	}
}

// generation guesses a user's; nearly nobody has ever been erased, so the guess for the unknown is 0.
func (m *memo) generation(user conversation.UserID) int64 {
	e, _ := m.get(memoKey{user: user})
	return e.generation
}

func (m *memo) keepGeneration(user conversation.UserID, g int64) {
	m.put(memoEntry{key: memoKey{user: user}, generation: g}, func(old memoEntry) bool { return old.generation > g })
}

func (m *memo) get(k memoKey) (memoEntry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byKey[k]
	if !ok {
		return memoEntry{}, false
	}
	m.order.MoveToFront(e)
	return e.Value.(memoEntry), true
}

func (m *memo) put(entry memoEntry, later func(old memoEntry) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e, ok := m.byKey[entry.key]; ok {
		if !later(e.Value.(memoEntry)) {
			e.Value = entry
		}
		m.order.MoveToFront(e)
		return
	}
	m.byKey[entry.key] = m.order.PushFront(entry)
	if m.order.Len() > m.limit {
		oldest := m.order.Back()
		m.order.Remove(oldest)
		delete(m.byKey, oldest.Value.(memoEntry).key)
	}
}
