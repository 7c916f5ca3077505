package chat

import (
	"context"
	"fmt"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
)

// mostForgotten is how many memories one request to forget may name. What more of them have is a common word.
const mostForgotten = 2

// forget forgets the facts that a text names, and returns a receipt for the model. The receipt has no words of the
// facts, so that the answer, which is stored, does not have them either.
func (g *answerRun) forget(ctx context.Context, query string) string {
	if !conversation.AsksToForget(g.request.Message) {
		return `{"error":"the user has not asked to forget anything"}`
	}
	named, isClear := 0, true
	n, err := g.Forget.Forget(ctx, g.user, g.turn.Message.ID, func(memories []longterm.Memory) (found []longterm.Memory) {
		found, isClear = longterm.Named(query, memories)
		if len(found) > mostForgotten {
			found = slices.DeleteFunc(found, func(m longterm.Memory) bool { return !m.HeldAt(g.Now()) })
		}
		named = len(found)
		if isClear = isClear && named <= mostForgotten; !isClear {
			return nil
		}
		return found
	})
	switch {
	case err != nil:
		g.Report(ctx, "forget", err)
		return `{"error":"it is not known whether it is forgotten: say that it will be, and that the user can check"}`
	case !isClear && n == 0: // extraction may have read the message first
		return fmt.Sprintf(`{"forgotten":0,"matches":%d,"note":"ask which one is meant"}`, named)
	case n == 0:
		return `{"forgotten":0,"note":"nothing that is remembered matches; it is not noted either"}`
	}
	return fmt.Sprintf(`{"forgotten":%d,"at":%q,"note":"confirm it without its words; no later prompt has it"}`,
		n, g.Now().UTC().Format("2006-01-02 15:04 MST"))
}
