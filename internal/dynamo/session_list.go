package dynamo

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// Sessions lists sessions by latest activity. The index that orders them may lag, so sessions that were created in the
// last 15 minutes are read from the table, whether or not the index shows them. Before the user's stage is shared, all
// are read from the table: those that have not moved are not in the index.
func (s *SessionStore) Sessions(ctx context.Context, user conversation.UserID, filter conversation.SessionFilter,
	page conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	cursor, err := s.listCursor(page.After)
	if err != nil {
		return nil, "", err
	}
	// One row more than the limit shows whether there is another page.
	l := sessionList{
		db: s.db, user: user, filter: filter, limit: page.Limit, maxRows: page.Limit + 1, fresh: map[string]bool{},
	}
	isFromTable, err := s.isFromTable(ctx, user, cursor)
	if err != nil {
		return nil, "", err
	}
	read := l.readRecent
	if isFromTable {
		read = l.readTable
	}
	if err := read(ctx, cursor); err != nil {
		return nil, "", err
	}
	return l.page(cursor.freshSince)
}

// RecentSessions returns one page of the sessions of some contexts with a message since a time, latest first, with
// their summaries. Sessions of other contexts are left out by their keys, before any record is read. A session without
// messages that has a summary counts as active when it was completed. The index may not show a session yet whose first
// message is a few seconds old. Its messages are in the timeline.
func (r *SessionReader) RecentSessions(ctx context.Context, user conversation.UserID,
	recent conversation.RecentSessions, page conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	after, err := activityCursor(user, page.After)
	if err != nil {
		return nil, "", err
	}
	from := recent.Since.UTC().Truncate(conversation.ActivityStep)
	q := table.Query{
		Index: table.Recent,
		Where: table.InPartition(user).
			And(expression.Key(table.AttrActiveAt).GreaterThanEqual(table.Value(from))),
		Descending: true, Page: page.Limit + 1, After: after,
	}
	return r.activePage(ctx, user, q, page.Limit, recent.Since, func(context, _ string) (bool, error) {
		return len(recent.Contexts) == 0 || slices.Contains(recent.Contexts, context), nil
	})
}

// CoachSessions returns one page of the sessions with a coach that have messages or a summary, latest first.
// Sessions that the caller does not want are left out by their keys, before any record is read. The index may not show
// a session yet whose first message is a few seconds old.
func (r *SessionReader) CoachSessions(ctx context.Context, user conversation.UserID, of conversation.CoachSessions,
	page conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	after, err := activityCursor(user, page.After)
	if err != nil {
		return nil, "", err
	}
	coach := table.StringAttr(table.CoachKey(user, of.CoachID))
	if after != nil {
		after[table.AttrCoachKey] = coach
	}
	q := table.Query{
		Index: table.CoachRecent, Descending: true, Page: page.Limit + 2, After: after, // one more page, and the one left out
		Where: expression.Key(table.AttrCoachKey).Equal(table.Value(coach)),
	}
	return r.activePage(ctx, user, q, page.Limit, time.Time{}, func(context, id string) (bool, error) {
		if id == of.Except || of.Allows == nil {
			return id != of.Except, nil
		}
		return of.Allows(ctx, context)
	})
}

// activePage returns one page of the sessions in an index with a message or a summary since a time, latest first, and
// where the next page starts. Those that are not wanted by their contexts and ids are left out before any record is
// read.
func (r *SessionReader) activePage(ctx context.Context, user conversation.UserID, q table.Query, limit int,
	since time.Time, isWanted func(context, id string) (bool, error),
) (sessions []conversation.Session, next conversation.Position, err error) {
	var wanted []table.Item
	for it, err := range r.db.Query(ctx, "list sessions by activity", q) {
		if err != nil {
			return nil, "", err
		}
		context, id, ok := table.ParseSessionSK(it.String(table.AttrSK))
		if !ok {
			continue
		}
		if ok, err := isWanted(context, id); err != nil {
			return nil, "", err
		} else if !ok {
			continue
		}
		if len(wanted) == limit {
			last := wanted[limit-1]
			next = conversation.Position(last.String(table.AttrActiveAt) + "#" + last.String(table.AttrSK))
			break
		}
		wanted = append(wanted, it)
	}
	l := sessionList{db: r.db, user: user}
	if err := l.readRecords(ctx, wanted); err != nil {
		return nil, "", err
	}
	for _, row := range l.rows {
		if s := row.session; s.HasContent() && !s.LastActiveAt().Before(since) {
			sessions = append(sessions, s)
		}
	}
	slices.SortStableFunc(sessions, func(a, b conversation.Session) int {
		return b.LastActiveAt().Compare(a.LastActiveAt())
	})
	return sessions, next, nil
}

// activityCursor returns the key of Recent after which a page begins, nil for the first page.
func activityCursor(user conversation.UserID, after conversation.Position) (table.Item, error) {
	if after == "" {
		return nil, nil //nolint:nilnil // the first page starts after no key
	}
	activeAt, sk, _ := strings.Cut(string(after), "#")
	_, timeOK := table.ParseTime(activeAt)
	_, _, sessionOK := table.ParseSessionSK(sk)
	if !timeOK || !sessionOK {
		return nil, table.ErrPosition()
	}
	start := table.UserKey(user, sk).Attributes()
	start.Set(table.AttrActiveAt, activeAt)
	return start, nil
}

// sessionList collects sessions in the order of the index.
type sessionList struct {
	db      *DB
	user    conversation.UserID
	filter  conversation.SessionFilter
	limit   int
	maxRows int // reading the index ends with so many rows
	// fresh are the sort keys of the sessions that are read from the table and not from the index.
	fresh map[string]bool
	rows  []sessionRow
}

// sessionRow is a session in a list, with what the list is sorted by.
type sessionRow struct {
	activeAt, sk string
	kind         rowKind
	session      conversation.Session
	bytes        int
}

func (l *sessionList) matches(s conversation.Session) bool {
	return (l.filter.Status == "" || s.Status == l.filter.Status) &&
		(l.filter.Context == "" || s.Context == l.filter.Context)
}

// readRecent lists the sessions of the index and those that are fresh.
func (l *sessionList) readRecent(ctx context.Context, after listCursor) error {
	fresh, err := l.readFresh(ctx, after.freshSince)
	if err != nil {
		return err
	}
	if err := l.readIndex(ctx, after.query(l.user, l.limit+1)); err != nil {
		return err
	}
	l.merge(fresh, after)
	return nil
}

// readIndex walks the index and reads the sessions' records in batches, until there are enough rows.
func (l *sessionList) readIndex(ctx context.Context, q table.Query) error {
	var batch []table.Item
	for it, err := range l.db.Query(ctx, "list sessions", q) {
		if err != nil {
			return err
		}
		sk := it.String(table.AttrSK)
		context, _, ok := table.ParseSessionSK(sk)
		if ok && !l.fresh[sk] && (l.filter.Context == "" || context == l.filter.Context) {
			batch = append(batch, it)
		}
		if len(batch) == min(q.Page, table.MaxBatchGet-1) { // the generation is read in the same batch
			if err := l.readRecords(ctx, batch); err != nil || len(l.rows) >= l.maxRows {
				return err
			}
			batch = nil
		}
	}
	return l.readRecords(ctx, batch)
}

// readRecords adds the sessions of rows of the index to the list.
func (l *sessionList) readRecords(ctx context.Context, indexed []table.Item) error {
	if len(indexed) == 0 {
		return nil
	}
	keys := make([]table.Key, len(indexed))
	for i, it := range indexed {
		keys[i] = table.KeyOf(it)
	}
	records, err := l.db.ReadCurrent(ctx, "list sessions", l.user, keys...)
	if err != nil {
		return err
	}
	for i, k := range keys {
		if session, ok := l.db.Session(records, l.user, k); ok && l.matches(session) {
			size := sizeInList(l.db.adoption, records[k], session)
			kind := indexedRow
			if l.fresh[k.SK] {
				kind = freshRow
			}
			l.rows = append(l.rows, sessionRow{indexed[i].String(table.AttrActiveAt), k.SK, kind, session, size})
		}
	}
	return nil
}

// readFresh returns the sessions that were created since then, and makes readIndex skip them.
func (l *sessionList) readFresh(ctx context.Context, since time.Time) ([]sessionRow, error) {
	fresh := sessionList{db: l.db, user: l.user, filter: l.filter, fresh: l.fresh}
	var marked []table.Item
	low := table.FreshPrefix + conversation.FormatTime(since)
	for it, err := range l.db.Query(ctx, "list sessions",
		table.Query{Where: table.Between(l.user, low, table.AfterPrefix(table.FreshPrefix))}) {
		if err != nil {
			return nil, err
		}
		// While an erasure deletes an earlier session of the same id, there may be two marks.
		if sk, ok := table.ParseFreshSK(it.String(table.AttrSK)); ok && !fresh.fresh[sk] {
			fresh.fresh[sk] = true
			marked = append(marked, table.UserKey(l.user, sk).Attributes())
		}
	}
	if err := fresh.readRecords(ctx, marked); err != nil {
		return nil, err
	}
	for i, r := range fresh.rows {
		fresh.rows[i].activeAt = conversation.FormatTime(r.session.ListedAt())
	}
	return fresh.rows, nil
}

// merge adds the fresh rows after the cursor and sorts.
func (l *sessionList) merge(fresh []sessionRow, after listCursor) {
	for _, r := range fresh {
		if after.isBefore(r) {
			l.rows = append(l.rows, r)
		}
	}
	slices.SortStableFunc(l.rows, sessionRow.compare)
}

// page cuts the list to its limit and to the bytes of a page, and returns where the next page starts.
func (l *sessionList) page(freshSince time.Time) ([]conversation.Session, conversation.Position, error) {
	var out []conversation.Session
	bytes := 0
	for i, r := range l.rows {
		bytes += r.bytes
		if len(out) == l.limit || bytes > conversation.MaxPageBytes && i > 0 {
			return out, listCursor{freshSince, l.rows[i-1]}.position(), nil
		}
		out = append(out, r.session)
	}
	return out, "", nil
}

// listCursor is a place in a list of sessions: after a row, or at the start where the row is empty. Sessions are listed
// by activity, latest first. Of those that were active in the same quarter hour, which is the precision of the index,
// the fresh ones come first, by key, and then the others in the order of the index. So each session has one place,
// whether or not the index shows it yet.
type listCursor struct {
	// freshSince is when the oldest fresh session was created. It is the same for all pages of a list, so that a session
	// does not change its place between two pages.
	freshSince time.Time
	sessionRow
}

// rowKind is where a row was read: from the table because the session is fresh, from the index, or from the table with
// all others.
type rowKind string

const (
	freshRow   rowKind = "fresh"
	indexedRow rowKind = "indexed"
	tableRow   rowKind = "table"
)

var rowKinds = []rowKind{freshRow, indexedRow, tableRow}

func (c listCursor) position() conversation.Position {
	return conversation.Position(strings.Join(
		[]string{conversation.FormatTime(c.freshSince), string(c.kind), c.activeAt, c.sk}, "#"))
}

// listCursor parses a position. The empty one starts a new list.
func (s *SessionStore) listCursor(p conversation.Position) (listCursor, error) {
	if p == "" {
		return listCursor{freshSince: s.db.Now().Add(-freshLife)}, nil
	}
	const parts = 4 // the last one, a sort key, holds a separator of its own
	f := strings.SplitN(string(p), "#", parts)
	if len(f) < parts {
		return listCursor{}, table.ErrPosition()
	}
	freshSince, freshOK := table.ParseTime(f[0])
	_, activeOK := table.ParseTime(f[2])
	_, _, sessionOK := table.ParseSessionSK(f[3])
	kind := rowKind(f[1])
	if !freshOK || !activeOK || !sessionOK || !slices.Contains(rowKinds, kind) {
		return listCursor{}, table.ErrPosition()
	}
	return listCursor{freshSince, sessionRow{activeAt: f[2], sk: f[3], kind: kind}}, nil
}

// query reads the index from the cursor on.
func (c listCursor) query(user conversation.UserID, page int) table.Query {
	q := table.Query{Index: table.Recent, Where: table.InPartition(user), Descending: true, Page: page}
	switch {
	case c.sk == "":
	case c.kind == freshRow: // no row of the index in this quarter hour has been listed
		q.Where = q.Where.And(expression.Key(table.AttrActiveAt).LessThanEqual(table.Value(c.activeAt)))
	default:
		q.After = table.UserKey(user, c.sk).Attributes()
		q.After.Set(table.AttrActiveAt, c.activeAt)
	}
	return q
}

// isBefore reports whether a row that the index has not ordered comes after the cursor.
func (c listCursor) isBefore(r sessionRow) bool { return c.sk == "" || c.compare(r) < 0 }

// compare orders rows as they are listed. Rows of the index in the same quarter hour compare equal, because the index
// orders them.
func (r sessionRow) compare(other sessionRow) int {
	if c := cmp.Compare(other.activeAt, r.activeAt); c != 0 {
		return c
	}
	switch {
	case r.kind == indexedRow && other.kind == indexedRow:
		return 0
	case other.kind == indexedRow:
		return -1
	case r.kind == indexedRow:
		return 1
	}
	return cmp.Compare(r.sk, other.sk)
}
