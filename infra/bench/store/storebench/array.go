package storebench

import (
	"bytes"
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

// arrayContender is the design that users replace: a conversation with all its messages in one item.
type arrayContender struct {
	*setup
	item  capacity.Item // with its messages
	clock time.Time
	// length is how many messages a new item begins with.
	length int
}

func (s *setup) newArray(length int) *arrayContender {
	a := &arrayContender{setup: s, clock: startTime, length: length}
	at := stringAttr(conversation.FormatTime(startTime))
	a.item = capacity.Item{
		"pk":         stringAttr("user#" + string(s.newUser())),
		"sk":         stringAttr(sessionPrefix + conversation.NewID("conv", startTime, bytes.NewReader(make([]byte, 64)))),
		"entityType": stringAttr("coach_conversation"), "coachId": stringAttr(coach), "title": stringAttr("Training"),
		"createdAt": at, "updatedAt": at,
	}
	a.setMessages(nil)
	return a
}

func (a *arrayContender) messages() []types.AttributeValue {
	return a.item["messages"].(*types.AttributeValueMemberL).Value
}

func (a *arrayContender) setMessages(list []types.AttributeValue) {
	a.item["messages"] = &types.AttributeValueMemberL{Value: list}
}

// entries returns messages as elements of the array: role, content and time.
func (a *arrayContender) entries(messages []conversation.NewMessage) []types.AttributeValue {
	out := make([]types.AttributeValue, len(messages))
	for i, m := range messages {
		a.clock = a.clock.Add(time.Millisecond)
		out[i] = &types.AttributeValueMemberM{Value: capacity.Item{
			"role": stringAttr(string(m.Role)), "content": stringAttr(m.Content),
			"ts": stringAttr(conversation.FormatTime(a.clock)),
		}}
	}
	return out
}

// begin writes the item with its first length of messages.
func (a *arrayContender) begin(ctx context.Context) error {
	a.setMessages(a.entries(a.texts.Messages(a.length)))
	return a.put(ctx)
}

func (a *arrayContender) put(ctx context.Context) error {
	_, err := a.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(a.table), Item: a.item})
	if err != nil {
		return fmt.Errorf("begin array: %w", err)
	}
	return nil
}

func (a *arrayContender) turn(ctx context.Context) (used []meter.Usage, messages int, err error) {
	if grown := len(a.messages()) - a.length; grown+turnMessages > max(turnMessages, a.length/10) {
		if err := a.begin(ctx); err != nil {
			return nil, 0, err
		}
	}
	return a.append(ctx)
}

func (a *arrayContender) append(ctx context.Context) (used []meter.Usage, messages int, err error) {
	a.clock = a.clock.Add(turnInterval)
	added := a.entries(a.texts.Turn())
	in := &dynamodb.UpdateItemInput{
		TableName: aws.String(a.table), Key: capacity.Item{"pk": a.item["pk"], "sk": a.item["sk"]},
		UpdateExpression: aws.String("SET messages = list_append(messages, :added), updatedAt = :now"),
		ExpressionAttributeValues: capacity.Item{
			":added": &types.AttributeValueMemberL{Value: added}, ":now": stringAttr(conversation.FormatTime(a.clock)),
		},
	}
	used, messages, err = a.once(ctx, func(ctx context.Context) (int, error) {
		if _, err := a.UpdateItem(ctx, in); err != nil {
			return 0, fmt.Errorf("append to array: %w", err)
		}
		return turnMessages, nil
	})
	if err == nil {
		a.setMessages(append(a.messages(), added...))
	}
	return used, messages, err
}

// read measures the read of the whole item, of which a page is a part.
func (a *arrayContender) read(ctx context.Context) (used []meter.Usage, messages int, err error) {
	return a.once(ctx, func(ctx context.Context) (int, error) {
		_, err := a.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: aws.String(a.table), Key: capacity.Item{"pk": a.item["pk"], "sk": a.item["sk"]},
		})
		if err != nil {
			return 0, fmt.Errorf("read array: %w", err)
		}
		return len(a.messages()), nil
	})
}

// fillArray writes an array of nine tenths of the limit, and appends turn by turn until DynamoDB refuses it.
func (s *setup) fillArray(ctx context.Context) (ArrayEnd, error) {
	a := s.newArray(0)
	for capacity.Size(a.item) < capacity.MaxItemBytes/10*9 {
		a.setMessages(append(a.messages(), a.entries(a.texts.Messages(10*turnMessages))...))
	}
	if err := a.put(ctx); err != nil {
		return ArrayEnd{}, err
	}
	var end ArrayEnd
	for {
		_, _, err := a.append(ctx)
		var refused smithy.APIError
		if errors.As(err, &refused) && refused.ErrorCode() == "ValidationException" {
			end.Error = refused.ErrorMessage()
			return end, nil
		}
		if err != nil {
			return end, err
		}
		end.Messages, end.Bytes = len(a.messages()), capacity.Size(a.item)
	}
}
