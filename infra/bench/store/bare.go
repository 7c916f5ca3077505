package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
)

const sessionPrefix = "conversation#"

// necessary are the beginnings of the keys of what every store has to write: messages, the session's counters, the
// idempotency record.
var necessary = []string{"msg#", sessionPrefix, "idem#"}

// bareItems returns the necessary part of a transaction, without conditions. It is for another user, whose id is as
// long as the user's, so that all sizes are the same. Everything else in the transaction is a cost of the store.
func bareItems(items []types.TransactWriteItem, user, bareUser string) []types.TransactWriteItem {
	var out []types.TransactWriteItem
	for _, i := range items {
		switch {
		case i.Put != nil && isNecessary(i.Put.Item):
			out = append(out, types.TransactWriteItem{Put: &types.Put{
				TableName: i.Put.TableName, Item: forUser(i.Put.Item, user, bareUser),
			}})
		case i.Update != nil && isNecessary(i.Update.Key):
			bare := &types.Update{
				TableName: i.Update.TableName, Key: forUser(i.Update.Key, user, bareUser),
				UpdateExpression:         i.Update.UpdateExpression,
				ExpressionAttributeNames: map[string]string{}, ExpressionAttributeValues: capacity.Item{},
			}
			// DynamoDB refuses names and values that the expression does not use.
			for _, p := range placeholder.FindAllString(aws.ToString(i.Update.UpdateExpression), -1) {
				if name, ok := i.Update.ExpressionAttributeNames[p]; ok {
					bare.ExpressionAttributeNames[p] = name
				}
				if v, ok := i.Update.ExpressionAttributeValues[p]; ok {
					bare.ExpressionAttributeValues[p] = v
				}
			}
			out = append(out, types.TransactWriteItem{Update: bare})
		}
	}
	return out
}

// placeholder is a name or a value in an expression.
var placeholder = regexp.MustCompile(`[#:][A-Za-z0-9_]+`)

func isNecessary(key capacity.Item) bool {
	return slices.ContainsFunc(necessary, func(prefix string) bool {
		return strings.HasPrefix(capacity.Text(key, "sk"), prefix)
	})
}

// forUser copies an item with one user's id in place of the other's.
func forUser(it capacity.Item, from, to string) capacity.Item {
	out := make(capacity.Item, len(it))
	for name, v := range it {
		if attr, ok := v.(*types.AttributeValueMemberS); ok && name != "content" {
			v = stringAttr(strings.ReplaceAll(attr.Value, from, to))
		}
		out[name] = v
	}
	return out
}

func stringAttr(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
