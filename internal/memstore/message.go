package memstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// MessageReader reads messages.
type MessageReader struct{ *DB }

// sizeOf is about how many bytes a message takes.
func sizeOf(m *conversation.Message) int {
	parts, _ := conversation.EncodeParts(m.Parts) // it was checked before it was stored
	return len(m.Content) + len(parts) + sizeOfJSON(m.Metadata)
}

// sizeOfJSON is how many bytes a value takes as JSON.
func sizeOfJSON(v any) int {
	text, _ := json.Marshal(v) // all that is stored can be encoded
	return len(text)
}

// inThread returns the messages of a session that a reader knows, by seq.
func (u *user) inThread(s conversation.Session) []*conversation.Message {
	if s.Generation != u.generation {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(u.threads[threadOf(s)]), func(m *conversation.Message) bool {
		return m.Seq > s.LastSeq || s.Deleted.Contains(m.Seq)
	})
}

// bySeq lists messages by their seq.
func bySeq(descending bool) listing[*conversation.Message] {
	return listing[*conversation.Message]{
		name: "messages", descending: descending, size: sizeOf,
		key: func(m *conversation.Message) string { return fmt.Sprintf("%019d", m.Seq) },
	}
}

// Messages lists the messages of a session.
func (s MessageReader) Messages(_ context.Context, user conversation.UserID, sessionID string, page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	u, unlock := s.lock(user)
	defer unlock()
	x, ok := u.session(sessionID, nil)
	if !ok {
		return nil, "", fault.Missing("session")
	}
	return values(bySeq(page.Descending).page(u.inThread(x.Session), page))
}

func values[T any](list []*T, next conversation.Position, err error) ([]T, conversation.Position, error) {
	var out []T
	for _, v := range list {
		out = append(out, *v)
	}
	return out, next, err
}

// Timeline lists the user's messages of all sessions.
func (s MessageReader) Timeline(_ context.Context, user conversation.UserID, r conversation.Range,
	page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	u, unlock := s.lock(user)
	defer unlock()
	l := listing[*conversation.Message]{
		name: "timeline", descending: page.Descending, size: sizeOf,
		key: func(m *conversation.Message) string { return conversation.FormatTime(m.Timestamp) + "/" + m.ID },
	}
	var in []*conversation.Message
	for _, m := range u.timeline {
		isIn := !m.Timestamp.Before(r.From) && (r.To.IsZero() || m.Timestamp.Before(r.To))
		if isIn && (r.Context == "" || m.Context == r.Context) {
			in = append(in, m)
		}
	}
	return values(l.page(in, page))
}

// Tail returns the last messages of a session.
func (s MessageReader) Tail(ctx context.Context, user conversation.UserID, session conversation.Session, n int,
) ([]conversation.Message, error) {
	return s.MessagesBefore(ctx, user, session, conversation.Message{}, n)
}

// MessagesBefore returns the last messages of a session before one of them, or the last ones where before is zero.
func (s MessageReader) MessagesBefore(_ context.Context, user conversation.UserID, session conversation.Session,
	before conversation.Message, n int,
) ([]conversation.Message, error) {
	u, unlock := s.lock(user)
	defer unlock()
	all := slices.DeleteFunc(u.inThread(session), func(m *conversation.Message) bool {
		return before.Seq > 0 && m.Seq >= before.Seq
	})
	out, _, err := values(copied(all[max(0, len(all)-max(0, n)):]), "", nil)
	return out, err
}

// MessagesAfter returns messages of a session after a watermark, at most a page of bytes.
func (s MessageReader) MessagesAfter(_ context.Context, user conversation.UserID, session conversation.Session,
	after conversation.Watermark, limit int,
) ([]conversation.Message, error) {
	u, unlock := s.lock(user)
	defer unlock()
	all := slices.DeleteFunc(u.inThread(session), func(m *conversation.Message) bool { return m.Seq <= after.Seq })
	out, _, err := values(bySeq(false).page(all[:min(max(0, limit), len(all))], conversation.Page{Limit: limit}))
	return out, err
}
