package memstore

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/sweep"
)

const messageKind = "msg"

// Messages appends and reads messages.
type Messages struct{ MessageReader }

var _ conversation.MessageStore = Messages{}

// IsMigrated reports whether the store has all of the user's history, which a store of its own always has.
func (Messages) IsMigrated(context.Context, conversation.UserID) (bool, error) { return true, nil }

// Append stores messages.
func (s Messages) Append(_ context.Context, user conversation.UserID, in conversation.Append,
) (conversation.Appended, error) {
	now := s.clock()
	in, err := in.Prepare(now)
	if err != nil {
		return conversation.Appended{}, err
	}
	u, unlock := s.lock(user)
	defer unlock()
	first, err := u.callOf(in.Idempotency, now)
	if err != nil {
		return conversation.Appended{}, err
	}
	if first != nil {
		return u.replayAppend(first)
	}
	out, err := s.append(u, appending{sessionID: in.SessionID, messages: in.Messages}, now)
	if err != nil {
		return conversation.Appended{}, err
	}
	u.remember(in.Idempotency, now, &call{appended: out})
	return copied(out), nil
}

// appending is an append of prepared messages.
type appending struct {
	sessionID string
	messages  []conversation.NewMessage
	// of is the session that the messages belong to, where the caller knows it. A later one of the same id is missing.
	of *conversation.Session
	// planned is the id that the message is to have, while its time stays the one in the id.
	planned string
	// refusesDuplicates says that a message that is stored already is a Conflict.
	refusesDuplicates bool
}

// append stores the messages that are not stored under their clientMessageIds yet. The session in the answer has no
// summary.
func (db *DB) append(u *user, in appending, now time.Time) (conversation.Appended, error) {
	x, ok := u.session(in.sessionID, in.of)
	if !ok {
		return conversation.Appended{}, fault.Missing("session")
	}
	known, err := u.known(x.Session, in)
	if err != nil {
		return conversation.Appended{}, err
	}
	var fresh []conversation.NewMessage
	for _, m := range in.messages {
		if _, ok := known[m.ClientMessageID]; !ok {
			fresh = append(fresh, m)
		}
	}
	var added []conversation.Message
	if len(fresh) > 0 {
		added = db.extend(u, x, fresh, in.planned, now)
	}
	out := conversation.Appended{Session: u.read(x)}
	out.Session.Summary = nil
	for _, m := range in.messages {
		if stored, ok := known[m.ClientMessageID]; ok {
			out.Messages = append(out.Messages, stored)
			continue
		}
		out.Messages, added = append(out.Messages, added[0]), added[1:]
	}
	return copied(out), nil
}

// known returns the messages of an append that are stored under their clientMessageIds.
func (r *records) known(s conversation.Session, in appending) (map[string]conversation.Message, error) {
	known := map[string]conversation.Message{}
	for _, m := range in.messages {
		id, ok := r.clientIDs[threadOf(s)][m.ClientMessageID]
		if !ok {
			continue
		}
		stored, exists := r.messages[id]
		if !exists {
			stored = &conversation.Message{}
		}
		if err := m.CheckDuplicate(*stored, exists); err != nil {
			return nil, err
		}
		if in.refusesDuplicates {
			return nil, conversation.MessageExists(m.ClientMessageID)
		}
		duplicate := *stored
		duplicate.Duplicate = true
		known[m.ClientMessageID] = duplicate
	}
	return known, nil
}

// extend stores messages at the end of a session.
func (db *DB) extend(u *user, x *session, messages []conversation.NewMessage, planned string, now time.Time,
) []conversation.Message {
	added, after := x.Reopen(messages).Extend(messages, now)
	after.LeftAt = time.Time{}
	x.Session = after
	for i := range added {
		m := &added[i]
		if m.ID = db.newID(messageKind, m.Timestamp); planned != "" {
			if at, _ := conversation.TimeOfID(messageKind, planned); at.Equal(m.Timestamp) {
				m.ID = planned
			}
		}
		u.add(*m)
		if m.ClientMessageID != "" {
			of := threadOf(after)
			if u.clientIDs[of] == nil {
				u.clientIDs[of] = map[string]string{}
			}
			u.clientIDs[of][m.ClientMessageID] = m.ID
		}
	}
	u.setDueIfNone(sweep.Sessions, sessionDueID(x.ID), db.dueAfterIdle())
	return added
}
