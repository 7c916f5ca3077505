package memory

import (
	"sync"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/truncate"
)

const (
	// tailBytes is how much of a message is kept for the one behind it: more than the index takes.
	tailBytes = 400
	// maxTails bounds each of the two generations of what is kept: a few megabytes.
	maxTails = 10_000
)

// tails keep how each session's last message ended, as far as a warm function has seen, so that the next message can
// be indexed with what it answers. Nothing is read for it: a message whose predecessor is not known is indexed without.
type tails struct {
	mu         sync.Mutex
	young, old map[tailKey]tail
}

type tailKey struct {
	user conversation.UserID
	ref  SessionRef
}

type tail struct {
	seq  int
	text string
}

func newTails() *tails { return &tails{young: map[tailKey]tail{}} }

// before returns how the message before a run ended.
func (t *tails) before(r run) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tailKey{r.user, r.ref}
	last, ok := t.young[key]
	if !ok {
		last, ok = t.old[key]
	}
	return last.text, ok && last.seq == r.messages[0].Seq-1
}

// keep notes how a run ends, unless a later end is known. What the system said is no part of the conversation.
func (t *tails) keep(r run) {
	last := r.messages[len(r.messages)-1]
	if last.Role == conversation.System {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	key := tailKey{r.user, r.ref}
	if t.young[key].seq > last.Seq || t.old[key].seq > last.Seq {
		return
	}
	if len(t.young) >= maxTails {
		t.old, t.young = t.young, map[tailKey]tail{}
	}
	t.young[key] = tail{last.Seq, truncate.LastBytes(last.Content, tailBytes)}
}
