package dynamo

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// MessageStore appends and reads messages. It is safe for concurrent use.
type MessageStore struct {
	db       *DB
	sessions *SessionReader
}

// NewMessageStore returns the messages of a DB.
func NewMessageStore(db *DB) *MessageStore { return &MessageStore{db, NewSessionReader(db)} }

// IsMigrated reports whether the shared store has the user's history.
func (s *MessageStore) IsMigrated(ctx context.Context, user conversation.UserID) (bool, error) {
	return s.db.isMigrated(ctx, user)
}

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

// StoredAfter reads the messages after a seq that the shared store has of a session, in order, until they are as large
// as maxBytes. more says that it has more of them.
func (s *MessageStore) StoredAfter(ctx context.Context, user conversation.UserID, session conversation.Session,
	seq, maxBytes int,
) (messages []conversation.Message, more bool, err error) {
	session.Adopted = nil
	messages, _, more, err = s.readRange(ctx, user, messageRange{
		session: session, after: messageCursor{seq: seq}, limit: session.LastSeq, maxBytes: maxBytes,
	})
	return messages, more, err
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
	low, high := table.MessageBounds(r.From, r.To)
	after, err := table.StartAfter(user, page.After, low, high, table.IsMessageSK)
	if err != nil || low > high {
		return nil, "", err
	}
	q := table.Query{
		Where: table.Between(user, low, high), Descending: page.Descending, Page: page.Limit + 1,
		After: after,
	}
	records := s.db.Query(ctx, "read timeline", q)
	pick := func(it table.Item) (conversation.Message, bool) {
		m, ok := table.DecodeMessage(it)
		return m, ok && (r.Context == "" || m.Context == r.Context)
	}
	if r.Unerased {
		p := table.Pager[conversation.Message]{Limit: page.Limit, Size: sizeOfMessage} // it enters no HTTP answer
		return p.Collect(records, pick)
	}
	return collectCurrent(ctx, s.db, user, page.Limit, records, pick)
}

// sizeOfMessage is about the size of a message's record, without what is short. It is much faster than item.size.
func sizeOfMessage(it table.Item) int {
	size := len(it.String(table.AttrContent)) + len(it.String(table.AttrParts))
	if metadata, ok := it[table.AttrMetadata]; ok {
		size += table.SizeOf(metadata)
	}
	return size
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
	at, ok := table.ParseTime(stamp)
	c := messageCursor{n, at}
	if err != nil || !ok || n < 1 || c.position() != p {
		return messageCursor{}, table.ErrPosition()
	}
	return c, nil
}
