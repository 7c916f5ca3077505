package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// Truncate deletes the last messages of a session and appends others in their place.
func (s Deletions) Truncate(_ context.Context, user conversation.UserID, in conversation.Truncation,
	vectors func(conversation.Message) []string, due time.Time,
) (conversation.Truncated, erasure.Tombstone, error) {
	none := erasure.Tombstone{}
	now := s.clock()
	in, err := in.Prepare(now)
	if err != nil {
		return conversation.Truncated{}, none, err
	}
	u, unlock := s.lock(user)
	defer unlock()
	first, err := u.callOf(in.Idempotency, now)
	if err != nil {
		return conversation.Truncated{}, none, err
	}
	if first != nil {
		again, err := u.replayAppend(first)
		return conversation.Truncated{
			Deleted: slices.Clone(first.deleted), Messages: again.Messages, Session: again.Session, Replayed: true,
		}, none, err
	}
	x, ok := u.session(in.SessionID, nil)
	if !ok {
		return conversation.Truncated{}, none, fault.Missing("session")
	}
	cut, err := u.suffix(x.Session, in)
	if err != nil {
		return conversation.Truncated{}, none, err
	}
	t := u.cut(x, cut, vectors, due, s.now())
	added := conversation.Appended{}
	if len(in.Replacement) > 0 {
		if added, err = s.append(u, appending{sessionID: x.ID, messages: in.Replacement}, now); err != nil {
			return conversation.Truncated{}, none, err
		}
	}
	out := conversation.Truncated{Deleted: idsOf(cut), Messages: added.Messages, Session: u.read(x)}
	out.Session.Summary = nil
	u.remember(in.Idempotency, now, &call{
		appended: conversation.Appended{Messages: out.Messages, Session: out.Session}, deleted: out.Deleted,
	})
	return copied(out), t, nil
}

// suffix returns the messages that a truncation deletes. It returns an error where it may not.
func (u *user) suffix(x conversation.Session, in conversation.Truncation) ([]conversation.Message, error) {
	all := u.inThread(x)
	if in.LastN != nil {
		all = all[max(0, len(all)-*in.LastN):]
	} else {
		all = slices.DeleteFunc(all, func(m *conversation.Message) bool { return m.Seq <= *in.AfterSeq })
	}
	cut, _, _ := values(copied(all), "", nil)
	for i, m := range in.Replacement {
		if _, ok := u.clientIDs[threadOf(x)][m.ClientMessageID]; ok {
			return nil, conversation.ReplacementExists(i)
		}
	}
	return cut, in.CheckCut(cut)
}

// cut deletes messages and returns their tombstone, which is empty where there are none.
func (u *user) cut(x *session, messages []conversation.Message, vectors func(conversation.Message) []string,
	due, now time.Time,
) erasure.Tombstone {
	if len(messages) == 0 {
		return erasure.Tombstone{}
	}
	t := erasure.Tombstone{
		User: u.id, ID: tombstonePrefix + messages[0].ID, Generation: messages[0].Generation, Message: &messages[0],
		Others: idsOf(messages[1:]), DeletedAt: now,
	}
	for _, m := range messages {
		t.Vectors = append(t.Vectors, vectors(m)...)
	}
	u.removeAll(x, messages, &t, now)
	stored := t
	stored.Vectors = erasure.LastVectors(stored.Vectors)
	u.save(stored, due)
	return t
}

func idsOf(messages []conversation.Message) []string {
	var ids []string
	for _, m := range messages {
		ids = append(ids, m.ID)
	}
	return ids
}

// ClearSession begins a session anew, with another time of creation.
func (s Deletions) ClearSession(_ context.Context, user conversation.UserID, id string, due time.Time,
) (erasure.Tombstone, error) {
	u, unlock := s.lock(user)
	defer unlock()
	x, ok := u.session(id, nil)
	if !ok {
		return erasure.Tombstone{}, fault.Missing("session")
	}
	now := s.now()
	before := u.read(x)
	t := tombstoneOf(u, before, now)
	u.sessions[id] = &session{Session: x.Emptied(now)}
	delete(u.due, sessionDueID(id))
	u.save(t, due)
	if before.Summary != nil {
		u.clearSpine(before.CoachID, now)
	}
	return t, nil
}
