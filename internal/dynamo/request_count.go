package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// RequestCounter counts what users ask for, in one record for each user and minute. A count may be too high after an
// attempt without an answer. It is safe for concurrent use.
type RequestCounter struct{ db *DB }

// NewRequestCounter returns the counters of a DB.
func NewRequestCounter(db *DB) *RequestCounter { return &RequestCounter{db} }

// requestsLife is how long a counter is kept after its minute begins.
const requestsLife = 10 * time.Minute

// CountRequests adds n in one call. An erasure of the user leaves the record until it expires. The roles of functions
// that only read allow this update and no other: of these attributes, returning them alone.
func (s *RequestCounter) CountRequests(ctx context.Context, user conversation.UserID, minute time.Time, n int,
) (int, error) {
	k := table.UserKey(user, table.RequestsPrefix+conversation.FormatTime(minute))
	u := table.Add(table.AttrRequests, n).
		Set(table.AttrGeneration, s.db.cache.generation(user)).
		Set(table.TTLAttribute, minute.Add(requestsLife).Unix())
	counted, err := s.db.UpdateAlways(ctx, k, u)
	return int(counted.Int64(table.AttrRequests)), table.Failed("count requests", err)
}
