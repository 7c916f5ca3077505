package memory

import (
	"sync"

	"github.com/throughline/throughline/internal/conversation"
)

// marks keep what is indexed and not marked as such yet. A question is marked together with its answer, which comes on
// the stream a moment later: that saves one write a turn. What is forgotten here stays below the watermark, and the
// sweep, or the next message, has it indexed once more.
type marks struct {
	mu   sync.Mutex
	open map[tailKey]span
}

// span is messages of one session by seq, both ends included.
type span struct{ from, through int }

func newMarks() *marks { return &marks{open: map[tailKey]span{}} }

// from returns the seq from which a run that is indexed is to be marked, which may lie before it; wait says that its
// mark can wait for the run behind it.
func (m *marks) from(r run) (from int, wait bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := tailKey{r.user, r.ref}
	from, last := r.messages[0].Seq, r.messages[len(r.messages)-1]
	before, waited := m.open[key]
	if waited && before.through == from-1 {
		delete(m.open, key)
		return before.from, false // only ever one run waits, so that a session without answers is marked too
	}
	if last.Role != conversation.User {
		return from, false
	}
	if len(m.open) >= maxTails {
		clear(m.open)
	}
	m.open[key] = span{from, last.Seq}
	return from, true
}
