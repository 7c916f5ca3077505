package gather

import (
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/secret"
)

// IsConversational reports whether prompts include messages of a role. Stored system messages never enter them.
func IsConversational(role conversation.Role) bool {
	return role == conversation.RoleUser || role == conversation.RoleAssistant
}

// allowsSession reports whether this session may use another one, or itself.
func (src *Sources) allowsSession(sessionID, context string) bool {
	return sessionID == src.Session.ID || src.Access.Preferences.Shares(context, src.Context)
}

// isBefore reports whether a message belongs to the conversation that leads to the current one: it is not the current
// one, and was not said after it in the same session.
func (src *Sources) isBefore(m *conversation.Message) bool {
	after := src.Current != nil && m.SessionID == src.Session.ID && m.Seq >= src.Current.Seq
	return m.ID != src.MessageID && !after
}

// allowsMemory reports whether a memory may be used: it is valid, and the user allows it.
func (src *Sources) allowsMemory(m longterm.Memory) bool {
	return m.Valid(src.Now.In(src.Zone)) && src.allowsOrigin(m)
}

// allowsOrigin reports whether the user allows a memory here. The messages of unknown sessions are hidden.
func (src *Sources) allowsOrigin(m longterm.Memory) bool {
	return src.Access.Preferences.AllowsMemory(m, func(id string) bool {
		from, known := src.origins[id]
		return !known || !src.allowsSession(from.sessionID, from.context)
	})
}

// allowsTodo reports whether a todo may be used. One that was extracted from messages is used where a memory of the
// same messages would be.
func (src *Sources) allowsTodo(t longterm.Todo) bool {
	return len(t.MessageIDs) == 0 ||
		src.allowsMemory(longterm.Memory{Source: longterm.Extracted, MessageIDs: t.MessageIDs})
}

func (src *Sources) allowsHit(h recall.Hit) bool {
	switch {
	case h.Message != nil:
		return IsConversational(h.Message.Role) && h.Message.IsSearched() && src.MayHear(h.Message) &&
			h.Message.ID != src.MessageID && src.Recalls(h.Message.Context) &&
			src.allowsSession(h.Message.SessionID, h.Message.Context)
	case h.Summary != nil:
		return h.Summary.CoachID == src.CoachID && h.Summary.SessionID != src.Session.ID &&
			src.Recalls(h.Summary.Context) &&
			src.allowsSession(h.Summary.SessionID, h.Summary.Context)
	case h.Memory != nil:
		return src.allowsMemory(*h.Memory)
	}
	return h.CheckIn != nil && !secret.Has(h.CheckIn.Note)
}

// Recalls reports whether this context's prompts may find what was said in another one.
func (src *Sources) Recalls(context string) bool { return src.appContext.RecallsFrom(context) }

// Reads reports whether this context reads what another one writes. It reads its own, and those that its registry
// entry names.
func (src *Sources) Reads(context string) bool {
	if context == src.Context {
		return true
	}
	from, err := conversation.AppContextOf(context)
	return err == nil && slices.Contains(src.appContext.Reads, from.Summary.Type)
}
