package extraction

import (
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// A batch has at most windowMessages different messages of the user, of windowBytes together, which lie within
// windowSpan after the first of them. The specification (prompt-assembly-map, "shadowJudge.ts") has four messages
// within an hour: docs/adr/0028-the-extractor-reads-the-conversation.md says why there are more here.
const (
	windowMessages = 12
	windowBytes    = 16_000
	windowSpan     = 24 * time.Hour
)

// earlierLines is how many lines before a batch the model sees where there is no wish to forget, and repliesBetween how
// many lines of the assistant between two messages of the user.
const earlierLines, repliesBetween = 6, 2

// window is one batch of a session's messages.
type window struct {
	// messages are what is read: messages of the user that differ, oldest first. lines are these with the assistant's
	// lines between them, and earlier the lines before them. They are context.
	messages, lines, earlier []conversation.Message
	// elsewhere is what the user has said in other sessions, where a message asks to forget something.
	elsewhere []conversation.Message
	through   conversation.Watermark
	// retried says that the window is the skipped message of the seq, if it is still there.
	retried bool
	seq     int
	// reading is what the session says of bad answers when the window is stored.
	reading conversation.Reading
}

// shadowJudgeWindow cuts the next batch from a session's messages: it begins after the watermark. end is the watermark
// of all messages. There may be no message of the user up to there. Skipped messages are no context. A window of at
// most one message has none, because that may be what the model refuses. The same message again is a repeat and is left
// out, but not where it answers another line of the assistant: "No." twice may be two answers.
func shadowJudgeWindow(all []conversation.Message, after int, r conversation.Reading, end conversation.Watermark,
) window {
	w, limit, earlier := window{through: end}, max(1, windowMessages>>r.Tries), earlierLines
	if hasWish(all, after) {
		earlier = wishMessages
	}
	var replies []conversation.Message // since the last message of the user
	seen, size := map[string]bool{}, 0
	asked := "" // the last line of the assistant since then
	for i, m := range all {
		switch {
		case !m.IsRead(), m.Seq <= after && r.Skips(m.Seq):
			continue
		case m.Role == conversation.RoleAssistant:
			asked = longterm.Normalize(m.Content) + "\n"
		}
		switch {
		case m.Seq <= after || m.Role != conversation.RoleUser && len(w.messages) == 0:
			w.earlier = addContext(w.earlier, m, earlier)
			if m.Role == conversation.RoleUser {
				asked = ""
			}
			continue
		case m.Role != conversation.RoleUser:
			replies = addContext(replies, m, repliesBetween)
			continue
		}
		text := longterm.Normalize(m.Content)
		isRepeat := seen[asked+text]
		isFull := len(w.messages) == limit || size+len(m.Content) > windowBytes
		if len(w.messages) > 0 && (isFull && !isRepeat || m.Timestamp.Sub(w.messages[0].Timestamp) > windowSpan) {
			w.through = conversation.Watermark{Seq: all[i-1].Seq, At: all[i-1].Timestamp}
			break
		}
		if !isRepeat {
			seen[text], seen[asked+text] = true, true
			size += len(m.Content)
			w.messages, w.lines = append(w.messages, m), append(append(w.lines, replies...), m)
		}
		replies, asked = nil, ""
	}
	if w.lines = append(w.lines, replies...); limit == 1 {
		w.lines, w.earlier = w.messages, nil
	}
	return w
}

// addContext adds a line to the last ones, of which there are at most limit. What the app or a tool says is no line.
func addContext(lines []conversation.Message, m conversation.Message, limit int) []conversation.Message {
	if m.Role != conversation.RoleUser && m.Role != conversation.RoleAssistant {
		return lines
	}
	lines = append(lines, m)
	return lines[max(0, len(lines)-limit):]
}
