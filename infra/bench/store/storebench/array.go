package storebench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/internal/conversation"
)

// array is what users come from: a conversation with all its messages in one item.
type array struct {
	*rig
	item  capacity.Item // as it stands, messages included
	clock time.Time
	// length is how many messages a fresh item begins with.
	length int
}

func (r *rig) array(length int) *array {
	a := &array{rig: r, clock: dawn, length: length}
	at := text(conversation.FormatTime(dawn))
	a.item = capacity.Item{
		"pk": text("user#" + string(r.user())), "sk": text(sessionPrefix + conversation.NewID("conv", dawn, zeroes{})),
		"entityType": text("coach_conversation"), "coachId": text(coach), "title": text("Training"),
		"createdAt": at, "updatedAt": at,
	}
	a.setMessages(nil)
	return a
}

// zeroes stands in for randomness where an id only has to be of the right length.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (a *array) messages() []types.AttributeValue {
	return a.item["messages"].(*types.AttributeValueMemberL).Value
}

func (a *array) setMessages(list []types.AttributeValue) {
	a.item["messages"] = &types.AttributeValueMemberL{Value: list}
}

// entries are a turn as the array's elements: role, content and time, as in the specification.
func (a *array) entries(messages []conversation.NewMessage) []types.AttributeValue {
	out := make([]types.AttributeValue, len(messages))
	for i, m := range messages {
		a.clock = a.clock.Add(time.Millisecond)
		out[i] = &types.AttributeValueMemberM{Value: capacity.Item{
			"role": text(string(m.Role)), "content": text(m.Content), "ts": text(conversation.FormatTime(a.clock)),
		}}
	}
	return out
}

// begin puts the item anew, at its length.
func (a *array) begin(ctx context.Context) error {
	a.setMessages(a.entries(a.prose.Messages(a.length)))
	_, err := a.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(a.table), Item: a.item})
	if err != nil {
		return fmt.Errorf("begin array: %w", err)
	}
	return nil
}

// turn measures one append to the array.
func (a *array) turn(ctx context.Context) (meter.Usage, error) {
	if grown := len(a.messages()) - a.length; grown+turnMessages > max(turnMessages, a.length/10) {
		if err := a.begin(ctx); err != nil {
			return meter.Usage{}, err
		}
	}
	return a.append(ctx)
}

func (a *array) append(ctx context.Context) (meter.Usage, error) {
	a.clock = a.clock.Add(pace)
	added := a.entries(a.prose.Turn())
	in := &dynamodb.UpdateItemInput{
		TableName: aws.String(a.table), Key: capacity.Item{"pk": a.item["pk"], "sk": a.item["sk"]},
		UpdateExpression: aws.String("SET messages = list_append(messages, :added), updatedAt = :now"),
		ExpressionAttributeValues: capacity.Item{
			":added": &types.AttributeValueMemberL{Value: added}, ":now": text(conversation.FormatTime(a.clock)),
		},
	}
	used, err := a.Measure(ctx, func(ctx context.Context) error {
		if _, err := a.UpdateItem(ctx, in); err != nil {
			return fmt.Errorf("append to array: %w", err)
		}
		return nil
	})
	if err == nil {
		a.setMessages(append(a.messages(), added...))
	}
	return used, err
}

// read measures the read of the whole item, which a page is cut from.
func (a *array) read(ctx context.Context) (meter.Usage, int, error) {
	used, err := a.Measure(ctx, func(ctx context.Context) error {
		_, err := a.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: aws.String(a.table), Key: capacity.Item{"pk": a.item["pk"], "sk": a.item["sk"]},
		})
		if err != nil {
			return fmt.Errorf("read array: %w", err)
		}
		return nil
	})
	return used, len(a.messages()), err
}

// grow appends turn by turn to an empty array until DynamoDB refuses it.
func (r *rig) grow(ctx context.Context) (ArrayEnd, error) {
	a := r.array(0)
	if err := a.begin(ctx); err != nil {
		return ArrayEnd{}, err
	}
	var end ArrayEnd
	for {
		used, err := a.append(ctx)
		var refused smithy.APIError
		if errors.As(err, &refused) && refused.ErrorCode() == "ValidationException" {
			end.Error = refused.ErrorMessage()
			return end, nil
		}
		if err != nil {
			return end, err
		}
		end.Messages, end.Bytes = len(a.messages()), capacity.Size(a.item)
		end.Curve = append(end.Curve, CurvePoint{end.Messages, used.Units.Write})
	}
}
