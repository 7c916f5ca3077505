package dynamo

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
)

// DeletionStore deletes messages and sessions. It is safe for concurrent use.
type DeletionStore struct {
	db       *DB
	sessions *SessionReader
	messages *MessageStore
}

var (
	_ erasure.MessageStore = (*DeletionStore)(nil)
	_ erasure.SessionStore = (*DeletionStore)(nil)
	_ erasure.CutStore     = (*DeletionStore)(nil)
	_ erasure.SourceStore  = (*DeletionStore)(nil)
)

// NewDeletionStore returns what deletes messages and sessions of a DB.
func NewDeletionStore(db *DB) *DeletionStore {
	return &DeletionStore{db, NewSessionReader(db), NewMessageStore(db)}
}

// Message reads a message of a session, consistently.
func (s *DeletionStore) Message(ctx context.Context, user conversation.UserID, sessionID, messageID string,
) (conversation.Message, error) {
	sk, ok := parseMessageID(user, messageID)
	if !ok {
		return conversation.Message{}, fault.Missing("message")
	}
	k := key{partition(user), sk}
	records, err := s.db.readCurrent(ctx, "read message", user, k)
	if err != nil {
		return conversation.Message{}, err
	}
	it, _ := records.current(user, k)
	m, ok := decodeMessage(it)
	if !ok {
		return s.messageOfArray(ctx, user, sessionID, sk)
	}
	if m.SessionID != sessionID {
		return conversation.Message{}, fault.Missing("message")
	}
	return m, nil
}

// DeleteMessage deletes a message and corrects its session in one transaction, on condition that the session is as it
// was read. It tries again when another writer came first.
func (s *DeletionStore) DeleteMessage(ctx context.Context, user conversation.UserID, m conversation.Message,
	vectors []string, due time.Time,
) (erasure.Tombstone, error) {
	const op = "delete message"
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	sk, ok := parseMessageID(user, m.ID)
	if !ok {
		return erasure.Tombstone{}, fault.Missing("message")
	}
	tombstone := erasure.Tombstone{
		User: user, ID: messageTombstoneSK(sk), Generation: m.Generation, Message: &m, DeletedAt: s.db.now(),
		Vectors: vectors,
	}
	for b := s.db.backoff(); ; {
		d, err := s.newMessageDeletion(ctx, key{partition(user), sk}, tombstone, due)
		if fault.Is(err, fault.NotFound) && b.ambiguous { // as below, in an array
			return tombstone, nil
		}
		if err != nil {
			return tombstone, err
		}
		failures, err := s.db.commit(ctx, op, d.tx, b)
		if err != nil {
			return tombstone, err
		}
		if failures == nil {
			s.db.cache.saveSession(user, d.after)
			return d.tombstone, nil
		}
		if it, failed := failures.existing(d.messagePlace); failed {
			if it == nil && failures.ambiguous { // an earlier attempt deleted it, and its answer was lost
				return d.tombstone, nil
			}
			return tombstone, fault.Missing("message")
		}
		if err := b.afterConflict(ctx); err != nil {
			return tombstone, failed(op, err)
		}
	}
}

// messageDeletion is the transaction that deletes a message, with the place of the deletion itself.
type messageDeletion struct {
	tx           *transaction
	messagePlace int
	after        conversation.Session
	tombstone    erasure.Tombstone
}

func (s *DeletionStore) newMessageDeletion(ctx context.Context, k key, tombstone erasure.Tombstone, due time.Time,
) (messageDeletion, error) {
	user, m := tombstone.User, *tombstone.Message
	sk, _ := sessionSK(m.Context, m.SessionID)
	sessionKey := key{partition(user), sk}
	before, record, err := s.sessions.record(ctx, user, sessionKey)
	if err != nil {
		return messageDeletion{}, err
	}
	first, last, err := s.endsWithout(ctx, user, before, m)
	if err != nil {
		return messageDeletion{}, err
	}
	d := messageDeletion{tx: s.db.transaction(), after: before.Without(m, first, last), tombstone: tombstone}
	u := setOwn(expression.UpdateBuilder{}, before, d.after, attrVersion, attrDeletedSeqs)
	if before.Placement != conversation.Embedded {
		u = setCounters(user, d.after).Set(field(attrDeletedSeqs), value(stringAttr(d.after.Deleted.String())))
		if d.after.Summarized.Seq < d.after.LastSeq { // the sweep summarises what is left
			u = setDue(u, sessionKey, s.db.now())
		}
	}
	if path := pathIn(before); !isAppsOwn(before) {
		u = setWatermark(u, path(attrSummarizedSeq), path(attrSummarizedAt), d.after.Summarized)
		if before.Summary != nil && d.after.Summary == nil {
			u = removeSessionSummary(u, path)
			d.addSummaryDeletion(user, before)
			clearSpine(d.tx, user, before, s.db.now())
		}
	}
	isAsRead := isUnchanged(before).And(hasSameSummary(before))
	if before.Placement == conversation.Shared {
		// A message of an earlier session of the same id has a seq of that session.
		d.messagePlace = d.tx.delete(k, isOf(before))
	} else {
		d.messagePlace = d.tx.remove(k)
		d.after.Entries--
		var isSame expression.ConditionBuilder
		if u, isSame, err = removeEntry(u, record, before, d.after, m); err != nil {
			return d, err
		}
		isAsRead = isAsRead.And(isSame)
	}
	d.tx.update(sessionKey, u, isAsRead)
	d.tx.replace(encodeTombstone(d.tombstone, due))
	return d, nil
}

// addSummaryDeletion deletes the session's summary, which covers the message.
func (d *messageDeletion) addSummaryDeletion(user conversation.UserID, session conversation.Session) {
	if k, id, ok := summaryOf(user, session); ok {
		d.tx.remove(k)
		d.tombstone.Vectors = append(d.tombstone.Vectors, id)
	}
}

// summaryOf returns the key of a session's summary and its vector id. ok is false where the context is not registered.
func summaryOf(user conversation.UserID, session conversation.Session) (k key, vector string, ok bool) {
	surface, err := conversation.SurfaceOf(session.Context)
	if err != nil {
		return key{}, "", false
	}
	sk, ok := summarySK(surface.Summary.Type, session.ID)
	return key{partition(user), sk}, strings.TrimPrefix(sk, summaryPrefix), ok
}

// hasSameSummary is the condition that nobody has saved a summary since the session was read, because a new summary
// may cover the message.
func hasSameSummary(s conversation.Session) expression.ConditionBuilder {
	covered := field(pathIn(s)(attrSummaryCoveredSeq))
	if s.Summary == nil {
		return expression.AttributeNotExists(covered)
	}
	return covered.Equal(value(intAttr(s.Summary.CoveredThrough)))
}

// endsWithout returns the first and the last message that a session has without one, nil where none is left.
func (s *DeletionStore) endsWithout(ctx context.Context, user conversation.UserID, session conversation.Session,
	without conversation.Message,
) (first, last *conversation.Message, err error) {
	session.Deleted = session.Deleted.Add(without.Seq)
	for _, end := range []struct {
		descending bool
		to         **conversation.Message
	}{{false, &first}, {true, &last}} {
		r := messageRange{session: session, limit: 1, descending: end.descending}
		messages, _, _, err := s.messages.readRange(ctx, user, r)
		if err != nil {
			return nil, nil, err
		}
		if len(messages) > 0 {
			*end.to = &messages[0]
		}
	}
	return first, last, nil
}

// DeleteSession deletes a session's record and stores a tombstone that says where its messages are. After that no
// append finds the session. It tries again when another writer came first.
func (s *DeletionStore) DeleteSession(ctx context.Context, user conversation.UserID, id string, due time.Time,
) (erasure.Tombstone, error) {
	const op = "delete session"
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	var tombstone erasure.Tombstone
	for b := s.db.backoff(); ; {
		session, err := s.sessions.Session(ctx, user, id)
		if fault.Is(err, fault.NotFound) {
			unfinished, err := s.UnfinishedDeletion(ctx, user, id)
			if fault.Is(err, fault.NotFound) && b.ambiguous {
				return tombstone, nil // an earlier attempt deleted it, its answer was lost, and the sweep has ended the rest
			}
			return unfinished, err
		}
		if err != nil {
			return erasure.Tombstone{}, err
		}
		if session, err = withStored(ctx, s.db, user, session); err != nil {
			return erasure.Tombstone{}, err
		}
		sk, _ := sessionSK(session.Context, session.ID)
		tombstone = erasure.Tombstone{
			User: user, ID: sessionTombstoneSK(sk, session), Generation: session.Generation, Session: &session,
			DeletedAt: s.db.now(),
		}
		t := s.db.transaction()
		t.delete(key{partition(user), sk}, isUnchanged(session))
		t.replace(encodeTombstone(tombstone, due))
		removeBeside(t, user, session, sk)
		if session.Summary != nil {
			clearSpine(t, user, session, s.db.now())
		}
		failures, err := s.db.commit(ctx, op, t, b)
		if err != nil || failures == nil {
			s.db.cache.removeSession(user, id)
			return tombstone, err
		}
		if err := b.afterConflict(ctx); err != nil {
			return erasure.Tombstone{}, failed(op, err)
		}
	}
}

// UnfinishedDeletion returns the tombstone of a session of that id whose messages are not all deleted.
func (s *DeletionStore) UnfinishedDeletion(ctx context.Context, user conversation.UserID, id string,
) (erasure.Tombstone, error) {
	if !conversation.ValidID(id) {
		return erasure.Tombstone{}, fault.Missing("session")
	}
	for _, k := range sessionKeys(user, id) {
		q := query{where: withPrefix(user, sessionTombstonePrefix(k.sk))}
		for it, err := range s.db.query(ctx, "read tombstone", q) {
			if err != nil {
				return erasure.Tombstone{}, err
			}
			if t, ok := decodeTombstone(it); ok && t.Session != nil && !t.Emptied {
				return t, nil
			}
		}
	}
	return erasure.Tombstone{}, fault.Missing("session")
}

// RemainingMessages returns one page of the messages that are left of a deleted session, from the table.
func (s *DeletionStore) RemainingMessages(ctx context.Context, t erasure.Tombstone, page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	if t.Session.MessageCount == 0 {
		return nil, "", nil
	}
	sk, _ := sessionSK(t.Session.Context, t.Session.ID)
	source := sourceID(t.User, sk)
	low, high := messageBounds(t.Session.StartedAt, t.Session.LastMessageAt.Add(time.Millisecond))
	after, err := startAfter(t.User, page.After, low, high, isMessageSK)
	if err != nil {
		return nil, "", err
	}
	q := query{where: between(t.User, low, high), page: page.Limit + 1, after: after}
	p := pager[conversation.Message]{limit: page.Limit}
	return p.collect(s.db.query(ctx, "read messages", q), func(it item) (conversation.Message, bool) {
		if it.string(attrSourceID) != source || !isMessageOf(it, *t.Session) {
			return conversation.Message{}, false
		}
		return decodeMessage(it)
	})
}

// DeleteMessages deletes the records of messages. It needs no condition, because their keys are never used again.
func (s *DeletionStore) DeleteMessages(ctx context.Context, user conversation.UserID, messages []conversation.Message,
) error {
	const op = "delete messages"
	keys := make([]key, 0, len(messages))
	for _, m := range messages {
		sk, ok := parseMessageID(user, m.ID)
		if !ok {
			return failed(op, errInvalidKey)
		}
		keys = append(keys, key{partition(user), sk})
	}
	return failed(op, s.db.deleteAll(ctx, keys))
}

// DeleteSummaries deletes a session's summary and returns its vector ids. The summary of a later session of the same id
// has the same key and the same vector, and stays.
func (s *DeletionStore) DeleteSummaries(ctx context.Context, user conversation.UserID, session conversation.Session,
) ([]string, error) {
	k, id, ok := summaryOf(user, session)
	if !ok {
		return nil, nil
	}
	err := s.db.deleteItem(ctx, k, notExists().Or(isOf(session)))
	if _, isOther := conditionFailed(err); isOther {
		return nil, nil
	}
	return []string{id}, failed("delete summary", err)
}

// isBeyondDocument reports whether a vector is of a part that the document of a record cannot have: a document before
// it had the same key and a longer text.
func isBeyondDocument(it item, vectorID string) bool {
	sk := it.string(attrSK)
	if !isDocumentSK(sk) {
		return false
	}
	return !slices.Contains(documentVectors(sk, 0, int(it.int64(attrVectorCount))), vectorID)
}

// WithoutRecord returns those of the vector ids behind which there is no record of the generation.
func (s *DeletionStore) WithoutRecord(ctx context.Context, user conversation.UserID, generation int64, vectors []string,
) ([]string, error) {
	keys := map[key]bool{}
	for _, id := range vectors {
		for _, k := range vectorKeys(user, id) {
			keys[k] = true
		}
	}
	records, err := s.db.read(ctx, "read records", slices.Collect(maps.Keys(keys))...)
	if err != nil {
		return nil, err
	}
	hasRecord := func(id string) bool {
		return slices.ContainsFunc(vectorKeys(user, id), func(k key) bool {
			it, ok := records[k]
			return ok && it.int64(attrGeneration) == generation && !isBeyondDocument(it, id)
		})
	}
	return slices.DeleteFunc(slices.Clone(vectors), hasRecord), nil
}

// DeleteDescriptions deletes the earlier titles and attributes of a session, and its clientMessageIds.
func (s *DeletionStore) DeleteDescriptions(ctx context.Context, user conversation.UserID, session conversation.Session,
) error {
	const op = "delete descriptions"
	sk, _ := sessionSK(session.Context, session.ID)
	var keys []key
	for _, prefix := range []string{descriptionsOf(sk, session), clientsOf(sk, session), keptPrefix + sk + "#"} {
		q := query{where: withPrefix(user, prefix), only: []string{attrPK, attrSK}}
		for it, err := range s.db.queryWithExpired(ctx, op, q) {
			if err != nil {
				return err
			}
			keys = append(keys, keyOf(it))
		}
	}
	return failed(op, s.db.deleteAll(ctx, keys))
}

// SessionsOf returns the sessions of the messages that exist, by message id.
func (s *DeletionStore) SessionsOf(ctx context.Context, user conversation.UserID, messageIDs []string,
) (map[string]erasure.Source, error) {
	ids := map[key]string{}
	var keys []key
	for _, id := range messageIDs {
		sk, ok := parseMessageID(user, id)
		if k := (key{partition(user), sk}); ok && ids[k] == "" {
			ids[k] = id
			keys = append(keys, k)
		}
	}
	records, err := s.db.read(ctx, "read messages", keys...)
	if err != nil {
		return nil, err
	}
	sessions := make(map[string]erasure.Source, len(records))
	for k, it := range records {
		if m, ok := decodeMessage(it); ok {
			sessions[ids[k]] = erasure.Source{SessionID: m.SessionID, CreatedAt: sessionCreatedAt(it)}
		}
	}
	return sessions, nil
}
