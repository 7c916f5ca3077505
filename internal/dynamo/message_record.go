package dynamo

import (
	"github.com/throughline/throughline/internal/conversation"
)

// encodeMessage makes the record of a message in a session.
func encodeMessage(user conversation.UserID, s conversation.Session, m conversation.Message) (item, error) {
	sk, ok := parseMessageID(user, m.ID)
	sessionSK, sessionOK := sessionSK(s.Context, s.ID)
	if !ok || !sessionOK {
		return nil, errBadKey
	}
	it := key{partition(user), sk}.attributes()
	it[attrMessageID] = text(m.ID)
	it[attrSeq] = whole(m.Seq)
	it[attrRole] = text(string(m.Role))
	it[attrContent] = text(m.Content)
	it[attrTokens] = whole(m.Tokens)
	it[attrTimestamp] = moment(m.Timestamp)
	it[attrSourceContext] = text(m.Context)
	it[attrSourceID] = text(sourceID(user, sessionSK))
	it[attrCoachID] = text(m.CoachID)
	it.setText(attrAgentID, m.AgentID)
	it.setText(attrMode, m.Mode)
	it[attrGeneration] = whole(m.Generation)
	it[attrBorn] = whole(s.CreatedAt.UnixMilli())
	return it, it.setDocument(attrMetadata, m.Metadata)
}

// decodeMessage reads a message's record; ok is false for records of other kinds.
func decodeMessage(it item) (m conversation.Message, ok bool) {
	at, _, ok := parseMessageSK(it.text(attrSK))
	_, context, session, sourceOK := parseSourceID(it.text(attrSourceID))
	if !ok || !sourceOK {
		return conversation.Message{}, false
	}
	return conversation.Message{
		ID: it.text(attrMessageID), Seq: int(it.whole(attrSeq)), SessionID: session, Context: context,
		CoachID: it.text(attrCoachID), AgentID: it.text(attrAgentID),
		Role: conversation.Role(it.text(attrRole)), Content: it.text(attrContent),
		Tokens: int(it.whole(attrTokens)), Timestamp: at, Mode: it.text(attrMode),
		Metadata: it.document(attrMetadata), Generation: it.whole(attrGeneration),
	}, true
}

// belongs reports whether a message's record is of this session and not of an earlier one of the same id.
func belongs(it item, s conversation.Session) bool {
	return it.whole(attrGeneration) == s.Generation && it.whole(attrBorn) == s.CreatedAt.UnixMilli()
}
