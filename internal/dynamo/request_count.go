package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/ratelimit"
)

// RequestCounter counts what users ask for, in one record for each user and minute. A count may be too high after an
// attempt without an answer. It is safe for concurrent use.
type RequestCounter struct{ db *DB }

var _ ratelimit.Counter = (*RequestCounter)(nil)

// NewRequestCounter returns the counters of a DB.
func NewRequestCounter(db *DB) *RequestCounter { return &RequestCounter{db} }

// requestsLife is how long a counter is kept after its minute begins.
const requestsLife = 10 * time.Minute

// CountRequests adds n in one call. The record carries the user's generation as this process knows it, so that it goes
// with the user. Where the record has a later one, it takes that over with a second call.
func (s *RequestCounter) CountRequests(ctx context.Context, user conversation.UserID, minute time.Time, n int,
) (int, error) {
	k := key{partition(user), requestsPrefix + conversation.FormatTime(minute)}
	for {
		generation := s.db.cache.generation(user)
		u := expression.Add(field(attrRequests), value(intAttr(n))).
			Set(field(attrGeneration), value(intAttr(generation))).
			Set(field(TTLAttribute), value(intAttr(minute.Add(requestsLife).Unix())))
		isOwn := notExists().Or(field(attrGeneration).LessThanEqual(value(intAttr(generation))))
		stored, err := s.db.updateItem(ctx, k, u, isOwn)
		existing, isLater := conditionFailed(err)
		if !isLater {
			return int(stored.int64(attrRequests)), failed("count requests", err)
		}
		s.db.cache.saveGeneration(user, existing.int64(attrGeneration))
	}
}
