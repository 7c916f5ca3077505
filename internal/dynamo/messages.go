package dynamo

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Messages returns one page of a session's messages by seq. They come from the index, which follows the table piece
// by piece; the session's record, read consistently, says which there have to be, and what the index lacks is read
// from the table.
func (s *Store) Messages(ctx context.Context, user conversation.UserID, sessionID string, page conversation.Page) ([]conversation.Message, conversation.Position, error) {
	session, err := s.Session(ctx, user, sessionID)
	if err != nil {
		return nil, "", err
	}
	from, err := placeOf(page.After)
	if err != nil {
		return nil, "", err
	}
	st := stretch{session: session, from: from, limit: page.Limit, maxBytes: conversation.MaxPageBytes, descending: page.Descending}
	for {
		messages, last, more, err := s.stretch(ctx, user, st)
		switch {
		case err != nil:
			return nil, "", err
		case !more:
			return messages, "", nil
		case len(messages) > 0:
			return messages, last.position(), nil
		}
		st.from = last // all of them were deleted after the session was read
	}
}

// Tail returns a session's last n messages, oldest first.
func (s *Store) Tail(ctx context.Context, user conversation.UserID, session conversation.Session, n int) ([]conversation.Message, error) {
	if n < 1 {
		return nil, nil
	}
	messages, _, _, err := s.stretch(ctx, user, stretch{session: session, limit: n, descending: true})
	slices.Reverse(messages)
	return messages, err
}

// MessagesAfter reads a session's messages with a seq above after, oldest first, at most limit.
func (s *Store) MessagesAfter(ctx context.Context, user conversation.UserID, session conversation.Session, after, limit int) ([]conversation.Message, error) {
	if after >= session.LastSeq || limit < 1 {
		return nil, nil
	}
	if few := session.LastSeq - max(after, 0); few <= max(limit, seekClose) {
		messages, err := s.Tail(ctx, user, session, few)
		first := slices.IndexFunc(messages, func(m conversation.Message) bool { return m.Seq > after })
		return messages[max(first, 0):][:min(limit, len(messages)-max(first, 0))], err
	}
	from, err := s.seek(ctx, user, session, max(after, 0))
	if err != nil {
		return nil, err
	}
	messages, _, _, err := s.stretch(ctx, user, stretch{session: session, from: from, limit: limit})
	return messages, err
}

// place is where a stretch begins, exclusively: behind a seq, and behind the time of a message that is not after it.
// The zero place is the beginning, or for descending order the end.
type place struct {
	seq int
	at  time.Time
}

const placeSeparator = "@"

func (p place) position() conversation.Position {
	return conversation.Position(strconv.Itoa(p.seq) + placeSeparator + conversation.FormatTime(p.at))
}

func placeOf(p conversation.Position) (place, error) {
	if p == "" {
		return place{}, nil
	}
	seq, stamp, _ := strings.Cut(string(p), placeSeparator)
	n, err := strconv.Atoi(seq)
	at, ok := parseTime(stamp)
	from := place{n, at}
	if err != nil || !ok || n < 1 || from.position() != p {
		return place{}, errPosition()
	}
	return from, nil
}

func errPosition() error { return fault.InvalidField("cursor", "is not one of this list") }
