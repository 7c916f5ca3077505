package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// updateItem changes one record and returns it as stored. A condition that fails is a ConditionalCheckFailedException
// with the record that it met.
func (s *Store) updateItem(ctx context.Context, k key, u expression.UpdateBuilder, cond expression.ConditionBuilder) (item, error) {
	e, err := expression.NewBuilder().WithUpdate(u).WithCondition(cond).Build()
	if err != nil {
		return nil, err
	}
	out, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(s.table), Key: k.attributes(), UpdateExpression: e.Update(),
		ConditionExpression: e.Condition(), ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: allOld,
	})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// deleteItem deletes one record on a condition.
func (s *Store) deleteItem(ctx context.Context, k key, cond expression.ConditionBuilder) error {
	e, err := expression.NewBuilder().WithCondition(cond).Build()
	if err != nil {
		return err
	}
	_, err = s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(s.table), Key: k.attributes(), ConditionExpression: e.Condition(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		ReturnValuesOnConditionCheckFailure: allOld,
	})
	return err
}

// exists is the condition that there is a record.
func exists() expression.ConditionBuilder { return expression.AttributeExists(field(attrPK)) }
