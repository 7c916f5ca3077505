package dynamo

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
)

// maxExamined bounds what one page of a filtered timeline reads: a page may end short, with more behind it.
const maxExamined = 4 << 20

// Timeline returns one page of the user's messages over all contexts by time, from the table itself, so that it is
// complete whatever the indexes lag.
func (s *Store) Timeline(ctx context.Context, user conversation.UserID, r conversation.Range, page conversation.Page) ([]conversation.Message, conversation.Position, error) {
	low, high := messageRange(r.From, r.To)
	after, err := timelineStart(user, page.After, low, high)
	if err != nil {
		return nil, "", err
	}
	if low > high {
		return nil, "", nil
	}
	q := query{where: within(user, low, high), descending: page.Descending, page: page.Limit + 1, after: after}
	t := timelinePage{Page: page, context: r.Context}
	for it, err := range s.query(ctx, "read timeline", q) {
		if err != nil {
			return nil, "", err
		}
		if m, ok := decodeMessage(it); ok && !t.take(it, m) {
			return t.messages, conversation.Position(t.last), nil
		}
	}
	return t.messages, "", nil
}

// timelinePage collects a page until it is full.
type timelinePage struct {
	conversation.Page
	context  string
	messages []conversation.Message
	last     string // the sk of the last record examined
	bytes    int    // of the contents taken
	examined int
}

// take reports whether the message is on the page or skipped by the filter; a full page takes none.
func (t *timelinePage) take(it item, m conversation.Message) bool {
	t.examined += len(m.Content)
	wanted := t.context == "" || m.Context == t.context
	full := len(t.messages) >= t.Limit ||
		len(t.messages) > 0 && t.bytes+len(m.Content) > conversation.MaxPageBytes
	switch {
	case wanted && full, t.examined > maxExamined && t.last != "":
		return false
	case wanted:
		t.messages = append(t.messages, m)
		t.bytes += len(m.Content)
	}
	t.last = it.text(attrSK)
	return true
}

// timelineStart returns the key to go on behind. It has to lie within the range: DynamoDB refuses another.
func timelineStart(user conversation.UserID, after conversation.Position, low, high string) (item, error) {
	if after == "" {
		return nil, nil
	}
	sk := string(after)
	if _, _, ok := parseMessageSK(sk); !ok || sk < low || sk > high {
		return nil, errPosition()
	}
	return key{partition(user), sk}.attributes(), nil
}
