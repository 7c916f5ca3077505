package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

const (
	sessionIDKind = "ses"
	// freshLife is how long after its creation a session is listed from the table. By then the index shows it.
	freshLife = 15 * time.Minute
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
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	c := creation{db: s.db, user: user, session: s.newSession(in), idem: idem}
	failures, err := s.db.commitAtGeneration(ctx, op, user, s.db.backoff(), c.build)
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
	now := conversation.Milliseconds(s.db.now())
	if in.ID == "" {
		in.ID = conversation.NewID(sessionIDKind, now, s.db.random)
	}
	return conversation.Session{
		ID: in.ID, Context: in.Context, CoachID: in.CoachID, Mode: in.Mode, Title: in.Title,
		Attributes: in.Attributes, Status: conversation.Active, CreatedAt: now,
		Placement: conversation.Shared, Version: 1,
	}
}

// creation is a session that is being created, with the places of its conditions in the last transaction.
type creation struct {
	db      *DB
	user    conversation.UserID
	session conversation.Session
	idem    conversation.Idempotency

	sessionPlace, idemPlace int // idemPlace is -1 without an idempotency key
}

// build returns the transaction that creates the session, and the place of the check of the generation.
func (c *creation) build(generation int64) (*transaction, int) {
	c.session.Generation = generation
	t := c.db.transaction()
	it, own, err := encodeSession(c.user, c.session)
	if err != nil {
		t.err = err
		return t, -1
	}
	free := notExists().Or(field(attrGeneration).LessThan(value(intAttr(generation))))
	c.sessionPlace, c.idemPlace = t.put(it, free), -1
	for _, k := range sessionKeys(c.user, c.session.ID) {
		if k != own {
			t.check(k, free)
		}
	}
	place := t.check(generationKey(c.user), isGeneration(generation))
	t.replace(freshMark(own, c.session))
	if c.idem.Set() {
		record := newIdempotencyRecord(c.user, c.idem, generation, c.db.now())
		record[attrSessionSK] = stringAttr(own.sk)
		record[attrCreatedAt] = timeAttr(c.session.CreatedAt)
		c.idemPlace = t.put(record, isFreeKey(generation, c.db.now()))
	}
	return t, place
}

// freshMark returns the record that marks a session as just created. Lists take such sessions from the table until the
// index has caught up. The mark lives twice as long, for lists whose first page was read in that time.
func freshMark(session key, created conversation.Session) item {
	it := key{session.pk, freshSK(created.CreatedAt, session.sk)}.attributes()
	it[attrGeneration] = intAttr(created.Generation)
	it[TTLAttribute] = intAttr(created.CreatedAt.Add(2 * freshLife).Unix())
	return it
}

// answer returns the result of a creation whose conditions failed: the answer of the first call with the same key, the
// session that an earlier attempt of this very call created, or a Conflict.
func (c *creation) answer(failures *conditionFailures) (conversation.Created, error) {
	if existing, failed := failures.existing(c.idemPlace); failed {
		if err := checkSameBody(existing, c.idem); err != nil {
			return conversation.Created{}, err
		}
		return c.replay(existing), nil
	}
	if it, failed := failures.existing(c.sessionPlace); failed && failures.ambiguous {
		if own, ok := decodeSession(it); ok && own.CreatedAt.Equal(c.session.CreatedAt) {
			return conversation.Created{Session: own}, nil
		}
	}
	return conversation.Created{}, fault.New(fault.Conflict, "a session of this id exists")
}

// replay returns the session as the first call with the key created it, whatever has become of it since: with the
// content of the repeated request, and the id and time of the idempotency record.
func (c *creation) replay(record item) conversation.Created {
	first := c.session
	_, first.ID, _ = parseSessionSK(record.string(attrSessionSK))
	first.CreatedAt = record.time(attrCreatedAt)
	return conversation.Created{Session: first, Replayed: true}
}
