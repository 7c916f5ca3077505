package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// A session has one mark of the answer that is being generated, the last that began. It names the turn's idempotency
// record, which says how the turn is. The transactions of a turn write and delete the mark, so it takes no call of its
// own. Only while somebody has joined the answer, the mark also has the text so far. It is deleted with the session.

// joinedFor is how long the generator goes on to store the text after somebody last asked for it.
const joinedFor = 20 * time.Second

// markKey is the key of the mark of the answer that is being generated in a session.
func markKey(user conversation.UserID, sessionSK string) key {
	return key{partition(user), answerPrefix + sessionSK}
}

func newMark(user conversation.UserID, turn conversation.Turn, sessionSK string, generation int64, now time.Time) item {
	it := markKey(user, sessionSK).attributes()
	it[attrTurnSK] = stringAttr(idempotencySK(turn.Idempotency))
	it[attrLease] = stringAttr(turn.Lease)
	it[attrGeneration] = intAttr(generation)
	it[TTLAttribute] = intAttr(now.Add(idempotencyLife).Unix())
	return it
}

// markOf returns the key of a turn's mark, and the condition that the mark is of this turn and this holder of it.
func markOf(user conversation.UserID, turn conversation.Turn) (key, expression.ConditionBuilder) {
	sk, _ := sessionSK(turn.Session.Context, turn.Session.ID)
	return markKey(user, sk), field(attrLease).Equal(value(stringAttr(turn.Lease)))
}

// unmarking deletes a turn's mark beside an append. The mark of a turn that began later stays.
func unmarking(user conversation.UserID, turn conversation.Turn) guard {
	isAnothers := turn.Lease == ""
	return guard{
		add: func(t *transaction, _ conversation.Session) int {
			if isAnothers {
				return -1
			}
			k, isOwn := markOf(user, turn)
			return t.delete(k, isOwn.Or(notExists()))
		},
		refused: func(item) error { isAnothers = true; return nil },
	}
}

// unmark deletes the mark of a turn that is released.
func (s *TurnStore) unmark(ctx context.Context, user conversation.UserID, turn conversation.Turn) error {
	if turn.Lease == "" {
		return nil
	}
	k, isOwn := markOf(user, turn)
	return failed("release turn", ignoreConditionFailed(s.db.deleteItem(ctx, k, isOwn)))
}

// SaveProgress stores the text so far in the turn's mark. It writes nothing when the turn is no longer this holder's.
func (s *TurnStore) SaveProgress(ctx context.Context, user conversation.UserID, turn conversation.Turn,
	p conversation.Progress,
) error {
	k, isOwn := markOf(user, turn)
	u := expression.Set(field(attrText), value(stringAttr(p.Text))).Set(field(attrPromptID), value(stringAttr(p.PromptID)))
	_, err := s.db.updateItem(ctx, k, u, isOwn)
	return failed("save progress", ignoreConditionFailed(err))
}

// CheckTurn returns a NotFound error when the session of a turn is gone: it was deleted, or its user was erased.
// Otherwise it reports whether somebody has joined the turn.
func (s *TurnStore) CheckTurn(ctx context.Context, user conversation.UserID, turn conversation.Turn) (bool, error) {
	sk, ok := sessionSK(turn.Session.Context, turn.Session.ID)
	if !ok {
		return false, errInvalidKey
	}
	sessionKey, mark := key{partition(user), sk}, markKey(user, sk)
	records, err := s.db.readCurrent(ctx, "read session", user, sessionKey, mark)
	if err != nil {
		return false, err
	}
	session, ok := records.session(user, sessionKey)
	if !ok || !session.IsSame(turn.Session) {
		return false, fault.Missing("session")
	}
	it, _ := records.current(user, mark)
	return turn.Lease != "" && it.string(attrLease) == turn.Lease && it.time(attrJoinedUntil).After(s.db.now()), nil
}

// joinSlot is the kind of slot that a user who joins an answer takes. There are as many as answers at once.
const joinSlot = "join"

// JoinTurn returns the turn whose answer is being generated in a session, and asks its holder to store the text as it
// grows. The zero Joined means that there is none.
func (s *TurnStore) JoinTurn(ctx context.Context, user conversation.UserID, sessionID string, longest time.Duration,
) (conversation.Joined, error) {
	session, err := s.sessions.Session(ctx, user, sessionID)
	if err != nil {
		return conversation.Joined{}, err
	}
	sk, _ := sessionSK(session.Context, session.ID)
	records, err := s.db.readCurrent(ctx, "join turn", user, markKey(user, sk))
	if err != nil {
		return conversation.Joined{}, err
	}
	mark, ok := records.current(user, markKey(user, sk))
	if !ok {
		return conversation.Joined{}, nil
	}
	j := conversation.Joined{Session: session, Record: mark.string(attrTurnSK), Lease: mark.string(attrLease)}
	p, err := s.FollowTurn(ctx, user, j)
	if err != nil || p.Ended || p.Answer != nil {
		return conversation.Joined{}, err
	}
	slot := newSlot(s.db, user, joinSlot, s.db.slots, s.db.now().Add(longest))
	if err := slot.takeNow(ctx, session.Generation); err != nil {
		return conversation.Joined{}, err
	}
	if j.End = slot.releaseNow; slot == nil {
		j.End = func(context.Context) error { return nil }
	}
	return j, s.AskForProgress(ctx, user, j)
}

// AskForProgress asks the holder of a turn to go on storing its text.
func (s *TurnStore) AskForProgress(ctx context.Context, user conversation.UserID, j conversation.Joined) error {
	k, isOwn := markOf(user, conversation.Turn{Session: j.Session, Lease: j.Lease})
	u := expression.Set(field(attrJoinedUntil), value(timeAttr(s.db.now().Add(joinedFor))))
	_, err := s.db.updateItem(ctx, k, u, isOwn)
	return failed("join turn", ignoreConditionFailed(err))
}

// FollowTurn returns how far the answer of a turn is. It returns a NotFound error when the session is gone.
func (s *TurnStore) FollowTurn(ctx context.Context, user conversation.UserID, j conversation.Joined,
) (conversation.Progress, error) {
	sk, _ := sessionSK(j.Session.Context, j.Session.ID)
	pk := partition(user)
	sessionKey, turnKey, mark := key{pk, sk}, key{pk, j.Record}, markKey(user, sk)
	records, err := s.db.readCurrent(ctx, "follow turn", user, sessionKey, turnKey, mark)
	if err != nil {
		return conversation.Progress{}, err
	}
	if session, ok := records.session(user, sessionKey); !ok || !session.IsSame(j.Session) {
		return conversation.Progress{}, fault.Missing("session")
	}
	record, ok := records.current(user, turnKey)
	p := conversation.Progress{AnswerID: idOfMessage(user, record.string(attrAnswerSK))}
	for _, sk := range record.strings(attrMessageSKs) {
		p.QuestionID = idOfMessage(user, sk)
	}
	switch {
	case ok && record.string(attrState) == stateDone:
		p.Answer, err = s.answer(ctx, user, record)
		return p, err
	case !ok || record.string(attrLease) != j.Lease || !record.time(attrLeaseUntil).After(s.db.now()):
		p.Ended = true
	}
	if it, ok := records.current(user, mark); ok && it.string(attrLease) == j.Lease {
		p.PromptID, p.Text = it.string(attrPromptID), it.string(attrText)
	}
	return p, nil
}

// idOfMessage returns the id of the message of that sort key, or "".
func idOfMessage(user conversation.UserID, sk string) string {
	at, short, ok := parseMessageSK(sk)
	if !ok {
		return ""
	}
	return messageID(user, at, short)
}
