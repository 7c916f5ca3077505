package httpapi_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// fakeStore stores sessions and messages in memory. It has as much of a store's behaviour as the HTTP tests need. The
// full behaviour is tested with the real store.
type fakeStore struct {
	mu       sync.Mutex
	now      func() time.Time
	sessions map[conversation.UserID][]*conversation.Session
	messages map[conversation.UserID][]conversation.Message
	calls    map[string]remembered
	// fail is the error of every call, if set.
	fail error
}

type remembered struct {
	hash   string
	answer any
}

func newFakeStore(now func() time.Time) *fakeStore {
	return &fakeStore{
		now: now, sessions: map[conversation.UserID][]*conversation.Session{},
		messages: map[conversation.UserID][]conversation.Message{}, calls: map[string]remembered{},
	}
}

// once returns the first result for a repeat of a call.
func once[T any](
	m *fakeStore, user conversation.UserID, idem conversation.Idempotency, do func() (T, error),
) (answer T, replayed bool, err error) {
	if m.fail != nil {
		return answer, false, m.fail
	}
	key := fmt.Sprint(user, "|", idem.Scope, "|", idem.Key)
	if r, ok := m.calls[key]; ok && idem.Set() {
		if r.hash != idem.BodyHash {
			return answer, false, fault.New(fault.IdempotencyMismatch, "")
		}
		return r.answer.(T), true, nil
	}
	if answer, err = do(); err == nil && idem.Set() {
		m.calls[key] = remembered{idem.BodyHash, answer}
	}
	return answer, false, err
}

func (m *fakeStore) find(user conversation.UserID, id string) (*conversation.Session, error) {
	if m.fail != nil {
		return nil, m.fail
	}
	for _, s := range m.sessions[user] {
		if s.ID == id {
			return s, nil
		}
	}
	return nil, fault.Missing("session")
}

func (m *fakeStore) CreateSession(
	_ context.Context, user conversation.UserID, in conversation.NewSession, idem conversation.Idempotency,
) (conversation.Created, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, replayed, err := once(m, user, idem, func() (conversation.Session, error) {
		if _, err := m.find(user, in.ID); err == nil {
			return conversation.Session{}, fault.New(fault.Conflict, "the session exists")
		}
		n, err := in.Prepare()
		if err != nil {
			return conversation.Session{}, err
		}
		s := &conversation.Session{
			ID: cmp.Or(n.ID, fmt.Sprintf("ses_%d", len(m.sessions[user])+1)), Context: n.Context, CoachID: n.CoachID,
			Mode: n.Mode, Title: n.Title, Attributes: n.Attributes, Status: conversation.Active,
		}
		m.sessions[user] = append(m.sessions[user], s)
		return *s, nil
	})
	return conversation.Created{Session: s, Replayed: replayed}, err
}

func (m *fakeStore) Session(_ context.Context, user conversation.UserID, id string) (conversation.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(user, id)
	if err != nil {
		return conversation.Session{}, err
	}
	return *s, nil
}

func (m *fakeStore) Sessions(
	_ context.Context, user conversation.UserID, f conversation.SessionFilter, page conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []conversation.Session
	for _, s := range slices.Backward(m.sessions[user]) {
		if (f.Context == "" || f.Context == s.Context) && (f.Status == "" || f.Status == s.Status) {
			all = append(all, *s)
		}
	}
	return paged(all, page, m.fail)
}

func (m *fakeStore) UpdateSession(
	_ context.Context, user conversation.UserID, id string, c conversation.SessionChange,
) (conversation.Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(user, id)
	if err != nil {
		return conversation.Session{}, err
	}
	edited, err := s.Edit(c, time.Now())
	if err == nil {
		*s = edited
	}
	return edited, err
}

func (m *fakeStore) LeaveSession(_ context.Context, user conversation.UserID, id string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(user, id)
	if err == nil {
		s.LeftAt = at
	}
	return err
}

func (m *fakeStore) DeleteSession(_ context.Context, user conversation.UserID, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(user, id)
	if err != nil {
		return err
	}
	m.sessions[user] = slices.DeleteFunc(m.sessions[user], func(x *conversation.Session) bool { return x == s })
	m.messages[user] = slices.DeleteFunc(m.messages[user], func(x conversation.Message) bool { return x.SessionID == id })
	return nil
}

func (m *fakeStore) Append(
	_ context.Context, user conversation.UserID, in conversation.Append,
) (conversation.Appended, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, replayed, err := once(m, user, in.Idempotency, func() (conversation.Appended, error) {
		s, err := m.find(user, in.SessionID)
		if err != nil {
			return conversation.Appended{}, err
		}
		in, err := in.Prepare(m.now())
		if err != nil {
			return conversation.Appended{}, err
		}
		stored, after := s.Extend(in.Messages, m.now())
		for i, x := range stored {
			stored[i].ID = fmt.Sprintf("msg_%s_%d_%d", user, x.Timestamp.Unix(), x.Seq)
		}
		m.messages[user] = append(m.messages[user], stored...)
		*s = after
		return conversation.Appended{Messages: stored, Session: after}, nil
	})
	a.Replayed = replayed
	return a, err
}

func (m *fakeStore) Messages(
	_ context.Context, user conversation.UserID, id string, page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(user, id); err != nil {
		return nil, "", err
	}
	var all []conversation.Message
	for _, x := range m.messages[user] {
		if x.SessionID == id {
			all = append(all, x)
		}
	}
	if page.Descending {
		slices.Reverse(all)
	}
	return paged(all, page, m.fail)
}

func (m *fakeStore) IsMigrated(_ context.Context, user conversation.UserID) (bool, error) {
	return user != "unmoved", nil
}

func (m *fakeStore) Timeline(
	_ context.Context, user conversation.UserID, r conversation.Range, page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []conversation.Message
	for _, x := range m.messages[user] {
		if x.Timestamp.Before(r.From) || (!r.To.IsZero() && !x.Timestamp.Before(r.To)) ||
			(r.Context != "" && r.Context != x.Context) {
			continue
		}
		all = append(all, x)
	}
	slices.SortStableFunc(all, func(a, b conversation.Message) int { return a.Timestamp.Compare(b.Timestamp) })
	if page.Descending {
		slices.Reverse(all)
	}
	return paged(all, page, m.fail)
}

// Quotes returns the messages with the same content.
func (m *fakeStore) Quotes(_ context.Context, user conversation.UserID, sessionID, id string) (erasure.Quotes, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.messages[user]
	i := slices.IndexFunc(all, func(x conversation.Message) bool { return x.ID == id && x.SessionID == sessionID })
	if i < 0 {
		return erasure.Quotes{}, fault.Missing("message")
	}
	out := erasure.Quotes{Complete: true}
	for _, x := range all {
		if x.ID != id && x.Content == all[i].Content {
			out.Messages = append(out.Messages, x)
		}
	}
	return out, nil
}

func (m *fakeStore) DeleteWithQuotes(ctx context.Context, user conversation.UserID, sessionID, id string,
) (erasure.Quotes, error) {
	found, err := m.Quotes(ctx, user, sessionID, id)
	for _, x := range found.Messages {
		err = cmp.Or(err, m.DeleteMessage(ctx, user, x.SessionID, x.ID))
	}
	return found, cmp.Or(err, m.DeleteMessage(ctx, user, sessionID, id))
}

func (m *fakeStore) DeleteMessage(_ context.Context, user conversation.UserID, sessionID, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(user, sessionID)
	if err != nil {
		return err
	}
	before := len(m.messages[user])
	m.messages[user] = slices.DeleteFunc(m.messages[user], func(x conversation.Message) bool { return x.ID == id })
	if len(m.messages[user]) == before {
		return fault.Missing("message")
	}
	s.MessageCount--
	return nil
}

// paged returns a page of a list. A position is an index.
func paged[T any](all []T, page conversation.Page, fail error) ([]T, conversation.Position, error) {
	if fail != nil {
		return nil, "", fail
	}
	from := 0
	if page.After != "" {
		var err error
		if from, err = strconv.Atoi(string(page.After)); err != nil {
			return nil, "", err
		}
	}
	from = min(from, len(all))
	to := min(from+page.Limit, len(all))
	if to == len(all) {
		return all[from:to], "", nil
	}
	return all[from:to], conversation.Position(strconv.Itoa(to)), nil
}

// fakeCounter counts four bytes as one token.
type fakeCounter struct{}

func (fakeCounter) Count(text string) int { return len(text) / 4 }
