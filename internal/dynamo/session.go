package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/summary"
)

const (
	sessionIDKind = "ses"
	// freshLife is how long after its creation a session is listed from the table. By then the index shows it.
	freshLife = 15 * time.Minute
)

// SessionReader reads single sessions, and what a user may access. It is safe for concurrent use.
type SessionReader struct{ db *DB }

// NewSessionReader returns what reads the sessions of a DB.
func NewSessionReader(db *DB) *SessionReader { return &SessionReader{db} }

// Session reads a session by its id alone, consistently, in one call. An id is in one context at most, so the keys of
// all contexts are asked for together. Where the cache knows the context, that key is asked for first.
func (r *SessionReader) Session(ctx context.Context, user conversation.UserID, id string,
) (conversation.Session, error) {
	if !conversation.ValidID(id) {
		return conversation.Session{}, fault.Missing("session")
	}
	if cached, ok := r.db.cache.session(user, id); ok {
		session, err := r.SessionIn(ctx, user, cached.Context, id)
		if !fault.Is(err, fault.NotFound) {
			return session, err
		}
		r.db.cache.removeSession(user, id)
	}
	return r.sessionAt(ctx, user, sessionKeys(user, id)...)
}

// SessionIn reads a session of a known context, consistently.
func (r *SessionReader) SessionIn(ctx context.Context, user conversation.UserID, context, id string,
) (conversation.Session, error) {
	sk, ok := sessionSK(context, id)
	if !ok {
		return conversation.Session{}, fault.Missing("session")
	}
	return r.sessionAt(ctx, user, key{partition(user), sk})
}

// sessionAt returns the session that is at one of the keys.
func (r *SessionReader) sessionAt(ctx context.Context, user conversation.UserID, keys ...key,
) (conversation.Session, error) {
	records, err := r.db.readCurrent(ctx, "read session", user, keys...)
	if err != nil {
		return conversation.Session{}, err
	}
	for _, k := range keys {
		if session, ok := records.session(user, k); ok {
			r.db.cache.saveSession(user, session)
			return session, nil
		}
	}
	return conversation.Session{}, fault.Missing("session")
}

// Access reads the user's preferences and generation, consistently, in one call.
func (r *SessionReader) Access(ctx context.Context, user conversation.UserID) (longterm.Access, error) {
	records, err := r.db.readCurrent(ctx, "read preferences", user, preferencesKey(user))
	if err != nil {
		return longterm.Access{}, err
	}
	return r.access(ctx, records, user)
}

// Open reads a session of a known context together with the user's preferences and generation, consistently, in one
// call.
func (r *SessionReader) Open(ctx context.Context, user conversation.UserID, context, sessionID string,
) (conversation.Session, longterm.Access, error) {
	sk, ok := sessionSK(context, sessionID)
	if !ok {
		return conversation.Session{}, longterm.Access{}, fault.Missing("session")
	}
	k := key{partition(user), sk}
	records, err := r.db.readCurrent(ctx, "open session", user, k, preferencesKey(user))
	if err != nil {
		return conversation.Session{}, longterm.Access{}, err
	}
	session, ok := records.session(user, k)
	if !ok {
		return conversation.Session{}, longterm.Access{}, fault.Missing("session")
	}
	access, err := r.access(ctx, records, user)
	return session, access, err
}

func preferencesKey(user conversation.UserID) key { return key{partition(user), preferencesSK} }

func (r *SessionReader) access(ctx context.Context, records recordSet, user conversation.UserID,
) (longterm.Access, error) {
	a := accessIn(records, user)
	state, err := r.db.migrationState(ctx)
	a.NotMigrated = !state.IsMoved(user)
	return a, err
}

func accessIn(records recordSet, user conversation.UserID) longterm.Access {
	a := longterm.Access{
		Preferences: longterm.DefaultPreferences(), Generation: records.generation(user), Index: records.index(user),
	}
	if it, ok := records.current(user, preferencesKey(user)); ok {
		a.Preferences = decodePreferences(it)
	}
	return a
}

// SessionStore creates, lists and changes sessions. It is safe for concurrent use.
type SessionStore struct {
	*SessionReader
}

var _ conversation.SessionStore = (*SessionStore)(nil)

// NewSessionStore returns the sessions of a DB.
func NewSessionStore(db *DB) *SessionStore { return &SessionStore{NewSessionReader(db)} }

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
	state, err := s.db.migrationState(ctx)
	if err != nil {
		return conversation.Created{}, err
	}
	c := creation{
		db: s.db, user: user, session: s.newSession(in), idem: idem, token: newRandomDigits(s.db.random),
	}
	c.session.Placement = state.Of(user).Placement()
	b := s.db.backoff()
	failures, err := s.db.commitAtGeneration(ctx, op, user, b, c.build)
	if err != nil && b.ambiguous && c.isStored(ctx) {
		return conversation.Created{Session: c.session}, nil
	}
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
	return in.Session(in.ID, now)
}

// creation is a session that is being created, with the places of its conditions in the last transaction.
type creation struct {
	db      *DB
	user    conversation.UserID
	session conversation.Session
	idem    conversation.Idempotency
	// token is random, and stands in the record: only this call knows it.
	token string

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
	it[attrCreation] = stringAttr(c.token)
	free := notExists().Or(expression.AttributeExists(field(attrPlacement)).
		And(field(attrGeneration).LessThan(value(intAttr(generation)))))
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

// answer returns the result of a creation whose conditions failed: the session that an earlier attempt of this very
// call created, the answer of the first call with the same key, or a Conflict.
func (c *creation) answer(failures *conditionFailures) (conversation.Created, error) {
	if it, failed := failures.existing(c.sessionPlace); failed && c.isOwn(it) {
		return conversation.Created{Session: c.session}, nil
	}
	if existing, failed := failures.existing(c.idemPlace); failed {
		if err := checkSameBody(existing, c.idem); err != nil {
			return conversation.Created{}, err
		}
		return c.replay(existing), nil
	}
	return conversation.Created{}, fault.New(fault.Conflict, "a session of this id exists")
}

func (c *creation) isOwn(it item) bool { return it.string(attrCreation) == c.token }

// isStored reports whether an attempt that had no answer created the session.
func (c *creation) isStored(ctx context.Context) bool {
	sk, _ := sessionSK(c.session.Context, c.session.ID)
	k := key{partition(c.user), sk}
	records, err := c.db.settle(ctx, "create session", k)
	return err == nil && c.isOwn(records[k])
}

// replay returns the session as the first call with the key created it, whatever has become of it since: with the
// content of the repeated request, and the id and time of the idempotency record.
func (c *creation) replay(record item) conversation.Created {
	first := c.session
	_, first.ID, _ = parseSessionSK(record.string(attrSessionSK))
	first.CreatedAt = record.time(attrCreatedAt)
	return conversation.Created{Session: first, Replayed: true}
}

// UpdateSession changes a session. When another writer came first, it applies the change to the session as that writer
// left it. A session falls due when it is completed or when its summary no longer agrees with its attributes, so that
// the sweep writes its summary even when the stream's record of the change is lost.
func (s *SessionStore) UpdateSession(ctx context.Context, user conversation.UserID, id string,
	change conversation.SessionChange,
) (conversation.Session, error) {
	const op = "update session"
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	for b := s.db.backoff(); ; {
		before, err := s.Session(ctx, user, id)
		if err != nil {
			return conversation.Session{}, err
		}
		after, err := before.Edit(change, s.db.now())
		if err != nil {
			return conversation.Session{}, err
		}
		t, err := s.edit(user, before, after, change)
		if err != nil {
			return conversation.Session{}, failed(op, err)
		}
		failures, err := s.db.commit(ctx, op, t, b)
		if err != nil {
			return conversation.Session{}, err
		}
		if failures == nil {
			if after.Entries == noAttributes && len(change.Attributes) > 0 {
				after.Entries = noMessages
			}
			if after.Placement != conversation.Shared && len(after.Attributes) == 0 {
				after.Attributes = nil // as it is read beside an array
			}
			s.db.cache.saveSession(user, after)
			return after, nil
		}
		if err := b.afterConflict(ctx); err != nil {
			return conversation.Session{}, failed(op, err)
		}
	}
}

// edit returns the transaction that changes a session.
func (s *SessionStore) edit(user conversation.UserID, before, after conversation.Session,
	change conversation.SessionChange,
) (*transaction, error) {
	sk, ok := sessionSK(after.Context, after.ID)
	if !ok {
		return nil, errInvalidKey
	}
	k := key{partition(user), sk}
	u := setOwn(expression.UpdateBuilder{}, before, after, attrVersion, attrStatus, attrMode, attrTitle,
		attrSessionCompletedAt)
	u, err := setAttributes(u, before, after, change.Attributes)
	if err != nil {
		return nil, err
	}
	if after.Placement != conversation.Embedded {
		u = u.Set(field(attrActiveAt), value(timeAttr(after.ActiveAt()))).Remove(field(attrOrigin))
		isCompletion := after.Status == conversation.Completed && before.Status != conversation.Completed
		if isCompletion && after.LastSeq > 0 || summary.IsOutdated(after) {
			u = setDueIfNone(u, k, s.db.dueAfterIdle())
		}
	}
	t := s.db.transaction()
	t.update(k, u, isUnchanged(before))
	addDescription(t, k, before, after, s.db.now())
	return t, nil
}

func setOrRemove(u expression.UpdateBuilder, name string, v types.AttributeValue, set bool) expression.UpdateBuilder {
	if set {
		return u.Set(field(name), value(v))
	}
	return u.Remove(field(name))
}

// LeaveSession records that the user navigated away. The stream tells the summarizer of the change. The version stays
// the same, because no append depends on it. Of an embedded session nothing is recorded: the write would cost what its
// array does, and the migration's action index makes it due for its summary in any case.
func (s *SessionStore) LeaveSession(ctx context.Context, user conversation.UserID, id string, at time.Time) error {
	session, err := s.Session(ctx, user, id)
	if err != nil {
		return err
	}
	if session.Placement == conversation.Embedded {
		return nil
	}
	u := expression.Set(field(attrLeftAt), value(timeAttr(at))).Remove(field(attrOrigin))
	return s.db.updateSession(ctx, "leave session", user, session, u)
}

// updateSession changes a session's record on condition that it is still the same session. A session that is gone is a
// NotFound error.
func (db *DB) updateSession(ctx context.Context, op string, user conversation.UserID, session conversation.Session,
	u expression.UpdateBuilder,
) error {
	sk, ok := sessionSK(session.Context, session.ID)
	if !ok {
		return fault.Missing("session")
	}
	_, err := db.updateItem(ctx, key{partition(user), sk}, u, isIncarnation(session))
	if _, gone := conditionFailed(err); gone {
		return fault.Missing("session")
	}
	return failed(op, err)
}
