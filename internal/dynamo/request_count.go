package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
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
	k := table.UserKey(user, table.RequestsPrefix+conversation.FormatTime(minute))
	u := expression.Add(table.Field(table.AttrRequests), table.Value(table.IntAttr(n))).
		Set(table.Field(table.AttrGeneration), table.Value(table.IntAttr(s.db.cache.generation(user)))).
		Set(table.Field(table.TTLAttribute), table.Value(table.IntAttr(minute.Add(requestsLife).Unix())))
	e, err := expression.NewBuilder().WithUpdate(u).Build()
	if err != nil {
		return 0, err
	}
	in := &dynamodb.UpdateItemInput{
		TableName: aws.String(s.db.Name), Key: k.Attributes(), UpdateExpression: e.Update(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValues: types.ReturnValueUpdatedNew,
	}
	var counted table.Item
	err = s.db.WriteItem(ctx, func(ctx context.Context, once ...func(*dynamodb.Options)) error {
		out, err := s.db.Client.UpdateItem(ctx, in, once...)
		if err == nil {
			counted = out.Attributes
		}
		return err
	})
	return int(counted.Int64(table.AttrRequests)), table.Failed("count requests", err)
}
