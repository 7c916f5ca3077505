package storebench

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
)

// bare is what no store can leave out of a transaction: the records that the design names (messages, the session's
// counters, the idempotency record), written without conditions, for another user whose id is of the same length, so
// that every size is the same. Whatever else the transaction held is not in it, and counts against the store.
func bare(items []types.TransactWriteItem, user, shadow conversation.UserID) []types.TransactWriteItem {
	var out []types.TransactWriteItem
	for _, i := range items {
		switch {
		case i.Put != nil && necessary(textIn(i.Put.Item, "sk")):
			out = append(out, types.TransactWriteItem{Put: &types.Put{
				TableName: i.Put.TableName, Item: renamed(i.Put.Item, string(user), string(shadow)),
			}})
		case i.Update != nil && necessary(textIn(i.Update.Key, "sk")):
			out = append(out, types.TransactWriteItem{Update: bareUpdate(i.Update, user, shadow)})
		}
	}
	return out
}

func necessary(sk string) bool {
	for _, prefix := range []string{messagePrefix, sessionPrefix, keyPrefix} {
		if strings.HasPrefix(sk, prefix) {
			return true
		}
	}
	return false
}

// placeholder is a name or a value in an expression; DynamoDB refuses those that the expression does not use.
var placeholder = regexp.MustCompile(`[#:][A-Za-z0-9_]+`)

func bareUpdate(u *types.Update, user, shadow conversation.UserID) *types.Update {
	out := &types.Update{
		TableName: u.TableName, Key: renamed(u.Key, string(user), string(shadow)), UpdateExpression: u.UpdateExpression,
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

// renamed copies an item with one user's id in place of the other's.
func renamed(it capacity.Item, from, to string) capacity.Item {
	out := make(capacity.Item, len(it))
	for name, v := range it {
		if s, ok := v.(*types.AttributeValueMemberS); ok && name != "content" {
			v = text(strings.ReplaceAll(s.Value, from, to))
		}
		out[name] = v
	}
	return out
}

func (r *rig) transact(ctx context.Context, items []types.TransactWriteItem) error {
	if _, err := r.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items}); err != nil {
		return fmt.Errorf("repeat transaction: %w", err)
	}
	return nil
}

// bareTurns measures the bare transaction for each turn that waits.
func (l *lane) bareTurns(ctx context.Context) ([]meter.Usage, error) {
	var all []meter.Usage
	for _, items := range l.pending {
		used, err := l.Measure(ctx, func(ctx context.Context) error { return l.transact(ctx, items) })
		if err != nil {
			return nil, err
		}
		all = append(all, used)
	}
	l.pending = nil
	return all, nil
}

// barePage measures one query of the index for a page of the lane's session: its newest messages, or with a time the
// oldest after that.
func (l *lane) barePage(ctx context.Context, limit int, after time.Time) (meter.Usage, int, error) {
	in := &dynamodb.QueryInput{
		TableName: aws.String(l.table), IndexName: aws.String(dynamo.BySource), Limit: aws.Int32(int32(limit)),
		KeyConditionExpression:    aws.String("sourceId = :source"),
		ExpressionAttributeValues: capacity.Item{":source": text(string(l.user) + "#" + sessionPrefix + l.session)},
		ScanIndexForward:          aws.Bool(!after.IsZero()),
	}
	if !after.IsZero() {
		in.KeyConditionExpression = aws.String("sourceId = :source AND #t > :after")
		in.ExpressionAttributeNames = map[string]string{"#t": "timestamp"}
		in.ExpressionAttributeValues[":after"] = text(conversation.FormatTime(after))
	}
	n := 0
	used, err := l.Measure(ctx, func(ctx context.Context) error {
		out, err := l.Query(ctx, in)
		if err != nil {
			return fmt.Errorf("query page: %w", err)
		}
		n = len(out.Items)
		return nil
	})
	return used, n, err
}
