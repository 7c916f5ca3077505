package table

import (
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/secret"
)

// EncodeMessage returns the record of a message in a session.
func EncodeMessage(user conversation.UserID, s conversation.Session, m conversation.Message) Item {
	sk, _ := ParseMessageID(user, m.ID)
	sessionSK, _ := SessionSK(s.Context, s.ID)
	m.SessionCreatedAt, m.CleanBy = s.CreatedAt, secret.CleanBy(m.Content)
	it := Encode(m).With(UserKey(user, sk).Attributes())
	it[AttrSourceID], it[AttrTimestamp] = StringAttr(SourceID(user, sessionSK)), TimeAttr(m.Timestamp)
	return it
}

// DecodeMessage reads a message's record. ok is false for records of other kinds.
func DecodeMessage(it Item) (m conversation.Message, ok bool) {
	at, _, ok := ParseMessageSK(it.String(AttrSK))
	_, context, session, sourceOK := parseSourceID(it.String(AttrSourceID))
	if !ok || !sourceOK {
		return conversation.Message{}, false
	}
	m = Decode[conversation.Message](it)
	m.SessionID, m.Context, m.Timestamp = session, context, at
	return m, true
}

// IsOf is the condition that a record belongs to this session, and not to an earlier or later one of the same id.
func IsOf(s conversation.Session) Condition {
	return Is(AttrSessionCreatedAt, s.CreatedAt.UnixMilli())
}

// IsMessageOf reports whether a message's record is of this session, and not of an earlier one of the same id.
func IsMessageOf(it Item, s conversation.Session) bool {
	return it.Int64(AttrGeneration) == s.Generation && it.Int64(AttrSessionCreatedAt) == s.CreatedAt.UnixMilli()
}
