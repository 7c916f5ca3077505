package dynamo

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
)

// Sessions lists sessions by latest activity. The index that orders them may lag: sessions made in the last minutes
// are read from the table besides.
func (s *Store) Sessions(ctx context.Context, user conversation.UserID, filter conversation.SessionFilter, page conversation.Page) ([]conversation.Session, conversation.Position, error) {
	after, err := listedAfter(user, page.After)
	if err != nil {
		return nil, "", err
	}
	l := listing{filter: filter, limit: page.Limit, most: page.Limit + 1}
	where := expression.Key(attrPK).Equal(value(text(partition(user))))
	if err := s.list(ctx, user, query{index: Recent, where: where, descending: true, page: page.Limit + 1, after: after}, &l); err != nil {
		return nil, "", err
	}
	if err := s.complete(ctx, user, &l, after.text(attrActiveAt)); err != nil {
		return nil, "", err
	}
	return l.page()
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
	rows   []row
}

// row is a session with the place in the index where it was found.
type row struct {
	activeAt, sk string
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
		if context, _, ok := parseSessionSK(it.text(attrSK)); ok && (l.filter.Context == "" || context == l.filter.Context) {
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
			l.rows = append(l.rows, row{batch[i].text(attrActiveAt), k.sk, session, record.bytesLong()})
		}
	}
	return nil
}

// complete adds the sessions that were just made and that the index does not show yet, on a page that goes on behind
// that activity.
func (s *Store) complete(ctx context.Context, user conversation.UserID, l *listing, behind string) error {
	listed := map[string]bool{}
	for _, r := range l.rows {
		listed[r.sk] = true
	}
	var missing []item
	for it, err := range s.query(ctx, "list sessions", query{where: beginning(user, freshPrefix), descending: true, page: batchGetLimit}) {
		if err != nil {
			return err
		}
		if sk, ok := sessionSKOfFresh(it.text(attrSK)); ok && !listed[sk] && len(missing) < batchGetLimit-1 {
			missing = append(missing, key{partition(user), sk}.attributes())
		}
	}
	found := listing{filter: l.filter}
	if err := s.listBatch(ctx, user, missing, &found); err != nil {
		return err
	}
	l.insert(found.rows, behind)
	return nil
}

// insert merges rows in by activity: those that lie behind the page before, and on a list that goes on before its
// end. The others are on other pages.
func (l *listing) insert(rows []row, behind string) {
	whole := len(l.rows) <= l.limit
	var end string
	if !whole {
		end = l.rows[l.limit].activeAt
	}
	for _, r := range rows {
		r.activeAt = conversation.FormatTime(r.session.ActiveAt())
		if (whole || r.activeAt > end) && (behind == "" || r.activeAt < behind) {
			l.rows = append(l.rows, r)
		}
	}
	slices.SortStableFunc(l.rows, func(a, b row) int { return cmp.Compare(b.activeAt, a.activeAt) })
}

// page cuts the listing to its limit and to the bytes of a page, and returns where the next page goes on.
func (l *listing) page() ([]conversation.Session, conversation.Position, error) {
	var out []conversation.Session
	bytes := 0
	for i, r := range l.rows {
		bytes += r.bytes
		if len(out) == l.limit || bytes > conversation.MaxPageBytes && i > 0 {
			last := l.rows[i-1]
			return out, conversation.Position(last.activeAt + "#" + last.sk), nil
		}
		out = append(out, r.session)
	}
	return out, "", nil
}

// listedAfter returns the key of the index to go on behind.
func listedAfter(user conversation.UserID, after conversation.Position) (item, error) {
	if after == "" {
		return nil, nil
	}
	stamp, sk, _ := strings.Cut(string(after), "#")
	_, timeOK := parseTime(stamp)
	if _, _, ok := parseSessionSK(sk); !ok || !timeOK {
		return nil, errPosition()
	}
	it := key{partition(user), sk}.attributes()
	it[attrActiveAt] = text(stamp)
	return it, nil
}
