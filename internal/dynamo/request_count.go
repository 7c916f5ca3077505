package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// CountRequests adds n in one call. An erasure of the user leaves the record until it expires. The roles of functions
// that only read allow this update and no other: of these attributes, returning them alone.
func (s *RequestCounter) CountRequests(ctx context.Context, user conversation.UserID, minute time.Time, n int,
) (int, error) {
	k := key{partition(user), requestsPrefix + conversation.FormatTime(minute)}
	u := expression.Add(field(attrRequests), value(intAttr(n))).
		Set(field(attrGeneration), value(intAttr(s.db.cache.generation(user)))).
		Set(field(TTLAttribute), value(intAttr(minute.Add(requestsLife).Unix())))
	e, err := expression.NewBuilder().WithUpdate(u).Build()
	if err != nil {
		return 0, err
	}
	in := &dynamodb.UpdateItemInput{
		TableName: aws.String(s.db.table), Key: k.attributes(), UpdateExpression: e.Update(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValues: types.ReturnValueUpdatedNew,
	}
	var counted item
	err = s.db.writeItem(ctx, func(ctx context.Context, once ...func(*dynamodb.Options)) error {
		out, err := s.db.client.UpdateItem(ctx, in, once...)
		if err == nil {
			counted = out.Attributes
		}
		return err
	})
	return int(counted.int64(attrRequests)), failed("count requests", err)
}
