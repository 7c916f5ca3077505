package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration/adopt"
)

const (
	appContext = "coach_conversation"
	coach      = "coach_strength"
	// turnInterval is the time from one turn to the next in a lively conversation.
	turnInterval = 40 * time.Second
	turnMessages = 2
	pageMessages = 50
)

// startTime is when every contender's clock starts. Sessions are listed by the quarter hour of their last message: with
// the same start those of all contenders move in that index at the same turns.
var startTime = time.Date(2026, 1, 5, 8, 0, 20, 0, time.UTC)

// contender is the store used in one way, with a user, a session and a clock of its own.
type contender struct {
	*meter.Meter
	table          string
	texts          *rig.Texts
	keyed, cold    bool
	user, bareUser conversation.UserID
	now            time.Time
	session        string
	stored         int
	db             *dynamo.DB
	// last is the store's last transaction.
	last []types.TransactWriteItem
}

var _ table.API = (*contender)(nil)

// TransactWriteItems keeps the items and writes them.
func (c *contender) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	c.last = in.TransactItems
	return c.Meter.TransactWriteItems(ctx, in, o...)
}

// fresh returns a DB with an empty cache, as in a function that has just started.
func (c *contender) fresh() *dynamo.DB {
	return dynamo.New(c, c.table, adopt.WithLegacy(), dynamo.WithClock(func() time.Time { return c.now }))
}

// begin makes a new session of a length, for the bare user, too.
func (c *contender) begin(ctx context.Context, length int) error {
	in := conversation.NewSession{Context: appContext, CoachID: coach}
	made, err := dynamo.NewSessionStore(c.db).CreateSession(ctx, c.user, in, conversation.Idempotency{})
	if err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	c.session, c.stored = made.Session.ID, 0
	err = c.writeBare(ctx)
	for err == nil && c.stored < length {
		if err = c.append(ctx, c.db, min(length-c.stored, conversation.MaxMessagesPerCall)); err == nil {
			err = c.writeBare(ctx)
		}
	}
	return err
}

// append appends n messages.
func (c *contender) append(ctx context.Context, db *dynamo.DB, n int) error {
	in := conversation.Append{SessionID: c.session, Messages: c.texts.Messages(n)}
	if c.keyed {
		in.Idempotency = conversation.Idempotency{
			Scope: "POST /v1/sessions/" + c.session + "/messages", Key: fmt.Sprint("turn-", c.stored),
			BodyHash: fmt.Sprintf("%064d", c.stored),
		}
	}
	if _, err := dynamo.NewMessageStore(db).Append(ctx, c.user, in); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	c.stored += n
	return nil
}

// turn appends a question and its answer.
func (c *contender) turn(ctx context.Context) error {
	db := c.db
	if c.cold {
		db = c.fresh()
	}
	return c.append(ctx, db, turnMessages)
}

// writeBare writes what every store has to write of the last transaction, for the bare user.
func (c *contender) writeBare(ctx context.Context) error {
	items := bareItems(c.last, string(c.user), string(c.bareUser))
	if _, err := c.Meter.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items}); err != nil {
		return fmt.Errorf("repeat transaction: %w", err)
	}
	return nil
}

// page reads a page.
func (c *contender) page(ctx context.Context, db *dynamo.DB, p conversation.Page) error {
	_, _, err := dynamo.NewMessageStore(db).Messages(ctx, c.user, c.session, p)
	return err
}

// barePage queries the index for a page of the session: its newest messages, or the oldest ones after a time.
func (c *contender) barePage(ctx context.Context, after time.Time) error {
	in := &dynamodb.QueryInput{
		TableName: aws.String(c.table), IndexName: aws.String(table.BySource), Limit: aws.Int32(pageMessages),
		KeyConditionExpression: aws.String("sourceId = :source AND #t > :after"), ScanIndexForward: aws.Bool(!after.IsZero()),
		ExpressionAttributeNames: map[string]string{"#t": "timestamp"},
		ExpressionAttributeValues: capacity.Item{
			":source": stringAttr(string(c.user) + "#" + sessionPrefix + c.session),
			":after":  stringAttr(conversation.FormatTime(after)),
		},
	}
	_, err := c.Query(ctx, in)
	return err
}

// pageThrough pages through the session from its beginning. It returns where its last page begins, and how many
// messages were missed, repeated or out of order.
func (c *contender) pageThrough(ctx context.Context) (last conversation.Page, after time.Time, wrong int, err error) {
	next := 1
	last = conversation.Page{Limit: pageMessages}
	for {
		messages, cursor, err := dynamo.NewMessageStore(c.db).Messages(ctx, c.user, c.session, last)
		if err != nil {
			return last, after, wrong, fmt.Errorf("page through session: %w", err)
		}
		for _, m := range messages {
			if m.Seq != next {
				wrong++
			}
			next = m.Seq + 1
		}
		if cursor == "" || next > c.stored { // the page after the last one is empty
			return last, after, wrong + max(0, c.stored-(next-1)), nil
		}
		last.After, after = cursor, messages[len(messages)-1].Timestamp
	}
}
