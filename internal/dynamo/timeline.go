package dynamo

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
)

// Timeline returns one page of the user's messages over all contexts by time, from the table itself, so that it is
// complete whatever the indexes lag. The user's generation is read beside it, unless the caller compares.
func (s *Store) Timeline(ctx context.Context, user conversation.UserID, r conversation.Range, page conversation.Page) ([]conversation.Message, conversation.Position, error) {
	low, high := messageRange(r.From, r.To)
	after, err := startBehind(user, page.After, low, high, func(sk string) bool {
		_, _, ok := parseMessageSK(sk)
		return ok
	})
	if err != nil || low > high {
		return nil, "", err
	}
	q := query{where: within(user, low, high), descending: page.Descending, page: page.Limit + 1, after: after}
	records := s.query(ctx, "read timeline", q)
	pick := func(it item) (conversation.Message, bool) {
		m, ok := decodeMessage(it)
		return m, ok && (r.Context == "" || m.Context == r.Context)
	}
	if r.Unerased {
		p := pager[conversation.Message]{limit: page.Limit}
		return p.collect(records, pick)
	}
	return collectPresent(ctx, s, user, page.Limit, records, pick)
}

// startBehind returns the key to go on behind, nil at the beginning. It has to be of the list and within its range:
// DynamoDB refuses another.
func startBehind(user conversation.UserID, after conversation.Position, low, high string, listed func(sk string) bool) (item, error) {
	if after == "" {
		return nil, nil //nolint:nilnil // no key is where a list begins
	}
	sk := string(after)
	if !listed(sk) || sk < low || sk > high {
		return nil, errPosition()
	}
	return key{partition(user), sk}.attributes(), nil
}
