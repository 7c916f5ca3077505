package prompt

import (
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
)

// A model's server keeps what it computed for the beginning of a prompt and uses it again for a prompt that begins
// alike. This costs a tenth and takes less time. A steady recipe therefore writes what changes with each turn behind
// the session's messages, and keeps what stands in front of that the same from turn to turn (docs/adr/0025):
//
//   - The window of recent_messages moves in steps. What falls out of it is told by thread_history.
//   - What came up in the meantime stands late: a new memory until the next day, a new summary until the next sitting.
//   - Nothing in front has an age in minutes, and its items are in the order in which they came up.
//   - While the session goes on, the late blocks have a share of the budget of their own, so that what they take does
//     not decide what stands in front. pack_steady.go has this part.

const (
	// cacheReach is how long a server may keep the beginning of a prompt. OpenAI keeps it for half an hour and longer.
	cacheReach = time.Hour
	// minCachedTokens is the length from which a server keeps it.
	minCachedTokens = 1024
)

// windowStep is by how many of the session's messages the window of recent_messages moves: more than half of the
// window, and even, because a turn has two messages.
func windowStep(messages int) int { return (messages/2 + 2) &^ 1 }

// afterStep leaves out messages from the beginning of a window, up to a multiple of step. The window then begins with
// the same message for some turns.
func afterStep(window []*conversation.Message, step int) []*conversation.Message {
	if step == 0 || len(window) <= step {
		return window
	}
	edge := (window[0].Seq + step - 2) / step * step
	return slices.DeleteFunc(slices.Clone(window), func(m *conversation.Message) bool { return m.Seq <= edge })
}

// setSitting finds when the sitting of the current message began, whether the session goes on, and whether the server
// may still have the prompt before this one.
func (sel *selection) setSitting() {
	sel.sittingBegan = sel.now
	if !sel.recipe.Steady {
		return
	}
	own := sel.history.sittings[sel.session.ID]
	if last := own[len(own)-1]; len(last.messages) > 0 { // the last one has the current message
		sel.sittingBegan = last.first
	}
	if n := len(sel.ownMessages); n > 0 && sel.budget.tokens >= minCachedTokens {
		sel.goesOn, sel.inCache = true, sel.now.Sub(sel.ownMessages[n-1].Timestamp) <= cacheReach
	}
}

// isNew reports whether a summary or a line of a transcript came up after the sitting began.
func (sel *selection) isNew(at time.Time) bool {
	return sel.recipe.Steady && at.After(sel.sittingBegan)
}

// isOfToday reports whether a record came up today, after the session began.
func isOfToday(sel *selection, at time.Time) bool {
	return sel.recipe.Steady && at.After(sel.session.StartedAt) && isSameDay(at, sel.now, sel.zone) &&
		len(sel.ownMessages) > 0
}

// transcriptIsLate reports whether a line of a transcript is written late: it is of another session, and was said after
// the sitting began.
func transcriptIsLate(sel *selection, sessionID string, at time.Time) bool {
	return sessionID != sel.session.ID && sel.isNew(at)
}

// toldInFront reports whether a transcript in front may have a message, which then decides for itself whether it has.
func toldInFront(sel *selection, e *entry) bool {
	return sel.goesOn && inTranscript(sel, e) && !transcriptIsLate(sel, e.sessionID, e.at)
}

// ageInFront says how long ago something was. In front of a steady prompt it does not change within the day.
func ageInFront(sel *selection, at time.Time) string {
	if sel.recipe.Steady && isSameDay(at, sel.now, sel.zone) {
		return "today, " + clockTime(at, sel.zone)
	}
	return conversation.Age(at, sel.now, sel.zone)
}
