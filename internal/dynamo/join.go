package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
)

// A session has one mark of the answer that is being generated, the last that began. It names the turn's idempotency
// record, which says how the turn is. The transactions of a turn write and delete the mark, so it takes no call of its
// own. Only while somebody has joined the answer, the mark also has the text so far. It is deleted with the session.

// joinedFor is how long the generator goes on to store the text after somebody last asked for it.
const joinedFor = 20 * time.Second

// markKey is the key of the mark of the answer that is being generated in a session.
func markKey(user conversation.UserID, sessionSK string) table.Key {
	return table.UserKey(user, table.AnswerPrefix+sessionSK)
}

func newMark(user conversation.UserID, turn conversation.Turn, sessionSK string, generation int64, now time.Time,
) table.Item {
	it := markKey(user, sessionSK).Attributes()
	it.Set(table.AttrTurnSK, table.IdempotencySK(turn.Idempotency))
	it.Set(table.AttrLease, turn.Lease)
	it.Set(table.AttrGeneration, generation)
	it.Set(table.TTLAttribute, now.Add(conversation.IdempotencyLife).Unix())
	return it
}

// markOf returns the key of a turn's mark, and the condition that the mark is of this turn and this holder of it.
func markOf(user conversation.UserID, turn conversation.Turn) (table.Key, table.Condition) {
	sk, _ := table.SessionSK(turn.Session.Context, turn.Session.ID)
	return markKey(user, sk), table.Is(table.AttrLease, turn.Lease)
}

// unmarking deletes a turn's mark beside an append. The mark of a turn that began later stays.
func unmarking(user conversation.UserID, turn conversation.Turn) guard {
	isAnothers := turn.Lease == ""
	return guard{
		add: func(t *table.Transaction, _ conversation.Session) int {
			if isAnothers {
				return -1
			}
			k, isOwn := markOf(user, turn)
			return t.Delete(k, isOwn.Or(table.NotExists()))
		},
		refused: func(table.Item) error { isAnothers = true; return nil },
	}
}

// unmark deletes the mark of a turn that is released.
func (s *TurnStore) unmark(ctx context.Context, user conversation.UserID, turn conversation.Turn) error {
	if turn.Lease == "" {
		return nil
	}
	k, isOwn := markOf(user, turn)
	return s.db.DeleteWhere(ctx, "release turn", k, isOwn)
}

// SaveProgress stores the text so far in the turn's mark. It writes nothing when the turn is no longer this holder's.
func (s *TurnStore) SaveProgress(ctx context.Context, user conversation.UserID, turn conversation.Turn,
	p conversation.Progress,
) error {
	k, isOwn := markOf(user, turn)
	u := table.Set(table.AttrText, p.Text).Set(table.AttrPromptID, p.PromptID)
	return s.db.UpdateWhere(ctx, "save progress", k, u, isOwn)
}

// CheckTurn returns a NotFound error when the session of a turn is gone: it was deleted, or its user was erased. It
// returns a Conflict when the turn's message was deleted. Otherwise it reports whether somebody has joined the turn.
func (s *TurnStore) CheckTurn(ctx context.Context, user conversation.UserID, turn conversation.Turn) (bool, error) {
	sessionKey := table.KeyOfSession(user, turn.Session)
	mark := markKey(user, sessionKey.SK)
	records, err := s.db.ReadCurrent(ctx, "read session", user, sessionKey, mark)
	if err != nil {
		return false, err
	}
	session, ok := s.db.Session(records, user, sessionKey)
	if !ok || !session.IsSame(turn.Session) {
		return false, fault.Missing("session")
	}
	if session.Deleted.Contains(turn.Message.Seq) {
		return false, conversation.TurnReplaced()
	}
	it, _ := records.Current(user, mark)
	return turn.Lease != "" && it.String(table.AttrLease) == turn.Lease && it.Time(table.AttrJoinedUntil).
		After(s.db.Now()), nil
}

// joinPermit is the kind of permit that a user who joins an answer takes. There are as many as answers at once.
const joinPermit = "join"

// JoinTurn returns the turn whose answer is being generated in a session, and asks its holder to store the text as it
// grows. The zero Joined means that there is none.
func (s *TurnStore) JoinTurn(ctx context.Context, user conversation.UserID, sessionID string, longest time.Duration,
) (conversation.Joined, error) {
	session, err := s.sessions.Session(ctx, user, sessionID)
	if err != nil {
		return conversation.Joined{}, err
	}
	sk, _ := table.SessionSK(session.Context, session.ID)
	records, err := s.db.ReadCurrent(ctx, "join turn", user, markKey(user, sk))
	if err != nil {
		return conversation.Joined{}, err
	}
	mark, ok := records.Current(user, markKey(user, sk))
	if !ok {
		return conversation.Joined{}, nil
	}
	j := conversation.Joined{Session: session, Record: mark.String(table.AttrTurnSK), Lease: mark.String(table.AttrLease)}
	p, err := s.FollowTurn(ctx, user, j)
	if err != nil || p.Ended || p.Answer != nil {
		return conversation.Joined{}, err
	}
	permit := newPermit(s.db, user, joinPermit, s.db.answersAtOnce, s.db.Now().Add(longest))
	if err := permit.takeNow(ctx, session.Generation); err != nil {
		return conversation.Joined{}, err
	}
	if j.End = permit.releaseNow; permit == nil {
		j.End = func(context.Context) error { return nil }
	}
	return j, s.AskForProgress(ctx, user, j)
}

// AskForProgress asks the holder of a turn to go on storing its text.
func (s *TurnStore) AskForProgress(ctx context.Context, user conversation.UserID, j conversation.Joined) error {
	k, isOwn := markOf(user, conversation.Turn{Session: j.Session, Lease: j.Lease})
	u := table.Set(table.AttrJoinedUntil, s.db.Now().Add(joinedFor))
	return s.db.UpdateWhere(ctx, "join turn", k, u, isOwn)
}

// FollowTurn returns how far the answer of a turn is. It returns a NotFound error when the session is gone.
func (s *TurnStore) FollowTurn(ctx context.Context, user conversation.UserID, j conversation.Joined,
) (conversation.Progress, error) {
	sk, _ := table.SessionSK(j.Session.Context, j.Session.ID)
	pk := table.Partition(user)
	sessionKey, turnKey, mark := table.NewKey(pk, sk), table.NewKey(pk, j.Record), markKey(user, sk)
	records, err := s.db.ReadCurrent(ctx, "follow turn", user, sessionKey, turnKey, mark)
	if err != nil {
		return conversation.Progress{}, err
	}
	if session, ok := s.db.Session(records, user, sessionKey); !ok || !session.IsSame(j.Session) {
		return conversation.Progress{}, fault.Missing("session")
	}
	record, ok := records.Current(user, turnKey)
	p := conversation.Progress{AnswerID: idOfMessage(user, record.String(table.AttrAnswerSK))}
	for _, sk := range record.Strings(table.AttrMessageSKs) {
		p.QuestionID = idOfMessage(user, sk)
	}
	switch {
	case ok && record.String(table.AttrState) == stateDone:
		p.Answer, err = s.answer(ctx, user, record)
		return p, err
	case !ok || record.String(table.AttrLease) != j.Lease || !record.Time(table.AttrLeaseUntil).After(s.db.Now()):
		p.Ended = true
	}
	if it, ok := records.Current(user, mark); ok && it.String(table.AttrLease) == j.Lease {
		p.PromptID, p.Text = it.String(table.AttrPromptID), it.String(table.AttrText)
	}
	return p, nil
}

// idOfMessage returns the id of the message of that sort key, or "".
func idOfMessage(user conversation.UserID, sk string) string {
	at, short, ok := table.ParseMessageSK(sk)
	if !ok {
		return ""
	}
	return table.MessageID(user, at, short)
}
