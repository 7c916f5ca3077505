package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// transaction collects writes that happen all or not at all. Each adding method returns the write's place, by which
// a refusal tells which condition failed.
type transaction struct {
	table *string
	items []types.TransactWriteItem
	err   error
}

func (s *Store) transaction() *transaction { return &transaction{table: aws.String(s.table)} }

const allOld = types.ReturnValuesOnConditionCheckFailureAllOld

func (t *transaction) add(i types.TransactWriteItem) int {
	t.items = append(t.items, i)
	return len(t.items) - 1
}

func (t *transaction) build(b expression.Builder) expression.Expression {
	e, err := b.Build()
	t.err = errors.Join(t.err, err)
	return e
}

func (t *transaction) put(it item, cond expression.ConditionBuilder) int {
	e := t.build(expression.NewBuilder().WithCondition(cond))
	return t.add(types.TransactWriteItem{Put: &types.Put{
		TableName: t.table, Item: it, ConditionExpression: e.Condition(), ExpressionAttributeNames: e.Names(),
		ExpressionAttributeValues: e.Values(), ReturnValuesOnConditionCheckFailure: allOld,
	}})
}

// set puts a record whatever was there.
func (t *transaction) set(it item) int {
	return t.add(types.TransactWriteItem{Put: &types.Put{TableName: t.table, Item: it}})
}

func (t *transaction) update(k key, u expression.UpdateBuilder, cond expression.ConditionBuilder) int {
	e := t.build(expression.NewBuilder().WithUpdate(u).WithCondition(cond))
	return t.add(types.TransactWriteItem{Update: &types.Update{
		TableName: t.table, Key: k.attributes(), UpdateExpression: e.Update(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: allOld,
	}})
}

func (t *transaction) check(k key, cond expression.ConditionBuilder) int {
	e := t.build(expression.NewBuilder().WithCondition(cond))
	return t.add(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: t.table, Key: k.attributes(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: allOld,
	}})
}

func (t *transaction) delete(k key, cond expression.ConditionBuilder) int {
	e := t.build(expression.NewBuilder().WithCondition(cond))
	return t.add(types.TransactWriteItem{Delete: &types.Delete{
		TableName: t.table, Key: k.attributes(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: allOld,
	}})
}

// remove deletes a record, if it is there.
func (t *transaction) remove(k key) int {
	return t.add(types.TransactWriteItem{Delete: &types.Delete{TableName: t.table, Key: k.attributes()}})
}

// refusal says which conditions of a transaction failed. A nil refusal means that it was carried out.
type refusal struct {
	// found holds, by place, the records that failed their conditions; nil where there was none.
	found map[int]item
	// unsure is set when an earlier attempt of the same transaction had no answer: it may be that attempt's own
	// writes that the conditions met.
	unsure bool
}

// met returns the record that failed the condition in that place, and whether that condition failed.
func (r *refusal) met(place int) (item, bool) {
	it, ok := r.found[place]
	return it, ok
}

// commit carries a transaction out. Throttles, conflicts with other transactions and missing answers are tried again
// with the same writes; the client token lets DynamoDB know a repeated attempt from a second transaction.
func (s *Store) commit(ctx context.Context, op string, t *transaction, p *patience) (*refusal, error) {
	if t.err != nil {
		return nil, failed(op, t.err)
	}
	r := &refusal{}
	in := &dynamodb.TransactWriteItemsInput{TransactItems: t.items, ClientRequestToken: s.token()}
	for {
		err := p.timed(func() error {
			_, err := s.client.TransactWriteItems(ctx, in)
			return err
		})
		if err == nil {
			return nil, nil
		}
		if found, refused := conditionsIn(err); refused {
			r.found = found
			return r, nil
		}
		if err := p.retry(ctx, err, r); err != nil {
			return nil, failed(op, err)
		}
		if !r.unsure { // a cancelled attempt has used its token up
			in.ClientRequestToken = s.token()
		}
	}
}

// retry waits before another attempt of the same transaction, and returns the error where there may be none.
func (p *patience) retry(ctx context.Context, err error, r *refusal) error {
	if conflicted(err) {
		if waitErr := p.wait(ctx); waitErr != nil {
			return errors.Join(waitErr, err)
		}
		return nil
	}
	kind := troubleOf(err)
	r.unsure = r.unsure || kind == unsure
	if kind == fatal || ctx.Err() != nil {
		return err
	}
	spent, waitErr := p.rest(ctx)
	if spent || waitErr != nil {
		return errors.Join(waitErr, err)
	}
	return nil
}

func (s *Store) token() *string { return aws.String(randomDigits(s.random) + randomDigits(s.random)) }

// conditionsIn returns the records that failed conditions, by place, where the error is that a transaction was
// cancelled for conditions.
func conditionsIn(err error) (map[int]item, bool) {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return nil, false
	}
	found := map[int]item{}
	for i, reason := range cancelled.CancellationReasons {
		if aws.ToString(reason.Code) == "ConditionalCheckFailed" {
			found[i] = reason.Item
		}
	}
	return found, len(found) > 0
}

// conflicted reports whether a transaction was cancelled for nothing but other writers or throttles at its items.
func conflicted(err error) bool {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return false
	}
	some := false
	for _, reason := range cancelled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			some = true
		case "None", "":
		default:
			return false
		}
	}
	return some
}
