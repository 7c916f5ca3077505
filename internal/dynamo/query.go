package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/internal/conversation"
)

// query is a read along one key range of the table or an index.
type query struct {
	index      string // empty for the table, which is read consistently
	where      expression.KeyConditionBuilder
	only       []string // attributes; all where empty
	descending bool
	// page is how many records one call asks for; 0 leaves it to DynamoDB's 1 MiB.
	page  int
	after item // a key to start behind
}

// query walks the records in order and gets further pages as they are asked for. What has expired is left out. After
// an error it ends.
func (s *Store) query(ctx context.Context, op string, q query) iter.Seq2[item, error] {
	now := s.now()
	return func(yield func(item, error) bool) {
		for it, err := range s.queryAll(ctx, op, q) {
			if err == nil && it.expired(now) {
				continue
			}
			if !yield(it, err) {
				return
			}
		}
	}
}

// queryAll is query with what has expired and is not deleted yet.
func (s *Store) queryAll(ctx context.Context, op string, q query) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		in, err := q.input(s.table)
		for err == nil {
			var out *dynamodb.QueryOutput
			if out, err = s.client.Query(ctx, in); err != nil {
				break
			}
			for _, it := range out.Items {
				if !yield(it, nil) {
					return
				}
			}
			if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
				return
			}
		}
		yield(nil, failed(op, err))
	}
}

func (q query) input(table string) (*dynamodb.QueryInput, error) {
	b := expression.NewBuilder().WithKeyCondition(q.where)
	if len(q.only) > 0 {
		b = b.WithProjection(projection(q.only))
	}
	e, err := b.Build()
	if err != nil {
		return nil, err
	}
	in := &dynamodb.QueryInput{
		TableName: aws.String(table), KeyConditionExpression: e.KeyCondition(), ProjectionExpression: e.Projection(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ScanIndexForward: aws.Bool(!q.descending), ConsistentRead: aws.Bool(q.index == ""),
	}
	if q.index != "" {
		in.IndexName = aws.String(q.index)
	}
	if q.page > 0 {
		in.Limit = aws.Int32(int32(q.page))
	}
	if q.after != nil {
		in.ExclusiveStartKey = q.after
	}
	return in, nil
}

// projection asks for attributes and, always, for what tells whether a record has expired.
func projection(only []string) expression.ProjectionBuilder {
	p := expression.NamesList(field(TTLAttribute))
	for _, a := range only {
		p = p.AddNames(field(a))
	}
	return p
}

// within is the key condition for a user's records between two sort keys, both included.
func within(user conversation.UserID, low, high string) expression.KeyConditionBuilder {
	return expression.Key(attrPK).Equal(value(text(partition(user)))).
		And(expression.Key(attrSK).Between(value(text(low)), value(text(high))))
}

// beginning is the key condition for a user's records of one prefix.
func beginning(user conversation.UserID, prefix string) expression.KeyConditionBuilder {
	return expression.Key(attrPK).Equal(value(text(partition(user)))).
		And(expression.Key(attrSK).BeginsWith(prefix))
}
