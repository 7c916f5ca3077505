package dynamo

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// isFromTable reports whether a page is read from the table alone. It is while the indexes lack sessions of the user. A
// list that began so goes on so, because the index has another order.
func (s *SessionStore) isFromTable(ctx context.Context, user conversation.UserID, after listCursor) (bool, error) {
	if after.kind == tableRow {
		return true, nil
	}
	if s.db.adoption == nil {
		return false, nil
	}
	isInIndexes, err := s.db.adoption.IsInIndexes(ctx, user)
	return !isInIndexes, err
}

// readTable lists all sessions of the user, consistently, by activity and key. A session that moves between two pages
// keeps its place. After a page that was read from the index, the sessions of the cursor's quarter hour are listed
// again.
func (l *sessionList) readTable(ctx context.Context, after listCursor) error {
	current, err := l.db.ReadCurrent(ctx, "list sessions", l.user)
	if err != nil {
		return err
	}
	lists := make([]sessionList, len(conversation.AppContexts()))
	var g errgroup.Group
	for i, appContext := range conversation.AppContexts() {
		if l.filter.Context == "" || l.filter.Context == appContext.Name {
			lists[i] = sessionList{db: l.db, user: l.user, filter: l.filter}
			g.Go(func() error { return lists[i].readPrefix(ctx, appContext.Prefix, current) })
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, list := range lists {
		for _, r := range list.rows {
			isRepeated := after.kind != tableRow && r.activeAt == after.activeAt
			if isRepeated || after.isBefore(r) {
				l.rows = append(l.rows, r)
			}
		}
	}
	slices.SortFunc(l.rows, sessionRow.compare)
	return nil
}

// readPrefix adds the sessions of a context. They are decoded one by one, because all arrays of a user together may be
// large. current has the user's generation.
func (l *sessionList) readPrefix(ctx context.Context, prefix string, current table.RecordSet) error {
	generation := table.GenerationKey(l.user)
	for it, err := range l.db.Query(ctx, "list sessions", table.Query{Where: table.WithPrefix(l.user, prefix)}) {
		if err != nil {
			return err
		}
		k := table.KeyOf(it)
		session, ok := l.db.Session(table.RecordSet{k: it, generation: current[generation]}, l.user, k)
		if ok && l.matches(session) {
			active := conversation.FormatTime(session.ListedAt())
			l.rows = append(l.rows, sessionRow{active, k.SK, tableRow, session, sizeInList(l.db.adoption, it, session)})
		}
	}
	return nil
}
