package table

import (
	"github.com/throughline/throughline/internal/conversation"
)

// EncodeMessage returns the record of a message in a session.
func EncodeMessage(user conversation.UserID, s conversation.Session, m conversation.Message) (Item, error) {
	sk, ok := ParseMessageID(user, m.ID)
	sessionSK, sessionOK := SessionSK(s.Context, s.ID)
	if !ok || !sessionOK {
		return nil, ErrInvalidKey
	}
	it := UserKey(user, sk).Attributes()
	it[AttrMessageID] = StringAttr(m.ID)
	it[AttrSeq] = IntAttr(m.Seq)
	it[AttrRole] = StringAttr(string(m.Role))
	it[AttrContent] = StringAttr(m.Content)
	it[AttrTokens] = IntAttr(m.Tokens)
	it[AttrTimestamp] = TimeAttr(m.Timestamp)
	it[AttrSourceContext] = StringAttr(m.Context)
	it[AttrSourceID] = StringAttr(SourceID(user, sessionSK))
	it[AttrCoachID] = StringAttr(m.CoachID)
	it.SetString(attrAgentID, m.AgentID)
	it.SetString(AttrMode, m.Mode)
	it.SetString(attrClientID, m.ClientMessageID)
	parts, err := conversation.EncodeParts(m.Parts)
	if err != nil {
		return nil, err
	}
	it.SetString(AttrParts, parts)
	for name, is := range map[string]bool{
		attrAwaitsAnswer: m.AwaitsAnswer, AttrForgotten: m.Forgotten, attrNoIndex: m.NoIndex, attrNoExtract: m.NoExtract,
	} {
		if is {
			it[name] = BoolAttr(true)
		}
	}
	it[AttrGeneration] = IntAttr(m.Generation)
	it[AttrSessionCreatedAt] = IntAttr(s.CreatedAt.UnixMilli())
	return it, it.SetDocument(AttrMetadata, m.Metadata)
}

// DecodeMessage reads a message's record. ok is false for records of other kinds.
func DecodeMessage(it Item) (m conversation.Message, ok bool) {
	at, _, ok := ParseMessageSK(it.String(AttrSK))
	_, context, session, sourceOK := parseSourceID(it.String(AttrSourceID))
	if !ok || !sourceOK {
		return conversation.Message{}, false
	}
	return conversation.Message{
		ID: it.String(AttrMessageID), Seq: int(it.Int64(AttrSeq)), SessionID: session, Context: context,
		CoachID: it.String(AttrCoachID), AgentID: it.String(attrAgentID),
		Role: conversation.Role(it.String(AttrRole)), Content: it.String(AttrContent),
		Tokens: int(it.Int64(AttrTokens)), Timestamp: at, Mode: it.String(AttrMode),
		Parts: conversation.DecodeParts(it.String(AttrParts)), ClientMessageID: it.String(attrClientID),
		Metadata: it.Document(AttrMetadata), AwaitsAnswer: it.Bool(attrAwaitsAnswer),
		Forgotten: it.Bool(AttrForgotten), NoIndex: it.Bool(attrNoIndex), NoExtract: it.Bool(attrNoExtract),
		SessionCreatedAt: SessionCreatedAt(it),
		Generation:       it.Int64(AttrGeneration),
	}, true
}

// IsOf is the condition that a record belongs to this session, and not to an earlier or later one of the same id.
func IsOf(s conversation.Session) Condition {
	return Is(AttrSessionCreatedAt, IntAttr(s.CreatedAt.UnixMilli()))
}

// IsMessageOf reports whether a message's record is of this session, and not of an earlier one of the same id.
func IsMessageOf(it Item, s conversation.Session) bool {
	return it.Int64(AttrGeneration) == s.Generation && it.Int64(AttrSessionCreatedAt) == s.CreatedAt.UnixMilli()
}
