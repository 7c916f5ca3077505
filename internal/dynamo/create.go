package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

const sessionIDKind = "ses"

// CreateSession stores a new session on condition that the user has none of its id in any context. The user's
// generation is guessed and checked by the transaction, so that one call is enough.
func (s *Store) CreateSession(ctx context.Context, user conversation.UserID, in conversation.NewSession, idem conversation.Idempotency) (conversation.Created, error) {
	in, err := in.Prepare()
	if err != nil {
		return conversation.Created{}, err
	}
	session := s.newSession(in)
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	session.Generation = s.known.generation(user)
	for p := s.patience(); ; {
		c, err := s.creation(user, session, idem)
		if err != nil {
			return conversation.Created{}, failed("create session", err)
		}
		refused, err := s.commit(ctx, "create session", c.tx, p)
		if err != nil {
			return conversation.Created{}, err
		}
		if refused == nil {
			s.known.keep(user, session)
			return conversation.Created{Session: session}, nil
		}
		if met, failed := refused.met(c.generation); failed {
			session.Generation = met.whole(attrGeneration)
			s.known.keepGeneration(user, session.Generation)
			continue
		}
		return created(session, idem, c, refused)
	}
}

func (s *Store) newSession(in conversation.NewSession) conversation.Session {
	now := conversation.Milliseconds(s.now())
	if in.ID == "" {
		in.ID = conversation.NewID(sessionIDKind, now, s.random)
	}
	return conversation.Session{
		ID: in.ID, Context: in.Context, CoachID: in.CoachID, Mode: in.Mode, Title: in.Title,
		Attributes: in.Attributes, Status: conversation.Active, CreatedAt: now,
		Placement: conversation.Shared, Version: 1,
	}
}

// creation is the transaction that creates a session; ledger is -1 without an idempotency key.
type creation struct {
	tx                          *transaction
	session, generation, ledger int
}

func (s *Store) creation(user conversation.UserID, session conversation.Session, idem conversation.Idempotency) (creation, error) {
	c := creation{tx: s.transaction(), ledger: -1}
	it, own, err := encodeSession(user, session)
	if err != nil {
		return c, err
	}
	free := expression.AttributeNotExists(field(attrPK)).
		Or(field(attrGeneration).LessThan(value(whole(session.Generation))))
	c.session = c.tx.put(it, free)
	for _, k := range sessionKeys(user, session.ID) {
		if k != own {
			c.tx.check(k, free)
		}
	}
	c.generation = c.tx.check(generationKey(user), isGeneration(session.Generation))
	c.tx.set(s.fresh(own, session))
	if idem.Set() {
		l := s.ledger(user, idem, session.Generation)
		l[attrSessionSK] = text(own.sk)
		l[attrCreatedAt] = moment(session.CreatedAt)
		c.ledger = c.tx.put(l, s.ledgerFree(session.Generation))
	}
	return c, nil
}

// isGeneration is the condition that the user's generation is that one; who was never erased has no record of it.
func isGeneration(g int64) expression.ConditionBuilder {
	is := field(attrGeneration).Equal(value(whole(g)))
	if g == 0 {
		return expression.AttributeNotExists(field(attrGeneration)).Or(is)
	}
	return is
}

// fresh marks a session as just created: lists take it from the table until the index has surely caught up. The mark
// stays twice as long, for the lists that began in that time.
func (s *Store) fresh(session key, created conversation.Session) item {
	it := key{session.pk, freshSK(created.CreatedAt, session.sk)}.attributes()
	it[attrGeneration] = whole(created.Generation)
	it[TTLAttribute] = whole(created.CreatedAt.Add(2 * freshLife).Unix())
	return it
}

// created answers a creation whose conditions failed: a replay, the lost answer of this very call, or a conflict.
func created(session conversation.Session, idem conversation.Idempotency, c creation, refused *refusal) (conversation.Created, error) {
	if met, failed := refused.met(c.ledger); failed {
		if err := sameBody(met, idem); err != nil {
			return conversation.Created{}, err
		}
		return createdFirst(session, met), nil
	}
	if it, failed := refused.met(c.session); failed && refused.unsure {
		if own, ok := decodeSession(it); ok && own.CreatedAt.Equal(session.CreatedAt) {
			return conversation.Created{Session: own}, nil
		}
	}
	return conversation.Created{}, fault.New(fault.Conflict, "a session of this id exists")
}

// createdFirst is the session as the first call with the key created it, whatever has become of it: what the repeat
// asks for, under the id and with the time that the ledger record has.
func createdFirst(again conversation.Session, ledger item) conversation.Created {
	_, again.ID, _ = parseSessionSK(ledger.text(attrSessionSK))
	again.CreatedAt = ledger.time(attrCreatedAt)
	return conversation.Created{Session: again, Replayed: true}
}
