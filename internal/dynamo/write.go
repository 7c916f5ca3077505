package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/throughline/throughline/internal/conversation"
)

const returnOld = types.ReturnValuesOnConditionCheckFailureAllOld

// updateItem changes one record and returns it as stored. See conditionFailed for a condition that fails.
func (db *DB) updateItem(ctx context.Context, k key, u expression.UpdateBuilder, cond expression.ConditionBuilder,
) (item, error) {
	e, err := expression.NewBuilder().WithUpdate(u).WithCondition(cond).Build()
	if err != nil {
		return nil, err
	}
	in := &dynamodb.UpdateItemInput{
		TableName: aws.String(db.table), Key: k.attributes(), UpdateExpression: e.Update(),
		ConditionExpression: e.Condition(), ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: returnOld,
	}
	var stored item
	err = db.writeItem(ctx, func(ctx context.Context, once ...func(*dynamodb.Options)) error {
		out, err := db.client.UpdateItem(ctx, in, once...)
		if err == nil {
			stored = out.Attributes
		}
		return err
	})
	return stored, err
}

// deleteItem deletes one record on a condition.
func (db *DB) deleteItem(ctx context.Context, k key, cond expression.ConditionBuilder) error {
	e, err := expression.NewBuilder().WithCondition(cond).Build()
	if err != nil {
		return err
	}
	in := &dynamodb.DeleteItemInput{
		TableName: aws.String(db.table), Key: k.attributes(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: returnOld,
	}
	return db.writeItem(ctx, func(ctx context.Context, once ...func(*dynamodb.Options)) error {
		_, err := db.client.DeleteItem(ctx, in, once...)
		return err
	})
}

// writeItem makes attempts of a write of one item. It returns a conditionError when the condition failed.
func (db *DB) writeItem(ctx context.Context, attempt func(context.Context, ...func(*dynamodb.Options)) error) error {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	b := db.backoff()
	err := b.write(ctx, func(once ...func(*dynamodb.Options)) error { return attempt(ctx, once...) })
	if failure, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return &conditionError{failure.Item, b.ambiguous, err}
	}
	return err
}

// conditionError says that the condition of a single write failed. existing is the record that failed it, nil where
// there was none. ambiguous says that an earlier attempt had no answer, and may have written the record.
type conditionError struct {
	existing  item
	ambiguous bool
	cause     error
}

func (e *conditionError) Error() string { return e.cause.Error() }

func (e *conditionError) Unwrap() error { return e.cause }

// conditionFailed reports whether err says that the condition of a single write failed. It returns the record that
// failed it, nil where there was none.
func conditionFailed(err error) (item, bool) {
	if failure, ok := errors.AsType[*conditionError](err); ok {
		return failure.existing, true
	}
	return nil, false
}

// isAmbiguous reports whether the condition of a single write failed after an attempt that had no answer.
func isAmbiguous(err error) bool {
	failure, ok := errors.AsType[*conditionError](err)
	return ok && failure.ambiguous
}

// deletedBefore reports whether a deletion failed only because an earlier attempt, whose answer was lost, may have
// deleted the record.
func deletedBefore(err error) bool {
	existing, _ := conditionFailed(err)
	return isAmbiguous(err) && existing == nil
}

// ignoreConditionFailed returns nil for the error of a condition that failed.
func ignoreConditionFailed(err error) error {
	if _, ok := conditionFailed(err); ok {
		return nil
	}
	return err
}

// exists is the condition that there is a record.
func exists() expression.ConditionBuilder { return expression.AttributeExists(field(attrPK)) }

// notExists is the condition that there is no record.
func notExists() expression.ConditionBuilder { return expression.AttributeNotExists(field(attrPK)) }

// always is a condition that holds whether or not there is a record.
func always() expression.ConditionBuilder { return exists().Or(notExists()) }

// isGeneration is the condition that the user's generation is g. A user who was never erased has no record of it.
func isGeneration(g int64) expression.ConditionBuilder {
	is := field(attrGeneration).Equal(value(intAttr(g)))
	if g == 0 {
		return expression.AttributeNotExists(field(attrGeneration)).Or(is)
	}
	return is
}

// transaction collects writes that happen all or not at all. The methods that add a write return its place, by which
// conditionFailures tells whose condition failed.
type transaction struct {
	table *string
	items []types.TransactWriteItem
	err   error
}

func (db *DB) transaction() *transaction { return &transaction{table: aws.String(db.table)} }

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
		ExpressionAttributeValues: e.Values(), ReturnValuesOnConditionCheckFailure: returnOld,
	}})
}

// replace puts a record whether or not there is one.
func (t *transaction) replace(it item) int {
	return t.add(types.TransactWriteItem{Put: &types.Put{TableName: t.table, Item: it}})
}

func (t *transaction) update(k key, u expression.UpdateBuilder, cond expression.ConditionBuilder) int {
	e := t.build(expression.NewBuilder().WithUpdate(u).WithCondition(cond))
	return t.add(types.TransactWriteItem{Update: &types.Update{
		TableName: t.table, Key: k.attributes(), UpdateExpression: e.Update(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: literalNames(e.Names()), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: returnOld,
	}})
}

func (t *transaction) check(k key, cond expression.ConditionBuilder) int {
	e := t.build(expression.NewBuilder().WithCondition(cond))
	return t.add(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: t.table, Key: k.attributes(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: returnOld,
	}})
}

func (t *transaction) delete(k key, cond expression.ConditionBuilder) int {
	e := t.build(expression.NewBuilder().WithCondition(cond))
	return t.add(types.TransactWriteItem{Delete: &types.Delete{
		TableName: t.table, Key: k.attributes(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: returnOld,
	}})
}

// remove deletes a record, if there is one.
func (t *transaction) remove(k key) int {
	return t.add(types.TransactWriteItem{Delete: &types.Delete{TableName: t.table, Key: k.attributes()}})
}

// conditionFailures says which conditions of a transaction failed. It is nil when the transaction was carried out.
type conditionFailures struct {
	// byPlace holds the records that failed conditions, nil where there was no record.
	byPlace map[int]item
	// ambiguous is set when an earlier attempt of the same transaction had no answer. That attempt may have been
	// carried out, so that the conditions failed because of its own writes.
	ambiguous bool
}

// existing returns the record that failed the condition at a place, and whether that condition failed.
func (f *conditionFailures) existing(place int) (item, bool) {
	it, ok := f.byPlace[place]
	return it, ok
}

// commit carries a transaction out. It repeats the same writes after a throttle, a conflict with another transaction
// or a missing answer. The client token tells DynamoDB that an attempt repeats an earlier one.
func (db *DB) commit(ctx context.Context, op string, t *transaction, b *backoff) (*conditionFailures, error) {
	if t.err != nil {
		return nil, failed(op, t.err)
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	in := &dynamodb.TransactWriteItemsInput{TransactItems: t.items, ClientRequestToken: db.newToken()}
	err := b.write(ctx, func(once ...func(*dynamodb.Options)) error {
		_, err := db.client.TransactWriteItems(ctx, in, once...)
		if needsNewToken(err, b.ambiguous) {
			in.ClientRequestToken = db.newToken()
		}
		return err
	})
	if byPlace, ok := failedConditions(err); ok {
		return &conditionFailures{byPlace, b.ambiguous}, nil
	}
	return nil, failed(op, err)
}

// needsNewToken reports whether DynamoDB has to take the next attempt for another transaction: it does not accept the
// token of an attempt that was cancelled or throttled again. After an attempt without an answer the token stays.
func needsNewToken(err error, wasAmbiguous bool) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	_, cancelled := errors.AsType[*types.TransactionCanceledException](err)
	return cancelled || api.ErrorCode() == mismatchCode || classify(err) == throttled && !wasAmbiguous
}

// settle reads the records that show whether an operation that had no answer was carried out. It has its own time,
// because that of the operation may be over.
func (db *DB) settle(ctx context.Context, op string, keys ...key) (recordSet, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	return db.read(ctx, op, keys...)
}

// commitAtGeneration carries out a transaction that needs the user's generation. It starts with the cached one. Where
// the condition at the place that build returns fails because of another generation, it builds the transaction again
// with that one. It returns the places of the last transaction with its failures.
func (db *DB) commitAtGeneration(ctx context.Context, op string, user conversation.UserID, b *backoff,
	build func(generation int64) (t *transaction, place int),
) (*conditionFailures, error) {
	generation := db.cache.generation(user)
	for {
		t, place := build(generation)
		failures, err := db.commit(ctx, op, t, b)
		if err != nil || failures == nil {
			return nil, err
		}
		existing, mismatch := failures.existing(place)
		if !mismatch || existing.int64(attrGeneration) == generation {
			return failures, nil
		}
		generation = existing.int64(attrGeneration)
		db.cache.saveGeneration(user, generation)
	}
}

func (db *DB) newToken() *string {
	return aws.String(newRandomDigits(db.random) + newRandomDigits(db.random))
}

// failedConditions returns the records that failed conditions, by place, when a transaction was cancelled because of
// conditions, and of nothing that passes by itself.
func failedConditions(err error) (map[int]item, bool) {
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || classifyCancellation(cancelled) != permanent {
		return nil, false
	}
	byPlace := map[int]item{}
	for i, reason := range cancelled.CancellationReasons {
		if aws.ToString(reason.Code) == "ConditionalCheckFailed" {
			byPlace[i] = reason.Item
		}
	}
	return byPlace, len(byPlace) > 0
}
