package table

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
)

// Query is a read along one key range of the table or of an index.
type Query struct {
	Index      string // empty for the table, which is read consistently
	Where      expression.KeyConditionBuilder
	Only       []string // attributes to read; empty for all
	Descending bool
	// Page is how many records one call asks for. 0 leaves it to DynamoDB's limit of 1 MiB.
	Page  int
	After Item // the key after which to start
}

// Query returns the records in order, without expired ones, and reads further pages as the caller asks for them. It
// ends after an error.
func (t *Table) Query(ctx context.Context, op string, q Query) iter.Seq2[Item, error] {
	now := t.Now()
	return func(yield func(Item, error) bool) {
		for it, err := range t.QueryWithExpired(ctx, op, q) {
			if err == nil && it.Expired(now) {
				continue
			}
			if !yield(it, err) {
				return
			}
		}
	}
}

// QueryWithExpired is query with the records that have expired and are not deleted yet.
func (t *Table) QueryWithExpired(ctx context.Context, op string, q Query) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		in, err := q.input(t.Name)
		for err == nil {
			var out *dynamodb.QueryOutput
			if out, err = t.Client.Query(ctx, in); err != nil {
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
		yield(nil, Failed(op, err))
	}
}

func (q Query) input(table string) (*dynamodb.QueryInput, error) {
	b := expression.NewBuilder().WithKeyCondition(q.Where)
	if len(q.Only) > 0 {
		b = b.WithProjection(projection(q.Only))
	}
	e, err := b.Build()
	if err != nil {
		return nil, err
	}
	in := &dynamodb.QueryInput{
		TableName: aws.String(table), KeyConditionExpression: e.KeyCondition(), ProjectionExpression: e.Projection(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ScanIndexForward: aws.Bool(!q.Descending), ConsistentRead: aws.Bool(q.Index == ""),
	}
	if q.Index != "" {
		in.IndexName = aws.String(q.Index)
	}
	if q.Page > 0 {
		in.Limit = aws.Int32(int32(q.Page))
	}
	if q.After != nil {
		in.ExclusiveStartKey = q.After
	}
	return in, nil
}

// projection asks for the attributes and for the expiry time.
func projection(only []string) expression.ProjectionBuilder {
	p := expression.NamesList(Field(TTLAttribute))
	for _, a := range only {
		p = p.AddNames(Field(a))
	}
	return p
}

// Between is the key condition for a user's records between two sort keys, both included.
func Between(user conversation.UserID, low, high string) expression.KeyConditionBuilder {
	return InPartition(user).And(expression.Key(AttrSK).Between(Value(low), Value(high)))
}

// WithPrefix is the key condition for a user's records whose sort keys begin with prefix.
func WithPrefix(user conversation.UserID, prefix string) expression.KeyConditionBuilder {
	return InPartition(user).And(expression.Key(AttrSK).BeginsWith(prefix))
}

// InPartition is the key condition for all of a user's records.
func InPartition(user conversation.UserID) expression.KeyConditionBuilder {
	return expression.Key(AttrPK).Equal(Value(Partition(user)))
}

// StartAfter returns the key after which a page starts, nil for the first page. The position has to be a key of the
// list and within its range, because DynamoDB refuses any other.
func StartAfter(user conversation.UserID, after conversation.Position, low, high string, isListed func(sk string) bool,
) (Item, error) {
	if after == "" {
		return nil, nil //nolint:nilnil // the first page starts after no key
	}
	sk := string(after)
	if !isListed(sk) || sk < low || sk > high {
		return nil, ErrPosition()
	}
	return UserKey(user, sk).Attributes(), nil
}

// Pager collects a page of a list that is ordered by sort key. The next page starts after the last record that was
// examined.
type Pager[T any] struct {
	Limit    int
	Size     func(Item) int // bytes of a record; item.size if nil
	items    []T
	last     string
	bytes    int // of the records on the page
	examined int // bytes of all records read
}

// firstRoom is for how many items a page has room at first. A page that grows is copied each time, and the messages of
// a prompt's history are large.
const firstRoom = 512

// Collect reads records until the page is full. pick decodes a record and says whether it is on the list.
func (p *Pager[T]) Collect(records iter.Seq2[Item, error], pick func(Item) (T, bool),
) ([]T, conversation.Position, error) {
	for it, err := range records {
		if err != nil {
			return nil, "", err
		}
		if !p.add(it, pick) {
			return p.items, conversation.Position(p.last), nil
		}
	}
	return p.items, "", nil
}

// add puts the record on the page or skips it. It returns false where the page is full.
func (p *Pager[T]) add(it Item, pick func(Item) (T, bool)) bool {
	measure := p.Size
	if measure == nil {
		measure = Item.Size
	}
	size := measure(it)
	if p.examined += size; p.examined > conversation.MaxExaminedBytes && p.last != "" {
		return false
	}
	if v, ok := pick(it); ok {
		if len(p.items) >= p.Limit || len(p.items) > 0 && p.bytes+size > conversation.MaxPageBytes {
			return false
		}
		if p.items == nil {
			p.items = make([]T, 0, min(p.Limit, firstRoom))
		}
		p.items = append(p.items, v)
		p.bytes += size
	}
	p.last = it.String(AttrSK)
	return true
}

// ErrPosition refuses a position that is not of the list.
func ErrPosition() error { return fault.InvalidField("cursor", "is not one of this list") }
