package storebench

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// bareItems returns the part of a transaction that every store has to write: the messages, the session's counters and
// the idempotency record, without conditions. They are for bareUser, whose id is as long as the user's, so that all
// sizes are the same. Everything else in the transaction is a cost of the store.
func bareItems(items []types.TransactWriteItem, user, bareUser conversation.UserID) []types.TransactWriteItem {
	var out []types.TransactWriteItem
	for _, i := range items {
		switch {
		case i.Put != nil && necessary(capacity.Text(i.Put.Item, "sk")):
			out = append(out, types.TransactWriteItem{Put: &types.Put{
				TableName: i.Put.TableName, Item: forUser(i.Put.Item, string(user), string(bareUser)),
			}})
		case i.Update != nil && necessary(capacity.Text(i.Update.Key, "sk")):
			out = append(out, types.TransactWriteItem{Update: bareUpdate(i.Update, user, bareUser)})
		}
	}
	return out
}

func necessary(sk string) bool {
	prefixes := []string{messagePrefix, sessionPrefix, keyPrefix}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(sk, prefix) })
}

// placeholder is a name or a value in an expression. DynamoDB refuses those that the expression does not use.
var placeholder = regexp.MustCompile(`[#:][A-Za-z0-9_]+`)

func bareUpdate(u *types.Update, user, bareUser conversation.UserID) *types.Update {
	out := &types.Update{
		TableName: u.TableName, Key: forUser(u.Key, string(user), string(bareUser)), UpdateExpression: u.UpdateExpression,
		ExpressionAttributeNames: map[string]string{}, ExpressionAttributeValues: capacity.Item{},
	}
	for _, p := range placeholder.FindAllString(aws.ToString(u.UpdateExpression), -1) {
		if name, ok := u.ExpressionAttributeNames[p]; ok {
			out.ExpressionAttributeNames[p] = name
		}
		if v, ok := u.ExpressionAttributeValues[p]; ok {
			out.ExpressionAttributeValues[p] = v
		}
	}
	return out
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

func (s *setup) transact(ctx context.Context, items []types.TransactWriteItem) error {
	if _, err := s.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items}); err != nil {
		return fmt.Errorf("repeat transaction: %w", err)
	}
	return nil
}

// bareTurns measures the bare transaction of each turn that it has not repeated yet.
func (c *storeContender) bareTurns(ctx context.Context) (all []meter.Usage, messages int, err error) {
	for _, items := range c.pending {
		used, err := c.Measure(ctx, func(ctx context.Context) error { return c.transact(ctx, items) })
		if err != nil {
			return nil, 0, err
		}
		all = append(all, used)
	}
	c.pending = nil
	return all, turnMessages, nil
}

// barePage measures one query of the index for a page of the session: its newest messages, or the oldest ones after a
// time.
func (c *storeContender) barePage(limit int, after time.Time) step {
	in := &dynamodb.QueryInput{
		TableName: aws.String(c.table), IndexName: aws.String(table.BySource), Limit: aws.Int32(int32(limit)),
		KeyConditionExpression:    aws.String("sourceId = :source"),
		ExpressionAttributeValues: capacity.Item{":source": stringAttr(string(c.user) + "#" + sessionPrefix + c.session)},
		ScanIndexForward:          aws.Bool(!after.IsZero()),
	}
	if !after.IsZero() {
		in.KeyConditionExpression = aws.String("sourceId = :source AND #t > :after")
		in.ExpressionAttributeNames = map[string]string{"#t": "timestamp"}
		in.ExpressionAttributeValues[":after"] = stringAttr(conversation.FormatTime(after))
	}
	return func(ctx context.Context) (used []meter.Usage, n int, err error) {
		return c.once(ctx, func(ctx context.Context) (int, error) {
			out, err := c.Query(ctx, in)
			if err != nil {
				return 0, fmt.Errorf("query page: %w", err)
			}
			return len(out.Items), nil
		})
	}
}
