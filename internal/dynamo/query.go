package dynamo

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/conversation"
)

// query is a read along one key range of the table or of an index.
type query struct {
	index      string // empty for the table, which is read consistently
	where      expression.KeyConditionBuilder
	only       []string // attributes to read; empty for all
	descending bool
	// page is how many records one call asks for. 0 leaves it to DynamoDB's limit of 1 MiB.
	page  int
	after item // the key after which to start
}

// query returns the records in order, without expired ones, and reads further pages as the caller asks for them. It
// ends after an error.
func (db *DB) query(ctx context.Context, op string, q query) iter.Seq2[item, error] {
	now := db.now()
	return func(yield func(item, error) bool) {
		for it, err := range db.queryWithExpired(ctx, op, q) {
			if err == nil && it.expired(now) {
				continue
			}
			if !yield(it, err) {
				return
			}
		}
	}
}

// queryWithExpired is query with the records that have expired and are not deleted yet.
func (db *DB) queryWithExpired(ctx context.Context, op string, q query) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		in, err := q.input(db.table)
		for err == nil {
			var out *dynamodb.QueryOutput
			if out, err = db.client.Query(ctx, in); err != nil {
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

// projection asks for the attributes and for the expiry time.
func projection(only []string) expression.ProjectionBuilder {
	p := expression.NamesList(field(TTLAttribute))
	for _, a := range only {
		p = p.AddNames(field(a))
	}
	return p
}

// between is the key condition for a user's records between two sort keys, both included.
func between(user conversation.UserID, low, high string) expression.KeyConditionBuilder {
	return inPartition(user).And(expression.Key(attrSK).Between(value(stringAttr(low)), value(stringAttr(high))))
}

// withPrefix is the key condition for a user's records whose sort keys begin with prefix.
func withPrefix(user conversation.UserID, prefix string) expression.KeyConditionBuilder {
	return inPartition(user).And(expression.Key(attrSK).BeginsWith(prefix))
}

func inPartition(user conversation.UserID) expression.KeyConditionBuilder {
	return expression.Key(attrPK).Equal(value(stringAttr(partition(user))))
}

// startAfter returns the key after which a page starts, nil for the first page. The position has to be a key of the
// list and within its range, because DynamoDB refuses any other.
func startAfter(user conversation.UserID, after conversation.Position, low, high string, isListed func(sk string) bool,
) (item, error) {
	if after == "" {
		return nil, nil //nolint:nilnil // the first page starts after no key
	}
	sk := string(after)
	if !isListed(sk) || sk < low || sk > high {
		return nil, errPosition()
	}
	return key{partition(user), sk}.attributes(), nil
}

// maxExamined bounds how many bytes are read for one page of a filtered list. A page may end short of its limit, with
// more behind it.
const maxExamined = 4 << 20

// pager collects a page of a list that is ordered by sort key. The next page starts after the last record that was
// examined.
type pager[T any] struct {
	limit    int
	size     func(item) int // bytes of a record; item.size if nil
	items    []T
	last     string
	bytes    int // of the records on the page
	examined int // bytes of all records read
}

// collect reads records until the page is full. pick decodes a record and says whether it is on the list.
func (p *pager[T]) collect(records iter.Seq2[item, error], pick func(item) (T, bool),
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
func (p *pager[T]) add(it item, pick func(item) (T, bool)) bool {
	measure := p.size
	if measure == nil {
		measure = item.size
	}
	size := measure(it)
	if p.examined += size; p.examined > maxExamined && p.last != "" {
		return false
	}
	if v, ok := pick(it); ok {
		if len(p.items) >= p.limit || len(p.items) > 0 && p.bytes+size > conversation.MaxPageBytes {
			return false
		}
		p.items = append(p.items, v)
		p.bytes += size
	}
	p.last = it.string(attrSK)
	return true
}

// collectCurrent collects a page of records of the user's current generation. Records of an earlier one are what an
// unfinished erasure has still to delete. The generation is read while the list is.
func collectCurrent[T any](ctx context.Context, db *DB, user conversation.UserID, limit int,
	records iter.Seq2[item, error], pick func(item) (T, bool),
) ([]T, conversation.Position, error) {
	var current recordSet
	var g errgroup.Group
	g.Go(func() (err error) {
		current, err = db.readCurrent(ctx, "read generation", user)
		return err
	})
	p := pager[T]{limit: limit}
	items, next, err := p.collect(records, func(it item) (T, bool) {
		v, ok := pick(it)
		return v, ok && g.Wait() == nil && it.int64(attrGeneration) >= current.generation(user)
	})
	if waitErr := g.Wait(); err == nil && waitErr != nil {
		return nil, "", waitErr
	}
	return items, next, err
}
