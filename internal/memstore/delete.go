package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/summary"
	"github.com/throughline/throughline/internal/sweep"
	"github.com/throughline/throughline/internal/vector"
)

// Deletions deletes messages and sessions.
type Deletions struct{ *DB }

var (
	_ erasure.MessageStore    = Deletions{}
	_ erasure.SessionStore    = Deletions{}
	_ erasure.CutStore        = Deletions{}
	_ erasure.SourceStore     = Deletions{}
	_ erasure.ForgettingStore = Deletions{}
)

const tombstonePrefix = "tombstone/"

// Message reads a message of a session.
func (s Deletions) Message(_ context.Context, user conversation.UserID, sessionID, messageID string,
) (conversation.Message, error) {
	u, unlock := s.lock(user)
	defer unlock()
	m, ok := u.messages[messageID]
	if !ok || m.SessionID != sessionID {
		return conversation.Message{}, fault.Missing("message")
	}
	return copied(*m), nil
}

// DeleteMessage deletes a message.
func (s Deletions) DeleteMessage(_ context.Context, user conversation.UserID, m conversation.Message,
	vectors []string, due time.Time,
) (erasure.Tombstone, error) {
	u, unlock := s.lock(user)
	defer unlock()
	t := erasure.Tombstone{
		User: user, ID: tombstonePrefix + m.ID, Generation: m.Generation, Message: &m, DeletedAt: s.now(), Vectors: vectors,
	}
	x, ok := u.session(m.SessionID, nil)
	if !ok {
		return t, fault.Missing("session")
	}
	if stored, ok := u.messages[m.ID]; !ok || threadOfMessage(*stored) != threadOf(x.Session) {
		return t, fault.Missing("message")
	}
	u.removeAll(x, []conversation.Message{m}, &t, s.now())
	u.save(t, due)
	return t, nil
}

// removeAll deletes messages of a session, and its summary if that covers one of them. The tombstone gets the vectors
// of the summary.
func (u *user) removeAll(x *session, messages []conversation.Message, t *erasure.Tombstone, now time.Time) {
	for _, m := range messages {
		u.remove(m.ID)
	}
	var first, last *conversation.Message
	if left := u.threads[threadOf(x.Session)]; len(left) > 0 {
		first, last = left[0], left[len(left)-1]
	}
	before, after := x.Session, x.Session
	for _, m := range messages {
		after = after.Without(m, first, last)
	}
	after.Version = before.Version + 1
	x.Session = after
	if after.Summarized.Seq < after.LastSeq { // the sweep summarises what is left
		u.setDue(sweep.Sessions, sessionDueID(x.ID), now)
	}
	if before.Summary != nil && after.Summary == nil {
		t.Vectors = append(slices.Clip(t.Vectors), u.dropSummary(before, now)...)
	}
}

// save stores a tombstone. It has where the deleted session or message was, and none of its content.
func (u *user) save(t erasure.Tombstone, due time.Time) {
	if m := t.Message; m != nil {
		t.Message = &conversation.Message{
			ID: m.ID, Context: m.Context, SessionID: m.SessionID, Seq: m.Seq, Timestamp: m.Timestamp, Generation: m.Generation,
		}
	}
	if x := t.Session; x != nil {
		t.Session = &conversation.Session{
			ID: x.ID, Context: x.Context, CreatedAt: x.CreatedAt, Generation: x.Generation, MessageCount: x.MessageCount,
			StartedAt: x.StartedAt, LastMessageAt: x.LastMessageAt,
		}
	}
	u.tombstones[t.ID] = copied(t)
	u.setDueAnew(sweep.Deletions, t.ID, due)
}

func tombstoneOf(u *user, x conversation.Session, now time.Time) erasure.Tombstone {
	at := conversation.FormatTime(x.CreatedAt)
	return erasure.Tombstone{
		User: u.id, ID: tombstonePrefix + "session/" + x.ID + "@" + at, Generation: x.Generation, Session: &x, DeletedAt: now,
	}
}

// DeleteSession deletes the record of a session.
func (s Deletions) DeleteSession(_ context.Context, user conversation.UserID, id string, due time.Time,
) (erasure.Tombstone, error) {
	u, unlock := s.lock(user)
	defer unlock()
	x, ok := u.session(id, nil)
	if !ok {
		return u.unfinished(id)
	}
	t := tombstoneOf(u, u.read(x), s.now())
	delete(u.sessions, id)
	delete(u.due, sessionDueID(id))
	u.save(t, due)
	if x.Summary != nil {
		u.clearSpine(x.CoachID, s.now())
	}
	return t, nil
}

func (u *user) unfinished(sessionID string) (erasure.Tombstone, error) {
	for _, t := range u.tombstones {
		if t.Session != nil && t.Session.ID == sessionID && !t.Emptied {
			return copied(t), nil
		}
	}
	return erasure.Tombstone{}, fault.Missing("session")
}

// UnfinishedDeletion returns the tombstone of a session that is not emptied.
func (s Deletions) UnfinishedDeletion(_ context.Context, user conversation.UserID, id string,
) (erasure.Tombstone, error) {
	u, unlock := s.lock(user)
	defer unlock()
	return u.unfinished(id)
}

// RemainingMessages lists the messages that are left of a deleted session.
func (s Deletions) RemainingMessages(_ context.Context, t erasure.Tombstone, page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	u, unlock := s.lock(t.User)
	defer unlock()
	if t.Generation != u.generation {
		return nil, "", nil
	}
	return values(bySeq(false).page(u.threads[threadOf(*t.Session)], page))
}

// DeleteMessages deletes the records of messages.
func (s Deletions) DeleteMessages(_ context.Context, user conversation.UserID, messages []conversation.Message) error {
	u, unlock := s.lock(user)
	defer unlock()
	for _, m := range messages {
		u.remove(m.ID)
	}
	return nil
}

// DeleteSummaries deletes the summary of a session, and not that of a later one of its id.
func (s Deletions) DeleteSummaries(_ context.Context, user conversation.UserID, session conversation.Session,
) ([]string, error) {
	u, unlock := s.lock(user)
	defer unlock()
	appContext, err := conversation.AppContextOf(session.Context)
	if err != nil {
		return nil, nil
	}
	id := summary.Summary{RecordType: appContext.Summary.Type, SessionID: session.ID}.ID()
	if stored, ok := u.summaries[id]; ok && !stored.createdAt.Equal(session.CreatedAt) {
		return nil, nil
	}
	delete(u.summaries, id)
	return []string{id}, nil
}

// DeleteDescriptions deletes what is kept of a session for repeated requests.
func (s Deletions) DeleteDescriptions(_ context.Context, user conversation.UserID, session conversation.Session) error {
	u, unlock := s.lock(user)
	defer unlock()
	delete(u.clientIDs, threadOf(session))
	return nil
}

// SessionsOf returns the sessions of the messages that exist.
func (s Deletions) SessionsOf(_ context.Context, user conversation.UserID, messageIDs []string,
) (map[string]erasure.Source, error) {
	u, unlock := s.lock(user)
	defer unlock()
	out := map[string]erasure.Source{}
	for _, id := range messageIDs {
		if m, ok := u.messages[id]; ok {
			out[id] = erasure.Source{SessionID: m.SessionID, CreatedAt: m.SessionCreatedAt}
		}
	}
	return out, nil
}

// WithoutRecord returns those of the vector ids that have no record. A document has as many vectors as its
// record says.
func (s Deletions) WithoutRecord(_ context.Context, user conversation.UserID, generation int64, vectors []string,
) ([]string, error) {
	u, unlock := s.lock(user)
	defer unlock()
	return slices.DeleteFunc(slices.Clone(vectors), func(id string) bool {
		recordID, h, _ := u.recordOf(id, s.now())
		if recordID == "" || generation != u.generation {
			return false
		}
		return h.Document == nil || slices.Contains(vector.PartIDs(recordID, 0, h.Document.Vectors), id)
	}), nil
}

// ForgottenDue returns the messages of a forgotten memory whose trace is due.
func (s Deletions) ForgottenDue(_ context.Context, d sweep.Due) ([]string, bool, error) {
	u, unlock := s.lock(d.User)
	defer unlock()
	return slices.Clone(u.forgotten[d.ID].messageIDs), strings.HasPrefix(d.ID, forgottenDue), nil
}

// ForgetMessage marks a message and removes what was made of it.
func (s Deletions) ForgetMessage(_ context.Context, user conversation.UserID, messageID string,
) (t erasure.Tombstone, done bool, err error) {
	u, unlock := s.lock(user)
	defer unlock()
	m, ok := u.messages[messageID]
	if !ok {
		return t, false, fault.Missing("message")
	}
	x, ok := u.session(m.SessionID, nil)
	if !ok || threadOf(x.Session) != threadOfMessage(*m) {
		return t, false, fault.Missing("session")
	}
	now, as := s.now(), copied(*m)
	t = erasure.Tombstone{User: user, Generation: m.Generation, Message: &as, DeletedAt: now}
	done, m.Forgotten = m.Forgotten, true
	if before := x.Session; before.Summary != nil {
		if x.Session = before.Forgetting(m.Seq); x.Summary == nil {
			u.setDue(sweep.Sessions, sessionDueID(x.ID), now)
			t.Vectors = u.dropSummary(before, now)
		}
	}
	return t, done, nil
}
