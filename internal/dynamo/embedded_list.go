package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/migration"
)

// readArrays returns the sessions that have an array, and makes readIndex skip them. When the user's stage is shared it
// returns none: what has an array then is about to move, or is in the index.
func (l *sessionList) readArrays(ctx context.Context) ([]sessionRow, error) {
	state, err := l.db.migrationState(ctx)
	if err != nil || state.Of(l.user) == migration.Shared {
		return nil, err
	}
	current, err := l.db.readCurrent(ctx, "list sessions", l.user)
	if err != nil {
		return nil, err
	}
	lists := make([]sessionList, len(conversation.Surfaces))
	var g errgroup.Group
	for i, surface := range conversation.Surfaces {
		if l.filter.Context == "" || l.filter.Context == surface.Context {
			lists[i] = sessionList{db: l.db, user: l.user, filter: l.filter, fresh: map[string]bool{}}
			g.Go(func() error { return lists[i].readPrefix(ctx, surface.Prefix, current) })
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var rows []sessionRow
	for _, list := range lists {
		for sk := range list.fresh {
			l.fresh[sk] = true
		}
		rows = append(rows, list.rows...)
	}
	return rows, nil
}

// readPrefix adds the sessions of a context that have an array. They are decoded one by one, because all arrays of a
// user together may be large. current has the user's generation.
func (l *sessionList) readPrefix(ctx context.Context, prefix string, current recordSet) error {
	shared := value(stringAttr(string(conversation.Shared)))
	hasArray := expression.AttributeNotExists(field(attrPlacement)).Or(field(attrPlacement).NotEqual(shared))
	q := query{where: withPrefix(l.user, prefix), filter: &hasArray}
	generation := generationKey(l.user)
	for it, err := range l.db.query(ctx, "list sessions", q) {
		if err != nil {
			return err
		}
		k := keyOf(it)
		session, ok := recordSet{k: it, generation: current[generation]}.session(l.user, k)
		if !ok {
			continue
		}
		l.fresh[k.sk] = true
		if l.matches(session) {
			active := conversation.FormatTime(session.ActiveAt())
			size := it.size() - sizeOfArray(it)
			l.rows = append(l.rows, sessionRow{active, k.sk, true, session, size})
		}
	}
	return nil
}

func sizeOfArray(it item) (n int) {
	for _, e := range it.array() {
		n += sizeOf(e)
	}
	return n
}
