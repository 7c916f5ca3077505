package dynamo

import (
	"context"
	"maps"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// CreateSession stores a new session on condition that the user has none of its id in any context.
func (s *SessionStore) CreateSession(ctx context.Context, user conversation.UserID, in conversation.NewSession,
	idem conversation.Idempotency,
) (conversation.Created, error) {
	const op = "create session"
	in, err := in.Prepare()
	if err != nil {
		return conversation.Created{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, table.OperationTimeout)
	defer cancel()
	c := creation{
		db: s.db, user: user, session: s.newSession(in), idem: idem, token: table.NewRandomDigits(s.db.Random),
	}
	if s.db.adoption != nil {
		if c.session.Adopted, err = s.db.adoption.Placed(ctx, user); err != nil {
			return conversation.Created{}, err
		}
	}
	failures, err := s.db.commitAtGeneration(ctx, op, user, s.db.Backoff(), c.build)
	if err != nil {
		return conversation.Created{}, err
	}
	if failures != nil {
		return c.answer(failures)
	}
	s.db.cache.saveSession(user, c.session)
	return conversation.Created{Session: c.session}, nil
}

func (s *SessionStore) newSession(in conversation.NewSession) conversation.Session {
	now := conversation.Milliseconds(s.db.Now())
	if in.ID == "" {
		in.ID = conversation.NewID(sessionIDKind, now, s.db.Random)
	}
	return in.Begin(in.ID, now)
}

// creation is a session that is being created, with the place of its idempotency record in the last transaction.
type creation struct {
	db      *DB
	user    conversation.UserID
	session conversation.Session
	idem    conversation.Idempotency
	// token is random and part of the record. Only this call knows it.
	token string

	idemPlace int // -1 without an idempotency key
}

// build returns the transaction that creates the session, and the place of the check of the generation.
func (c *creation) build(generation int64) (*table.Transaction, int) {
	c.session.Generation = generation
	t := c.db.Transaction()
	it, own, err := c.db.encodeSession(c.user, c.session)
	if err != nil {
		t.Err = err
		return t, -1
	}
	it.Set(table.AttrCreation, c.token)
	free := table.NotExists().Or(table.Has(table.AttrPlacement).
		And(table.IsBelow(table.AttrGeneration, generation)))
	t.Put(it, free)
	t.DoneIf(func(r table.RecordSet) bool { return r[own].String(table.AttrCreation) == c.token }, own)
	c.idemPlace = -1
	for _, k := range table.SessionKeys(c.user, c.session.ID) {
		if k != own {
			t.Check(k, free)
		}
	}
	place := t.Check(table.GenerationKey(c.user), table.IsGeneration(generation))
	t.Replace(freshMark(own, c.session))
	if c.idem.Set() {
		record := newIdempotencyRecord(c.user, c.idem, generation, c.db.Now())
		record.Set(table.AttrSessionSK, own.SK)
		record.Set(table.AttrCreatedAt, c.session.CreatedAt)
		c.idemPlace = t.Put(record, isFreeKey(generation, c.db.Now()))
	}
	return t, place
}

// freshMark returns the record that marks a session as just created. Lists take such sessions from the table until the
// index has caught up. The mark lives twice as long, for lists whose first page was read in that time.
func freshMark(session table.Key, created conversation.Session) table.Item {
	it := session.Beside(table.FreshSK(created.CreatedAt, session.SK)).Attributes()
	it.Set(table.AttrGeneration, created.Generation)
	it.Set(table.TTLAttribute, created.CreatedAt.Add(2*freshLife).Unix())
	return it
}

// answer returns the result of a creation whose conditions failed: the answer of the first call with the same key, or a
// Conflict.
func (c *creation) answer(failures table.ConditionFailures) (conversation.Created, error) {
	if existing, failed := failures[c.idemPlace]; failed {
		if err := c.idem.CheckBody(existing.String(table.AttrBodyHash)); err != nil {
			return conversation.Created{}, err
		}
		return c.replay(existing), nil
	}
	return conversation.Created{}, conversation.SessionExists()
}

// replay returns the session as the first call with the key created it, whatever has become of it since: with the
// content of the repeated request, and the id and time of the idempotency record.
func (c *creation) replay(record table.Item) conversation.Created {
	first := c.session
	_, first.ID, _ = table.ParseSessionSK(record.String(table.AttrSessionSK))
	first.CreatedAt = record.Time(table.AttrCreatedAt)
	return conversation.Created{Session: first, Replayed: true}
}

// encodeSession returns the record of a new session. Every later write updates single attributes, so that attributes of
// the app's own stay in the record.
func (db *DB) encodeSession(user conversation.UserID, s conversation.Session) (table.Item, table.Key, error) {
	k := table.KeyOfSession(user, s)
	appContext, err := conversation.AppContextOf(s.Context)
	if err != nil {
		return nil, k, err
	}
	it := k.Attributes()
	if err := it.SetDocument(table.AttrAttributes, s.Attributes); err != nil {
		return nil, k, err
	}
	it.Set(table.AttrEntityType, appContext.EntityType)
	it.Set(table.AttrGeneration, s.Generation)
	if s.Adopted != nil {
		db.adoption.Encode(it, user, s)
		return it, k, nil
	}
	it.Set(table.AttrPlacement, table.SharedPlacement)
	maps.Copy(it, table.SharedAttributes(user, s))
	return it, k, nil
}
