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
	// One row more than the limit tells whether there is another page.
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
	q := query{
		index: Recent, where: inPartition(user).And(expression.Key(attrActiveAt).GreaterThanEqual(value(timeAttr(from)))),
		descending: true, page: page.Limit + 1, after: after,
	}
	wanted, next, err := r.activityPage(ctx, q, page.Limit, func(context, _ string) (bool, error) {
		return len(recent.Contexts) == 0 || slices.Contains(recent.Contexts, context), nil
	})
	if err != nil {
		return nil, "", err
	}
	l := sessionList{db: r.db, user: user, since: recent.Since}
	err = l.readRecords(ctx, wanted)
	return l.byActivity(), next, err
}

// activityPage returns the rows of an index of sessions that are wanted by their contexts and ids, at most limit, and
// where the next page starts.
func (r *SessionReader) activityPage(ctx context.Context, q query, limit int, isWanted func(context, id string) (
	bool, error),
) (wanted []item, next conversation.Position, err error) {
	for it, err := range r.db.query(ctx, "list sessions by activity", q) {
		if err != nil {
			return nil, "", err
		}
		context, id, ok := parseSessionSK(it.string(attrSK))
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
			return wanted, conversation.Position(last.string(attrActiveAt) + "#" + last.string(attrSK)), nil
		}
		wanted = append(wanted, it)
	}
	return wanted, "", nil
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
	coach := stringAttr(coachKey(user, of.CoachID))
	if after != nil {
		after[attrCoachKey] = coach
	}
	q := query{
		index: CoachRecent, descending: true, page: page.Limit + 2, after: after, // one more page, and the one left out
		where: expression.Key(attrCoachKey).Equal(value(coach)),
	}
	wanted, next, err := r.activityPage(ctx, q, page.Limit, func(context, id string) (bool, error) {
		if id == of.Except || of.Allows == nil {
			return id != of.Except, nil
		}
		return of.Allows(ctx, context)
	})
	if err != nil {
		return nil, "", err
	}
	l := sessionList{db: r.db, user: user}
	if err := l.readRecords(ctx, wanted); err != nil {
		return nil, "", err
	}
	sessions := l.byActivity()
	return slices.DeleteFunc(sessions, func(s conversation.Session) bool { return !s.HasContent() }), next, nil
}

// activityCursor returns the key of Recent after which a page begins, nil for the first page.
func activityCursor(user conversation.UserID, after conversation.Position) (item, error) {
	if after == "" {
		return nil, nil //nolint:nilnil // the first page starts after no key
	}
	activeAt, sk, _ := strings.Cut(string(after), "#")
	_, timeOK := parseTime(activeAt)
	_, _, sessionOK := parseSessionSK(sk)
	if !timeOK || !sessionOK {
		return nil, errPosition()
	}
	start := key{partition(user), sk}.attributes()
	start[attrActiveAt] = stringAttr(activeAt)
	return start, nil
}

// byActivity returns the sessions of a list by their last messages, latest first.
func (l *sessionList) byActivity() []conversation.Session {
	out := make([]conversation.Session, len(l.rows))
	for i, r := range l.rows {
		out[i] = r.session
	}
	slices.SortStableFunc(out, func(a, b conversation.Session) int { return b.LastActiveAt().Compare(a.LastActiveAt()) })
	return out
}

// sessionList collects sessions in the order of the index.
type sessionList struct {
	db      *DB
	user    conversation.UserID
	filter  conversation.SessionFilter
	since   time.Time // where set, only sessions with a message since then
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
	if l.filter.Status != "" && s.Status != l.filter.Status || l.filter.Context != "" && s.Context != l.filter.Context {
		return false
	}
	return l.since.IsZero() || s.HasContent() && !s.LastActiveAt().Before(l.since)
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
func (l *sessionList) readIndex(ctx context.Context, q query) error {
	var batch []item
	for it, err := range l.db.query(ctx, "list sessions", q) {
		if err != nil {
			return err
		}
		sk := it.string(attrSK)
		context, _, ok := parseSessionSK(sk)
		if ok && !l.fresh[sk] && (l.filter.Context == "" || context == l.filter.Context) {
			batch = append(batch, it)
		}
		if len(batch) == min(q.page, maxBatchGet-1) { // the generation is read in the same batch
			if err := l.readRecords(ctx, batch); err != nil || len(l.rows) >= l.maxRows {
				return err
			}
			batch = nil
		}
	}
	return l.readRecords(ctx, batch)
}

// readRecords adds the sessions behind rows of the index to the list.
func (l *sessionList) readRecords(ctx context.Context, indexed []item) error {
	if len(indexed) == 0 {
		return nil
	}
	keys := make([]key, len(indexed))
	for i, it := range indexed {
		keys[i] = keyOf(it)
	}
	records, err := l.db.readCurrent(ctx, "list sessions", l.user, keys...)
	if err != nil {
		return err
	}
	for i, k := range keys {
		if session, ok := records.session(l.user, k); ok && l.matches(session) {
			size := sizeInList(records[k])
			kind := indexedRow
			if l.fresh[k.sk] {
				kind = freshRow
			}
			l.rows = append(l.rows, sessionRow{indexed[i].string(attrActiveAt), k.sk, kind, session, size})
		}
	}
	return nil
}

// readFresh returns the sessions that were created since then, and makes readIndex skip them.
func (l *sessionList) readFresh(ctx context.Context, since time.Time) ([]sessionRow, error) {
	fresh := sessionList{db: l.db, user: l.user, filter: l.filter, fresh: l.fresh}
	var marked []item
	low := freshPrefix + conversation.FormatTime(since)
	for it, err := range l.db.query(ctx, "list sessions", query{where: between(l.user, low, afterPrefix(freshPrefix))}) {
		if err != nil {
			return nil, err
		}
		// While an erasure deletes an earlier session of the same id, there may be two marks.
		if sk, ok := parseFreshSK(it.string(attrSK)); ok && !fresh.fresh[sk] {
			fresh.fresh[sk] = true
			marked = append(marked, key{partition(l.user), sk}.attributes())
		}
	}
	if err := fresh.readRecords(ctx, marked); err != nil {
		return nil, err
	}
	for i, r := range fresh.rows {
		fresh.rows[i].activeAt = conversation.FormatTime(r.session.ActiveAt())
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
		return listCursor{freshSince: s.db.now().Add(-freshLife)}, nil
	}
	const parts = 4 // the last one, a sort key, holds a separator of its own
	f := strings.SplitN(string(p), "#", parts)
	if len(f) < parts {
		return listCursor{}, errPosition()
	}
	freshSince, freshOK := parseTime(f[0])
	_, activeOK := parseTime(f[2])
	_, _, sessionOK := parseSessionSK(f[3])
	kind := rowKind(f[1])
	if !freshOK || !activeOK || !sessionOK || !slices.Contains(rowKinds, kind) {
		return listCursor{}, errPosition()
	}
	return listCursor{freshSince, sessionRow{activeAt: f[2], sk: f[3], kind: kind}}, nil
}

// query reads the index from the cursor on.
func (c listCursor) query(user conversation.UserID, page int) query {
	q := query{index: Recent, where: inPartition(user), descending: true, page: page}
	switch {
	case c.sk == "":
	case c.kind == freshRow: // no row of the index in this quarter hour has been listed
		q.where = q.where.And(expression.Key(attrActiveAt).LessThanEqual(value(stringAttr(c.activeAt))))
	default:
		q.after = key{partition(user), c.sk}.attributes()
		q.after[attrActiveAt] = stringAttr(c.activeAt)
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
