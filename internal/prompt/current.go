package prompt

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// checkCurrent refuses a messageId that does not name the current message as this session stores it: a prompt that left
// out another message in its place would tell one twice, or lose one. It costs no call where the session's last
// messages, which are read anyway, hold it.
func (g *gathering) checkCurrent(ctx context.Context) error {
	if g.MessageID == "" {
		return nil
	}
	m, found, err := g.storedCurrent(ctx)
	switch {
	case err != nil:
		return err
	case !found || m.SessionID != g.SessionID:
		return fault.InvalidField("messageId", "names no message of this session")
	case m.Role != conversation.User:
		return fault.InvalidField("messageId", "names no message of the user")
	case m.Content != g.Message:
		return fault.InvalidField("messageId", "names a message whose content is another one")
	}
	g.got.currentSeq = m.Seq
	return nil
}

// storedCurrent finds the message that the request names: among what was read, or by its id where many others have
// come in since.
func (g *gathering) storedCurrent(ctx context.Context) (m conversation.Message, found bool, err error) {
	for _, read := range [][]*conversation.Message{g.got.tail, g.got.timeline} {
		for _, m := range read {
			if m.ID == g.MessageID {
				return *m, true, nil
			}
		}
	}
	err = g.need(ctx, sourceCurrent, func(ctx context.Context) error {
		hits, err := g.Store.Resolve(ctx, g.user, g.got.access.Generation, []string{g.MessageID})
		for _, h := range hits {
			if h.Message != nil && h.Message.ID == g.MessageID {
				m, found = *h.Message, true
			}
		}
		return err
	})
	return m, found, err
}
