package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Session reads a session by its id alone, consistently, in one call: an id is in one context at most, so the keys
// it can have are asked for together. Where this store saw it last is asked first.
func (s *Store) Session(ctx context.Context, user conversation.UserID, id string) (conversation.Session, error) {
	if !conversation.ValidID(id) {
		return conversation.Session{}, fault.Missing("session")
	}
	if known, ok := s.known.session(user, id); ok {
		session, err := s.SessionIn(ctx, user, known.Context, id)
		if !fault.Is(err, fault.NotFound) {
			return session, err
		}
		s.known.forget(user, id)
	}
	return s.pick(ctx, user, sessionKeys(user, id))
}

// SessionIn reads a session of a known context, consistently.
func (s *Store) SessionIn(ctx context.Context, user conversation.UserID, context, id string) (conversation.Session, error) {
	sk, ok := sessionSK(context, id)
	if !ok {
		return conversation.Session{}, fault.Missing("session")
	}
	return s.pick(ctx, user, []key{{partition(user), sk}})
}

// pick returns the session that is at one of the keys.
func (s *Store) pick(ctx context.Context, user conversation.UserID, keys []key) (conversation.Session, error) {
	f, err := s.readOf(ctx, "read session", user, keys...)
	if err != nil {
		return conversation.Session{}, err
	}
	for _, k := range keys {
		it, _ := f.of(user, k)
		if session, ok := decodeSession(it); ok {
			s.known.keep(user, session)
			return session, nil
		}
	}
	return conversation.Session{}, fault.Missing("session")
}

// UpdateSession changes a session as it stands; a change that lost a race is applied to what won. Completing one
// makes it due, so that its last summary is written even when the stream's hint is lost.
func (s *Store) UpdateSession(ctx context.Context, user conversation.UserID, id string, change conversation.SessionChange) (conversation.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	for p := s.patience(); ; {
		before, err := s.Session(ctx, user, id)
		if err != nil {
			return conversation.Session{}, err
		}
		after, err := before.Edit(change)
		if err != nil {
			return conversation.Session{}, err
		}
		t, err := s.edit(user, before, after)
		if err != nil {
			return conversation.Session{}, failed("update session", err)
		}
		refused, err := s.commit(ctx, "update session", t, p)
		if err != nil {
			return conversation.Session{}, err
		}
		if refused == nil {
			s.known.keep(user, after)
			return after, nil
		}
		if err := p.wait(ctx); err != nil {
			return conversation.Session{}, failed("update session", err)
		}
	}
}

// edit is the transaction that changes a session.
func (s *Store) edit(user conversation.UserID, before, after conversation.Session) (*transaction, error) {
	sk, ok := sessionSK(after.Context, after.ID)
	if !ok {
		return nil, errBadKey
	}
	k := key{partition(user), sk}
	doc := item{}
	if err := doc.setDocument(attrAttributes, after.Attributes); err != nil {
		return nil, err
	}
	u := expression.Set(field(attrVersion), value(whole(after.Version))).
		Set(field(attrStatus), value(text(string(after.Status)))).
		Set(field(attrMode), value(text(after.Mode)))
	u = setOrRemove(u, attrTitle, text(after.Title), after.Title != "")
	u = setOrRemove(u, attrAttributes, doc[attrAttributes], doc.has(attrAttributes))
	if after.Status == conversation.Completed && before.Status != conversation.Completed && after.LastSeq > 0 {
		u = s.due(u, k)
	}
	t := s.transaction()
	t.update(k, u, standsAs(before))
	s.describe(t, k, before, after)
	return t, nil
}

func setOrRemove(u expression.UpdateBuilder, name string, v types.AttributeValue, set bool) expression.UpdateBuilder {
	if set {
		return u.Set(field(name), value(v))
	}
	return u.Remove(field(name))
}

// LeaveSession records that the user navigated away. The record's change goes out on the stream; the version stays,
// for no append depends on it.
func (s *Store) LeaveSession(ctx context.Context, user conversation.UserID, id string, at time.Time) error {
	session, err := s.Session(ctx, user, id)
	if err != nil {
		return err
	}
	u := expression.Set(field(attrLeftAt), value(moment(at)))
	_, err = s.touch(ctx, "leave session", user, session, u)
	return err
}

// touch changes a session's record on condition that it is still the same session, and returns it as stored.
func (s *Store) touch(ctx context.Context, op string, user conversation.UserID, session conversation.Session, u expression.UpdateBuilder) (item, error) {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return nil, fault.Missing("session")
	}
	it, err := s.updateItem(ctx, key{partition(user), sk}, u, isIncarnation(session))
	if _, gone := conditionFailed(err); gone {
		return nil, fault.Missing("session")
	}
	return it, failed(op, err)
}
