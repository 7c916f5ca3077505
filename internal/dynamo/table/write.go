package table

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const returnOld = types.ReturnValuesOnConditionCheckFailureAllOld

// UpdateOnce is UpdateItem for a change that is known again: isDone reports whether the record that fails the condition
// was changed by an attempt of this call that had no answer.
func (t *Table) UpdateOnce(ctx context.Context, k Key, u Update, cond Condition, isDone func(Item) bool) (Item, error) {
	it, err := t.UpdateItem(ctx, k, u, cond)
	if failure, ok := errors.AsType[*conditionError](err); ok && failure.ambiguous && isDone(failure.existing) {
		return failure.existing, nil
	}
	return it, err
}

// UpdateItem changes one record and returns it as stored. See ConditionFailed for a condition that fails.
func (t *Table) UpdateItem(ctx context.Context, k Key, u Update, cond Condition) (Item, error) {
	b := expression.NewBuilder().WithUpdate(u.built).WithCondition(cond)
	return t.update(ctx, k, b, dynamodb.UpdateItemInput{
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: returnOld,
	})
}

// UpdateAlways changes a record, whether or not there is one. It returns the attributes that it changes and no others.
func (t *Table) UpdateAlways(ctx context.Context, k Key, u Update) (Item, error) {
	b := expression.NewBuilder().WithUpdate(u.built)
	return t.update(ctx, k, b, dynamodb.UpdateItemInput{ReturnValues: types.ReturnValueUpdatedNew})
}

func (t *Table) update(ctx context.Context, k Key, b expression.Builder, in dynamodb.UpdateItemInput) (Item, error) {
	e, err := b.Build()
	if err != nil {
		return nil, err
	}
	in.TableName, in.Key, in.UpdateExpression = aws.String(t.Name), k.Attributes(), e.Update()
	in.ConditionExpression, in.ExpressionAttributeNames = e.Condition(), e.Names()
	in.ExpressionAttributeValues = e.Values()
	var stored Item
	err = t.writeItem(ctx, func(ctx context.Context, once ...func(*dynamodb.Options)) error {
		out, err := t.Client.UpdateItem(ctx, &in, once...)
		if err == nil {
			stored = out.Attributes
		}
		return err
	})
	return stored, err
}

// UpdateWhere changes one record if it meets the condition. Otherwise it does nothing.
func (t *Table) UpdateWhere(ctx context.Context, op string, k Key, u Update, cond Condition) error {
	_, err := t.UpdateItem(ctx, k, u, cond)
	return Failed(op, IgnoreConditionFailed(err))
}

// DeleteWhere deletes one record if it meets the condition. Otherwise it does nothing.
func (t *Table) DeleteWhere(ctx context.Context, op string, k Key, cond Condition) error {
	return Failed(op, IgnoreConditionFailed(t.DeleteItem(ctx, k, cond)))
}

// DeleteItem deletes one record on a condition. A record that is gone after an attempt without an answer was deleted by
// that one.
func (t *Table) DeleteItem(ctx context.Context, k Key, cond Condition) error {
	e, err := expression.NewBuilder().WithCondition(cond).Build()
	if err != nil {
		return err
	}
	in := &dynamodb.DeleteItemInput{
		TableName: aws.String(t.Name), Key: k.Attributes(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: returnOld,
	}
	err = t.writeItem(ctx, func(ctx context.Context, once ...func(*dynamodb.Options)) error {
		_, err := t.Client.DeleteItem(ctx, in, once...)
		return err
	})
	if failure, ok := errors.AsType[*conditionError](err); ok && failure.ambiguous && failure.existing == nil {
		return nil
	}
	return err
}

// writeItem makes attempts of a write of one item. It returns a conditionError when the condition failed.
func (t *Table) writeItem(ctx context.Context, attempt func(context.Context, ...func(*dynamodb.Options)) error) error {
	ctx, cancel := context.WithTimeout(ctx, OperationTimeout)
	defer cancel()
	b := t.Backoff()
	err := b.write(ctx, func(once ...func(*dynamodb.Options)) error { return attempt(ctx, once...) })
	if failure, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return &conditionError{failure.Item, b.Ambiguous, err}
	}
	return err
}

// conditionError says that the condition of a single write failed. existing is the record that failed it, nil where
// there was none. ambiguous says that an earlier attempt had no answer, and may have written the record.
type conditionError struct {
	existing  Item
	ambiguous bool
	cause     error
}

func (e *conditionError) Error() string { return e.cause.Error() }

func (e *conditionError) Unwrap() error { return e.cause }

// ConditionFailed reports whether err says that the condition of a single write failed. It returns the record that
// failed it, nil where there was none.
func ConditionFailed(err error) (Item, bool) {
	if failure, ok := errors.AsType[*conditionError](err); ok {
		return failure.existing, true
	}
	return nil, false
}

// IgnoreConditionFailed returns nil for the error of a condition that failed.
func IgnoreConditionFailed(err error) error {
	if _, ok := ConditionFailed(err); ok {
		return nil
	}
	return err
}

// Exists is the condition that there is a record.
func Exists() Condition { return Has(AttrPK) }

// NotExists is the condition that there is no record.
func NotExists() Condition { return Lacks(AttrPK) }

// Always is a condition that holds whether or not there is a record.
func Always() Condition { return Exists().Or(NotExists()) }

// IsGeneration is the condition that the user's generation is g. A user who was never erased has no record of it.
func IsGeneration(g int64) Condition {
	is := Is(AttrGeneration, g)
	if g == 0 {
		return Lacks(AttrGeneration).Or(is)
	}
	return is
}

// Transaction collects writes that happen all or not at all. The methods that add a write return its place, by which
// ConditionFailures identifies the write whose condition failed.
type Transaction struct {
	table  *string
	Items  []types.TransactWriteItem
	Err    error
	isDone func(RecordSet) bool
	shows  []Key
}

// DoneIf says how records show that the transaction was carried out. Commit reads them when the transaction fails after
// an attempt that had no answer.
func (t *Transaction) DoneIf(isDone func(RecordSet) bool, shows ...Key) {
	t.isDone, t.shows = isDone, shows
}

// Transaction returns a transaction without writes.
func (t *Table) Transaction() *Transaction { return &Transaction{table: aws.String(t.Name)} }

func (t *Transaction) add(i types.TransactWriteItem) int {
	t.Items = append(t.Items, i)
	return len(t.Items) - 1
}

func (t *Transaction) build(b expression.Builder) expression.Expression {
	e, err := b.Build()
	t.Err = errors.Join(t.Err, err)
	return e
}

// Put adds a record on a condition.
func (t *Transaction) Put(it Item, cond Condition) int {
	e := t.build(expression.NewBuilder().WithCondition(cond))
	return t.add(types.TransactWriteItem{Put: &types.Put{
		TableName: t.table, Item: it, ConditionExpression: e.Condition(), ExpressionAttributeNames: e.Names(),
		ExpressionAttributeValues: e.Values(), ReturnValuesOnConditionCheckFailure: returnOld,
	}})
}

// Replace puts a record whether or not there is one.
func (t *Transaction) Replace(it Item) int {
	return t.add(types.TransactWriteItem{Put: &types.Put{TableName: t.table, Item: it}})
}

// Update adds a change of a record on a condition.
func (t *Transaction) Update(k Key, u Update, cond Condition) int {
	e := t.build(expression.NewBuilder().WithUpdate(u.built).WithCondition(cond))
	return t.add(types.TransactWriteItem{Update: &types.Update{
		TableName: t.table, Key: k.Attributes(), UpdateExpression: e.Update(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: literalNames(e.Names()), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: returnOld,
	}})
}

// Check adds a condition on a record that stays as it is.
func (t *Transaction) Check(k Key, cond Condition) int {
	e := t.build(expression.NewBuilder().WithCondition(cond))
	return t.add(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: t.table, Key: k.Attributes(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: returnOld,
	}})
}

// Delete adds the deletion of a record on a condition.
func (t *Transaction) Delete(k Key, cond Condition) int {
	e := t.build(expression.NewBuilder().WithCondition(cond))
	return t.add(types.TransactWriteItem{Delete: &types.Delete{
		TableName: t.table, Key: k.Attributes(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: returnOld,
	}})
}

// Remove deletes a record, if there is one.
func (t *Transaction) Remove(k Key) int {
	return t.add(types.TransactWriteItem{Delete: &types.Delete{TableName: t.table, Key: k.Attributes()}})
}

// ConditionFailures holds the records that failed conditions of a transaction, by the places of the writes, nil where
// there was no record. It is nil when the transaction was carried out.
type ConditionFailures map[int]Item

// Commit carries a transaction out. It repeats the same writes after a throttle, a conflict with another transaction
// or a missing answer. By the client token DynamoDB knows that an attempt repeats an earlier one, unless it has to take
// it for another one. Then an attempt without an answer may be why this one fails, which DoneIf decides. While that
// cannot be read, Commit fails: to try again could do everything twice.
func (tab *Table) Commit(ctx context.Context, op string, t *Transaction, b *Backoff) (ConditionFailures, error) {
	if t.Err != nil {
		return nil, Failed(op, t.Err)
	}
	ctx, cancel := context.WithTimeout(ctx, OperationTimeout)
	defer cancel()
	in := &dynamodb.TransactWriteItemsInput{TransactItems: t.Items, ClientRequestToken: tab.newToken()}
	err := b.write(ctx, func(once ...func(*dynamodb.Options)) error {
		_, err := tab.Client.TransactWriteItems(ctx, in, once...)
		if needsNewToken(err, b.Ambiguous) {
			in.ClientRequestToken = tab.newToken()
		}
		return err
	})
	if err != nil && b.Ambiguous && t.isDone != nil {
		records, readErr := tab.settle(ctx, op, t.shows)
		if readErr != nil {
			return nil, readErr
		}
		if t.isDone(records) {
			return nil, nil
		}
	}
	if byPlace, ok := failedConditions(err); ok {
		return byPlace, nil
	}
	return nil, Failed(op, err)
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
func (t *Table) settle(ctx context.Context, op string, keys []Key) (RecordSet, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	return t.Read(ctx, op, keys...)
}

func (t *Table) newToken() *string {
	return aws.String(NewRandomDigits(t.Random) + NewRandomDigits(t.Random))
}

// failedConditions returns the records that failed conditions, by place, when a transaction was cancelled because of
// conditions, and of nothing that passes by itself.
func failedConditions(err error) (ConditionFailures, bool) {
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || classifyCancellation(cancelled) != permanent {
		return nil, false
	}
	byPlace := ConditionFailures{}
	for i, reason := range cancelled.CancellationReasons {
		if aws.ToString(reason.Code) == "ConditionalCheckFailed" {
			byPlace[i] = reason.Item
		}
	}
	return byPlace, len(byPlace) > 0
}

// IsTooLarge reports whether DynamoDB refused a write because a record would pass 400 KB.
func IsTooLarge(err error) bool {
	const reason = "Item size"
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for _, r := range cancelled.CancellationReasons {
			if aws.ToString(r.Code) == "ValidationError" && strings.Contains(aws.ToString(r.Message), reason) {
				return true
			}
		}
		return false
	}
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException" && strings.Contains(api.ErrorMessage(), reason)
}
