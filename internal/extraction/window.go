package extraction

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// A batch has at most windowMessages different messages of the user, which lie within windowSpan before the newest of
// them (prompt-assembly-map, "shadowJudge.ts").
const (
	windowMessages = 4
	windowSpan     = time.Hour
)

// window is one batch of a session's messages.
type window struct {
	// messages are what is read: messages of the user that differ, oldest first. earlier are those of the user before
	// them, which fill the window. They were read before and are context.
	messages, earlier []conversation.Message
	through           conversation.Watermark
}

// nextWindow cuts the next batch from a session's messages: it begins after the watermark. end is the watermark of all
// messages. There may be no message of the user up to there.
func nextWindow(all []conversation.Message, after int, end conversation.Watermark) window {
	w := window{through: end}
	seen := map[string]bool{}
	for i, m := range all {
		if m.Seq <= after || m.Role != conversation.RoleUser {
			continue
		}
		text := longterm.Normalize(m.Content)
		isFull := len(w.messages) == windowMessages && !seen[text]
		if isFull || len(w.messages) > 0 && m.Timestamp.Sub(w.messages[0].Timestamp) > windowSpan {
			w.through = conversation.Watermark{Seq: all[i-1].Seq, At: all[i-1].Timestamp}
			break
		}
		if !seen[text] {
			seen[text] = true
			w.messages = append(w.messages, m)
		}
	}
	w.addEarlier(all, after, seen)
	return w
}

// addEarlier fills the window with the last messages before the batch.
func (w *window) addEarlier(all []conversation.Message, after int, seen map[string]bool) {
	if len(w.messages) == 0 {
		return
	}
	newest := w.messages[len(w.messages)-1].Timestamp
	for _, m := range slices.Backward(all) {
		if len(w.messages)+len(w.earlier) == windowMessages {
			break
		}
		text := longterm.Normalize(m.Content)
		isEarlier := m.Seq <= after && m.Role == conversation.RoleUser && newest.Sub(m.Timestamp) <= windowSpan
		if isEarlier && !seen[text] {
			seen[text] = true
			w.earlier = append(w.earlier, m)
		}
	}
	slices.Reverse(w.earlier)
}
