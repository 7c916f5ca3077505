package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
)

// Append stores messages, the session's counters and the idempotency record in one transaction. The session in the
// answer has no summary, so that a repeat can give the same answer.
func (s *MessageStore) Append(ctx context.Context, user conversation.UserID, in conversation.Append,
) (conversation.Appended, error) {
	now := s.db.Now()
	in, err := in.Prepare(now)
	if err != nil {
		return conversation.Appended{}, err
	}
	a := newAppender(s.db, s.sessions, user, in, now)
	if in.Idempotency.Set() {
		a.addRecord = func(t *table.Transaction, k table.Key, done conversation.Appended) int {
			record := newIdempotencyRecord(user, in.Idempotency, done.Session.Generation, now)
			recordAppend(record, k, done)
			return t.Put(record, isFreeKey(done.Session.Generation, now))
		}
	}
	out, existing, err := a.append(ctx)
	if fault.Is(err, fault.NotFound) && in.Idempotency.Set() {
		existing, err = s.readIdempotencyRecord(ctx, user, in.Idempotency)
	}
	if err != nil || existing == nil {
		return out, err
	}
	if err := in.Idempotency.CheckBody(existing.String(table.AttrBodyHash)); err != nil {
		return conversation.Appended{}, err
	}
	return s.replayAppend(ctx, user, in, existing)
}

// appender appends messages to one session.
type appender struct {
	db        *DB
	sessions  *SessionReader
	user      conversation.UserID
	sessionID string
	messages  []conversation.NewMessage
	now       time.Time
	// of is the session that the messages belong to, where the caller knows it. A later one of the same id is missing.
	of *conversation.Session
	// answers is the seq of the message that is answered, where one is. Once that is deleted, no answer is stored.
	answers int
	// planned is the id that the message is to have, while its time stays the one in the id. Otherwise it gets a new one.
	planned string
	// addRecord adds the write of the idempotency record and returns its place. It is nil without an idempotency key.
	addRecord func(*table.Transaction, table.Key, conversation.Appended) int
	// guards are further writes of the transaction.
	guards guards
	// all are the messages of the call. messages are those of them that have to be stored, and known those that an
	// earlier append stored, by their clientMessageIds. current is the session when they were found.
	all     []conversation.NewMessage
	known   map[string]conversation.Message
	current conversation.Session
	// refusesDuplicates says that a message that is stored already is a Conflict.
	refusesDuplicates bool
}

func newAppender(db *DB, sessions *SessionReader, user conversation.UserID, in conversation.Append, now time.Time,
) appender {
	return appender{
		db: db, sessions: sessions, user: user, sessionID: in.SessionID, messages: in.Messages, all: in.Messages, now: now,
		known: map[string]conversation.Message{},
	}
}

// guard is a write beside an append, such as the check of a quota.
type guard struct {
	// add adds the write and returns its place. It returns -1 where there is nothing to write.
	add func(*table.Transaction, conversation.Session) int
	// refused gets the record that failed the write's condition. It returns the error that ends the append, or nil for
	// another attempt.
	refused func(existing table.Item) error
}

// guards are the guards of one transaction.
type guards []guard

// add adds their writes and returns the places of these.
func (all guards) add(t *table.Transaction, in conversation.Session) []int {
	places := make([]int, len(all))
	for i, g := range all {
		places[i] = g.add(t, in)
	}
	return places
}

// refused returns the error of the first guard that ends what they are beside.
func (all guards) refused(places []int, failures table.ConditionFailures) error {
	for i, g := range all {
		if existing, refused := failures[places[i]]; refused {
			if err := g.refused(existing); err != nil {
				return err
			}
		}
	}
	return nil
}

// append tries until the messages are stored, the time is over, or the append is refused. existing is the idempotency
// record of an earlier call with the same key.
//
// Every attempt is for the session as this process knows it. When another writer came first, the failed condition
// returns the session as it is now, and the next attempt is made with that at once. During a wait the session would
// change, and the next attempt would fail for sure.
//
// A writer that had a conflict removes the session from the cache, so that its next append begins with a read. That
// lets the others go first. With a current version in its cache, the last winner would keep winning.
func (a *appender) append(ctx context.Context) (out conversation.Appended, existing table.Item, err error) {
	const op = "append messages"
	ctx, cancel := context.WithTimeout(ctx, table.OperationTimeout)
	defer cancel()
	unlock, err := a.db.locks.lock(ctx, cacheKey{a.user, a.sessionID})
	if err != nil {
		return out, nil, table.Failed(op, err)
	}
	defer unlock()
	session, ok := a.db.cache.session(a.user, a.sessionID)
	if !ok {
		if session, err = a.sessions.Session(ctx, a.user, a.sessionID); err != nil {
			return out, nil, err
		}
	}
	b := a.db.Backoff()
	for conflicts := 0; ; conflicts++ {
		attempt, err := a.newAttempt(ctx, session)
		if err != nil {
			return out, nil, table.Failed(op, err)
		}
		failures, err := a.db.Commit(ctx, op, attempt.tx, b)
		stored := err == nil && failures == nil
		if after := attempt.result.Session; !stored && table.IsTooLarge(err) && after.Adopted != nil {
			if session, err = a.db.adoption.Outgrown(ctx, a.user, after); err == nil {
				continue
			}
		}
		if stored || err != nil {
			if conflicts == 0 && err == nil {
				a.db.cache.saveSession(a.user, attempt.result.Session)
			} else {
				a.db.cache.removeSession(a.user, a.sessionID)
			}
			return a.withKnown(attempt.result), nil, err
		}
		if out, existing, ended, err := a.refused(ctx, attempt, failures); ended || err != nil {
			return out, existing, err
		}
		if session, err = a.currentSession(ctx, attempt, failures); err != nil {
			return out, nil, table.Failed(op, err)
		}
	}
}

// refused says whether conditions that failed end the append, with its answer where all messages were stored before.
// existing is the idempotency record of an earlier call.
func (a *appender) refused(ctx context.Context, try appendAttempt, failures table.ConditionFailures,
) (out conversation.Appended, existing table.Item, ended bool, err error) {
	if existing, failed := failures[try.recordPlace]; failed {
		return out, existing, true, nil
	}
	if err := a.guards.refused(try.guardPlaces, failures); err != nil {
		return out, nil, true, err
	}
	n, err := a.setAside(ctx, try, failures)
	if err != nil || n == 0 || len(a.messages) > 0 {
		return out, nil, false, err
	}
	return a.withKnown(conversation.Appended{Session: a.current}), nil, true, nil
}

// appendAttempt is one transaction of an append, with the places of its conditions.
type appendAttempt struct {
	tx     *table.Transaction
	result conversation.Appended
	// recordPlace is -1 without an idempotency key. guardPlaces are those of the guards.
	sessionPlace, recordPlace int
	guardPlaces               []int
	// clientPlaces are those of the records of the messages' clientMessageIds, -1 for a message without one.
	clientPlaces []int
}

// newAttempt returns the transaction that appends to the session. An adopted one may be moved first.
func (a *appender) newAttempt(ctx context.Context, session conversation.Session) (appendAttempt, error) {
	if err := a.checkTarget(session); err != nil {
		return appendAttempt{}, err
	}
	write := PlainWrite(session)
	if session.Adopted != nil {
		var err error
		if write, err = a.db.adoption.Route(ctx, a.user, session); err != nil {
			return appendAttempt{}, err
		}
	}
	messages, after := write.Before().Extend(a.messages, a.now)
	after = write.After(after, a.messages)
	for i := range messages {
		messages[i].ID = a.newID(messages[i].Timestamp)
		if !after.IsMigrated() {
			messages[i].Turn = "" // the app's own record has no place for it, and its turns cannot be replaced
		}
	}
	try := appendAttempt{
		tx: a.db.Transaction(), result: conversation.Appended{Messages: messages, Session: after}, recordPlace: -1,
	}
	k := table.KeyOfSession(a.user, session)
	u, isAsRead, err := write.Update(a.user, after, messages, a.db.DueAfterIdle())
	if err != nil {
		return try, err
	}
	try.sessionPlace = try.tx.Update(k, a.db.askForSummary(u, write.Before(), after), isAsRead)
	if after.IsMigrated() {
		for _, m := range messages {
			try.tx.Put(table.EncodeMessage(a.user, after, m), table.NotExists())
		}
	}
	try.clientPlaces = a.addClientIDs(try.tx, k, try.result)
	if a.addRecord != nil {
		try.recordPlace = a.addRecord(try.tx, k, a.withKnown(try.result))
	}
	try.guardPlaces = a.guards.add(try.tx, write.Before())
	// Only this call knows the random part of its message ids.
	sk, _ := table.ParseMessageID(a.user, messages[0].ID)
	try.tx.DoneIf(func(r table.RecordSet) bool {
		_, _, ok := a.db.message(r, a.user, k.SK, sk)
		return ok
	}, k, table.UserKey(a.user, sk))
	return try, nil
}

// checkTarget refuses a later session of the same id, and the answer to a message that was deleted.
func (a *appender) checkTarget(session conversation.Session) error {
	switch {
	case a.of != nil && !session.IsSame(*a.of):
		return fault.Missing("session")
	case session.Deleted.Contains(a.answers):
		return conversation.TurnReplaced()
	}
	return nil
}

// newID returns the id of a message of that time: the planned one, or one with new random digits.
func (a *appender) newID(at time.Time) string {
	if sk, ok := table.ParseMessageID(a.user, a.planned); ok {
		if planned, _, _ := table.ParseMessageSK(sk); planned.Equal(at) {
			return a.planned
		}
	}
	return newMessageID(a.db, a.user, at)
}

// newMessageID returns an id that only its caller knows.
func newMessageID(db *DB, user conversation.UserID, at time.Time) string {
	return table.MessageID(user, at, table.NewShortID(at, table.NewRandomDigits(db.Random)))
}

// askForSummary marks a session whose messages since its summary reach their number with an append, and removes the
// mark with the next one. The stream's filter passes the change that marks it. Another function may have stored a
// summary since this one read the session: then the mark is early or late by fewer messages than that number.
func (db *DB) askForSummary(u table.Update, before, after conversation.Session) table.Update {
	if !after.IsMigrated() {
		return u
	}
	times := func(s conversation.Session) int { return (s.LastSeq - s.Summarized.Seq) / db.summaryEvery }
	if times(after) > times(before) {
		return u.Set(table.AttrSummaryAskedAt, db.Now())
	}
	return u.Remove(table.AttrSummaryAskedAt)
}

// currentSession returns the session for the next attempt: as the failed condition returned it, or else as the table
// has it.
func (a *appender) currentSession(ctx context.Context, try appendAttempt, failures table.ConditionFailures,
) (conversation.Session, error) {
	it := failures[try.sessionPlace]
	session, ok := a.db.DecodeSession(it)
	if !ok || session.Version == 0 { // an app's own, whose generation is not in the record
		return a.sessions.Session(ctx, a.user, a.sessionID)
	}
	return session, nil
}
