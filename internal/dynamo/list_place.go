package dynamo

import (
	"cmp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
)

// listPlace is where a list of sessions stands: behind a row, or at the beginning where that is none. The order of a list
// is by activity, latest first; within a quarter hour the fresh sessions come first, by their keys, and then the
// others as the index has them. So each session has one place, whatever the index shows of it at the time.
type listPlace struct {
	// horizon is since when sessions count as fresh, for all pages of the list: one that ceases to be fresh in between
	// does not change its place.
	horizon time.Time
	row
}

// The kinds of rows in a position.
const (
	freshRow   = "fresh"
	indexedRow = "indexed"
)

// position writes a place down.
func (p listPlace) position() conversation.Position {
	kind := indexedRow
	if p.fresh {
		kind = freshRow
	}
	return conversation.Position(strings.Join([]string{conversation.FormatTime(p.horizon), kind, p.activeAt, p.sk}, "#"))
}

// placeAt reads a position; the empty one is the beginning of a new list.
func (s *Store) placeAt(p conversation.Position) (listPlace, error) {
	if p == "" {
		return listPlace{horizon: s.now().Add(-freshLife)}, nil
	}
	const parts = 4 // the last one, an sk, has a separator of its own
	f := strings.SplitN(string(p), "#", parts)
	if len(f) < parts {
		return listPlace{}, errPosition()
	}
	horizon, horizonOK := parseTime(f[0])
	_, activeOK := parseTime(f[2])
	_, _, sessionOK := parseSessionSK(f[3])
	if !horizonOK || !activeOK || !sessionOK || f[1] != freshRow && f[1] != indexedRow {
		return listPlace{}, errPosition()
	}
	return listPlace{horizon, row{activeAt: f[2], sk: f[3], fresh: f[1] == freshRow}}, nil
}

// query reads the index on from a place.
func (p listPlace) query(user conversation.UserID, page int) query {
	q := query{index: Recent, where: expression.Key(attrPK).Equal(value(text(partition(user)))), descending: true, page: page}
	switch {
	case p.sk == "":
	case p.fresh: // nothing of its quarter hour in the index has been listed
		q.where = q.where.And(expression.Key(attrActiveAt).LessThanEqual(value(text(p.activeAt))))
	default:
		q.after = key{partition(user), p.sk}.attributes()
		q.after[attrActiveAt] = text(p.activeAt)
	}
	return q
}

// before reports whether a fresh row comes behind the place.
func (p listPlace) before(r row) bool { return p.sk == "" || p.compare(r) < 0 }

// compare orders rows as they are listed. Rows of the index within one quarter hour are equal: the index orders them.
func (r row) compare(other row) int {
	if c := cmp.Compare(other.activeAt, r.activeAt); c != 0 {
		return c
	}
	switch {
	case r.fresh && other.fresh:
		return cmp.Compare(r.sk, other.sk)
	case r.fresh:
		return -1
	case other.fresh:
		return 1
	}
	return 0
}
