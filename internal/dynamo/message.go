package dynamo

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// MessageStore appends and reads messages. It is safe for concurrent use.
type MessageStore struct {
	db       *DB
	sessions *SessionReader
}

var _ conversation.MessageStore = (*MessageStore)(nil)

// NewMessageStore returns the messages of a DB.
func NewMessageStore(db *DB) *MessageStore { return &MessageStore{db, NewSessionReader(db)} }

// Messages returns one page of a session's messages by seq. The index that orders them may lag. The session's record,
// read consistently, says which messages there are, and those that the index lacks are read from the table.
func (s *MessageStore) Messages(ctx context.Context, user conversation.UserID, sessionID string, page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	session, err := s.sessions.Session(ctx, user, sessionID)
	if err != nil {
		return nil, "", err
	}
	after, err := parseMessageCursor(page.After)
	if err != nil {
		return nil, "", err
	}
	r := messageRange{
		session: session, after: after, limit: page.Limit, maxBytes: conversation.MaxPageBytes,
		descending: page.Descending,
	}
	for {
		messages, last, more, err := s.readRange(ctx, user, r)
		switch {
		case err != nil:
			return nil, "", err
		case !more:
			return messages, "", nil
		case len(messages) > 0:
			return messages, last.position(), nil
		}
		r.after = last // all messages of the page were deleted after the session was read
	}
}

// Tail returns the last n messages of a session, oldest first.
func (s *MessageStore) Tail(ctx context.Context, user conversation.UserID, session conversation.Session, n int,
) ([]conversation.Message, error) {
	if n < 1 {
		return nil, nil
	}
	messages, _, _, err := s.readRange(ctx, user, messageRange{session: session, limit: n, descending: true})
	slices.Reverse(messages)
	return messages, err
}

// MessagesBefore returns the last n messages of a session before one of them, oldest first. A zero before returns the
// session's last ones.
func (s *MessageStore) MessagesBefore(ctx context.Context, user conversation.UserID, session conversation.Session,
	before conversation.Message, n int,
) ([]conversation.Message, error) {
	if n < 1 {
		return nil, nil
	}
	messages, _, _, err := s.readRange(ctx, user, messageRange{
		session: session, after: messageCursor{before.Seq, before.Timestamp}, limit: n, descending: true,
	})
	slices.Reverse(messages)
	return messages, err
}

// MessagesAfter reads at most limit messages of a session after a watermark, oldest first. It reads fewer where they
// are larger than conversation.MaxPageBytes together, but none only where there are no more. The index is sorted by
// time: where the watermark's time is not known, it is read from the end of the session that is nearer.
func (s *MessageStore) MessagesAfter(ctx context.Context, user conversation.UserID, session conversation.Session,
	after conversation.Watermark, limit int,
) ([]conversation.Message, error) {
	left := session.LastSeq - after.Seq
	if left < 1 || limit < 1 {
		return nil, nil
	}
	r := messageRange{
		session: session, after: messageCursor{after.Seq, after.At}, limit: limit, maxBytes: conversation.MaxPageBytes,
	}
	if r.start().at.IsZero() && left <= max(limit, after.Seq) {
		return s.readFromEnd(ctx, user, r)
	}
	for {
		messages, last, more, err := s.readRange(ctx, user, r)
		if err != nil || len(messages) > 0 || !more {
			return messages, err
		}
		r.after = last // all messages of the page were deleted after the session was read
	}
}

// readFromEnd reads the first messages of a range from the end of their session, and keeps one page at a time.
func (s *MessageStore) readFromEnd(ctx context.Context, user conversation.UserID, in messageRange,
) ([]conversation.Message, error) {
	back := messageRange{session: in.session, maxBytes: in.maxBytes, descending: true}
	var first []conversation.Message
	for end, more := in.session.LastSeq, true; more && end > in.after.seq; end = back.after.seq - 1 {
		back.limit = end - in.after.seq
		page, last, left, err := s.readRange(ctx, user, back)
		if err != nil {
			return nil, err
		}
		page = slices.DeleteFunc(page, func(m conversation.Message) bool { return m.Seq <= in.after.seq })
		if len(page) > 0 {
			first = page
		}
		back.after, more = last, left
	}
	slices.Reverse(first)
	return first[:min(in.limit, len(first))], nil
}

// Timeline returns one page of the user's messages over all contexts by time. It is read from the table, so it is
// complete even while the indexes lag. The user's generation is read too, unless the caller compares it.
func (s *MessageStore) Timeline(ctx context.Context, user conversation.UserID, r conversation.Range,
	page conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	low, high := messageBounds(r.From, r.To)
	after, err := startAfter(user, page.After, low, high, isMessageSK)
	if err != nil || low > high {
		return nil, "", err
	}
	q := query{where: between(user, low, high), descending: page.Descending, page: page.Limit + 1, after: after}
	records := s.db.query(ctx, "read timeline", q)
	pick := func(it item) (conversation.Message, bool) {
		m, ok := decodeMessage(it)
		return m, ok && (r.Context == "" || m.Context == r.Context)
	}
	if r.Unerased {
		p := pager[conversation.Message]{limit: page.Limit, size: sizeOfMessage} // it enters no HTTP answer
		return p.collect(records, pick)
	}
	return collectCurrent(ctx, s.db, user, page.Limit, records, pick)
}

// sizeOfMessage is about the size of a message's record, without what is short. It is much faster than item.size.
func sizeOfMessage(it item) int {
	size := len(it.string(attrContent)) + len(it.string(attrParts))
	if metadata, ok := it[attrMetadata]; ok {
		size += sizeOf(metadata)
	}
	return size
}

func isMessageSK(sk string) bool {
	_, _, ok := parseMessageSK(sk)
	return ok
}

// messageCursor is a place in a session's messages: after the message of that seq and time, in the direction of
// reading. The zero cursor is the start.
type messageCursor struct {
	seq int
	at  time.Time
}

const cursorSeparator = "@"

func (c messageCursor) position() conversation.Position {
	return conversation.Position(strconv.Itoa(c.seq) + cursorSeparator + conversation.FormatTime(c.at))
}

func parseMessageCursor(p conversation.Position) (messageCursor, error) {
	if p == "" {
		return messageCursor{}, nil
	}
	seq, stamp, _ := strings.Cut(string(p), cursorSeparator)
	n, err := strconv.Atoi(seq)
	at, ok := parseTime(stamp)
	c := messageCursor{n, at}
	if err != nil || !ok || n < 1 || c.position() != p {
		return messageCursor{}, errPosition()
	}
	return c, nil
}

func errPosition() error { return fault.InvalidField("cursor", "is not one of this list") }

// encodeMessage returns the record of a message in a session.
func encodeMessage(user conversation.UserID, s conversation.Session, m conversation.Message) (item, error) {
	sk, ok := parseMessageID(user, m.ID)
	sessionSK, sessionOK := sessionSK(s.Context, s.ID)
	if !ok || !sessionOK {
		return nil, errInvalidKey
	}
	it := key{partition(user), sk}.attributes()
	it[attrMessageID] = stringAttr(m.ID)
	it[attrSeq] = intAttr(m.Seq)
	it[attrRole] = stringAttr(string(m.Role))
	it[attrContent] = stringAttr(m.Content)
	it[attrTokens] = intAttr(m.Tokens)
	it[attrTimestamp] = timeAttr(m.Timestamp)
	it[attrSourceContext] = stringAttr(m.Context)
	it[attrSourceID] = stringAttr(sourceID(user, sessionSK))
	it[attrCoachID] = stringAttr(m.CoachID)
	it.setString(attrAgentID, m.AgentID)
	it.setString(attrMode, m.Mode)
	it.setString(attrClientID, m.ClientMessageID)
	parts, err := conversation.EncodeParts(m.Parts)
	if err != nil {
		return nil, err
	}
	it.setString(attrParts, parts)
	for name, is := range map[string]bool{
		attrAwaitsAnswer: m.AwaitsAnswer, attrForgotten: m.Forgotten, attrNoIndex: m.NoIndex, attrNoExtract: m.NoExtract,
	} {
		if is {
			it[name] = boolAttr(true)
		}
	}
	it[attrGeneration] = intAttr(m.Generation)
	it[attrSessionCreatedAt] = intAttr(s.CreatedAt.UnixMilli())
	return it, it.setDocument(attrMetadata, m.Metadata)
}

// decodeMessage reads a message's record. ok is false for records of other kinds.
func decodeMessage(it item) (m conversation.Message, ok bool) {
	at, _, ok := parseMessageSK(it.string(attrSK))
	_, context, session, sourceOK := parseSourceID(it.string(attrSourceID))
	if !ok || !sourceOK {
		return conversation.Message{}, false
	}
	return conversation.Message{
		ID: it.string(attrMessageID), Seq: int(it.int64(attrSeq)), SessionID: session, Context: context,
		CoachID: it.string(attrCoachID), AgentID: it.string(attrAgentID),
		Role: conversation.Role(it.string(attrRole)), Content: it.string(attrContent),
		Tokens: int(it.int64(attrTokens)), Timestamp: at, Mode: it.string(attrMode),
		Parts: conversation.DecodeParts(it.string(attrParts)), ClientMessageID: it.string(attrClientID),
		Metadata: it.document(attrMetadata), AwaitsAnswer: it.bool(attrAwaitsAnswer),
		Forgotten: it.bool(attrForgotten), NoIndex: it.bool(attrNoIndex), NoExtract: it.bool(attrNoExtract),
		SessionCreatedAt: sessionCreatedAt(it),
		Generation:       it.int64(attrGeneration),
	}, true
}

// isOf is the condition that a record belongs to this session, and not to an earlier or later one of the same id.
func isOf(s conversation.Session) expression.ConditionBuilder {
	return field(attrSessionCreatedAt).Equal(value(intAttr(s.CreatedAt.UnixMilli())))
}

// isMessageOf reports whether a message's record is of this session, and not of an earlier one of the same id.
func isMessageOf(it item, s conversation.Session) bool {
	return it.int64(attrGeneration) == s.Generation && it.int64(attrSessionCreatedAt) == s.CreatedAt.UnixMilli()
}
