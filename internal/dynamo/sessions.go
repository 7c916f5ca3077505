package dynamo

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
)

// Sessions lists sessions by latest activity. The index that orders them may lag: sessions made in the last minutes
// are read from the table instead, whether or not the index shows them already.
func (s *Store) Sessions(ctx context.Context, user conversation.UserID, filter conversation.SessionFilter, page conversation.Page) ([]conversation.Session, conversation.Position, error) {
	at, err := s.placeAt(page.After)
	if err != nil {
		return nil, "", err
	}
	l := listing{filter: filter, limit: page.Limit, most: page.Limit + 1}
	made, err := s.madeSince(ctx, user, at.horizon, &l)
	if err != nil {
		return nil, "", err
	}
	if err := s.list(ctx, user, at.query(user, page.Limit+1), &l); err != nil {
		return nil, "", err
	}
	l.merge(made, at)
	return l.page(at.horizon)
}

// RecentSessions returns the sessions with a message since then, latest first, with their summaries. One whose first
// message is younger than the index's lag may be missing; its messages are in the Timeline.
func (s *Store) RecentSessions(ctx context.Context, user conversation.UserID, since time.Time, limit int) ([]conversation.Session, error) {
	l := listing{limit: limit, most: limit, since: since}
	where := expression.Key(attrPK).Equal(value(text(partition(user)))).
		And(expression.Key(attrActiveAt).GreaterThanEqual(value(moment(since.UTC().Truncate(conversation.ActivityStep)))))
	if err := s.list(ctx, user, query{index: Recent, where: where, descending: true, page: limit}, &l); err != nil {
		return nil, err
	}
	out := make([]conversation.Session, len(l.rows))
	for i, r := range l.rows {
		out[i] = r.session
	}
	slices.SortStableFunc(out, func(a, b conversation.Session) int { return b.LastMessageAt.Compare(a.LastMessageAt) })
	return out[:min(limit, len(out))], nil
}

// listing collects sessions in the order of the index.
type listing struct {
	filter conversation.SessionFilter
	since  time.Time // where set, only sessions with a message since then
	limit  int
	most   int // rows at which the walk ends; one more than the limit tells whether the list goes on
	// fresh are the sessions, by sk, that are taken from the table and not from the index.
	fresh map[string]bool
	rows  []row
}

// row is a session with its place in the list: the index's, or its own where it is fresh.
type row struct {
	activeAt, sk string
	fresh        bool
	session      conversation.Session
	bytes        int
}

func (l *listing) wants(s conversation.Session) bool {
	if l.filter.Status != "" && s.Status != l.filter.Status || l.filter.Context != "" && s.Context != l.filter.Context {
		return false
	}
	return l.since.IsZero() || s.MessageCount > 0 && !s.LastMessageAt.Before(l.since)
}

// list walks the index and reads the records behind it in batches, until there are as many rows as the listing takes.
func (s *Store) list(ctx context.Context, user conversation.UserID, q query, l *listing) error {
	var batch []item
	for it, err := range s.query(ctx, "list sessions", q) {
		if err != nil {
			return err
		}
		sk := it.text(attrSK)
		if context, _, ok := parseSessionSK(sk); ok && !l.fresh[sk] && (l.filter.Context == "" || context == l.filter.Context) {
			batch = append(batch, it)
		}
		if len(batch) == min(q.page, batchGetLimit-1) { // and the generation
			if err := s.listBatch(ctx, user, batch, l); err != nil || len(l.rows) >= l.most {
				return err
			}
			batch = nil
		}
	}
	return s.listBatch(ctx, user, batch, l)
}

func (s *Store) listBatch(ctx context.Context, user conversation.UserID, batch []item, l *listing) error {
	if len(batch) == 0 {
		return nil
	}
	keys := make([]key, len(batch))
	for i, it := range batch {
		keys[i] = keyIn(it)
	}
	f, err := s.readOf(ctx, "list sessions", user, keys...)
	if err != nil {
		return err
	}
	for i, k := range keys {
		record, _ := f.of(user, k)
		if session, ok := decodeSession(record); ok && l.wants(session) {
			l.rows = append(l.rows, row{batch[i].text(attrActiveAt), k.sk, l.fresh[k.sk], session, record.bytesLong()})
		}
	}
	return nil
}

// madeSince reads the sessions that were made since then, and has the listing leave them to the table.
func (s *Store) madeSince(ctx context.Context, user conversation.UserID, then time.Time, l *listing) ([]row, error) {
	made := listing{filter: l.filter, fresh: map[string]bool{}}
	var marked []item
	low := freshPrefix + conversation.FormatTime(then)
	for it, err := range s.query(ctx, "list sessions", query{where: within(user, low, afterPrefix(freshPrefix))}) {
		if err != nil {
			return nil, err
		}
		// While an earlier session of the id is being erased, its mark is there, too.
		if sk, ok := sessionSKOfFresh(it.text(attrSK)); ok && !made.fresh[sk] {
			made.fresh[sk] = true
			marked = append(marked, key{partition(user), sk}.attributes())
		}
	}
	l.fresh = made.fresh
	if err := s.listBatch(ctx, user, marked, &made); err != nil {
		return nil, err
	}
	for i, r := range made.rows {
		made.rows[i].activeAt = conversation.FormatTime(r.session.ActiveAt())
	}
	return made.rows, nil
}

// merge adds the fresh rows that come behind a place. Where the index has more than the page takes, those that belong
// further back come to lie behind its end, as they should.
func (l *listing) merge(fresh []row, behind listPlace) {
	for _, r := range fresh {
		if behind.before(r) {
			l.rows = append(l.rows, r)
		}
	}
	slices.SortStableFunc(l.rows, row.compare)
}

// page cuts the listing to its limit and to the bytes of a page, and returns where the next page goes on.
func (l *listing) page(horizon time.Time) ([]conversation.Session, conversation.Position, error) {
	var out []conversation.Session
	bytes := 0
	for i, r := range l.rows {
		bytes += r.bytes
		if len(out) == l.limit || bytes > conversation.MaxPageBytes && i > 0 {
			return out, listPlace{horizon, l.rows[i-1]}.position(), nil
		}
		out = append(out, r.session)
	}
	return out, "", nil
}
