package storebench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/adopt"
)

// turnInterval is the time from one turn to the next in a lively conversation.
const turnInterval = 40 * time.Second

// startTime is when every contender's clock starts, 20 seconds into a quarter of an hour. Sessions are listed by the
// quarter hour of their last message. With the same start the sessions of all contenders move in that index at the same
// turns.
var startTime = time.Date(2026, 1, 5, 8, 0, 20, 0, time.UTC)

// storeContender is Throughline's store used in one way, with users, sessions and a clock of its own.
type storeContender struct {
	*setup
	name        string
	keyed, cold bool
	// bareUser is the user for whom the bare transaction repeats every write. It is empty if nothing is repeated.
	user, bareUser conversation.UserID

	length int // of a new session
	db     *dynamo.DB
	api    *recordingAPI
	now    time.Time
	keys   int

	session string
	grown   int                         // messages since the session was new
	pending [][]types.TransactWriteItem // turns that the bare transaction has not repeated yet
}

func (s *setup) newStore(name string, length int, keyed, cold bool) *storeContender {
	c := &storeContender{
		setup: s, name: name, keyed: keyed, cold: cold, user: s.newUser(), length: length, now: startTime,
	}
	if !cold {
		c.bareUser = s.newUser()
	}
	c.api = &recordingAPI{Meter: s.Meter}
	c.db = c.fresh()
	return c
}

// fresh returns a DB with an empty cache, as in a function that has just started.
func (c *storeContender) fresh() *dynamo.DB {
	return dynamo.New(c.api, c.table, adopt.WithLegacy(), dynamo.WithClock(func() time.Time { return c.now }))
}

// begin makes a new session of the contender's length, without any time passing.
func (c *storeContender) begin(ctx context.Context) error {
	in := conversation.NewSession{Context: appContext, CoachID: coach}
	made, err := dynamo.NewSessionStore(c.db).CreateSession(ctx, c.user, in, conversation.Idempotency{})
	if err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	c.session, c.grown = made.Session.ID, 0
	if err := c.repeatBare(ctx); err != nil {
		return err
	}
	for left := c.length; left > 0; {
		n := min(left, conversation.MaxMessagesPerCall)
		in := conversation.Append{SessionID: c.session, Messages: c.texts.Messages(n)}
		if _, err := dynamo.NewMessageStore(c.db).Append(ctx, c.user, in); err != nil {
			return fmt.Errorf("fill session: %w", err)
		}
		if err := c.repeatBare(ctx); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// repeatBare repeats the last write for bareUser without measuring it.
func (c *storeContender) repeatBare(ctx context.Context) error {
	if c.bareUser == "" {
		return nil
	}
	return c.transact(ctx, bareItems(c.api.last, c.user, c.bareUser))
}

// full reports whether the session has grown by a tenth. The next turn then needs a new session of the contender's
// length.
func (c *storeContender) full() bool {
	return c.session == "" || c.grown+turnMessages > max(turnMessages, c.length/10)
}

func (c *storeContender) turn(ctx context.Context) (used []meter.Usage, messages int, err error) {
	if c.full() {
		if err := c.begin(ctx); err != nil {
			return nil, 0, err
		}
	}
	c.now = c.now.Add(turnInterval)
	in, db := c.nextAppend(), c.db
	if c.cold {
		db = c.fresh()
	}
	used, messages, err = c.once(ctx, func(ctx context.Context) (int, error) {
		_, err := dynamo.NewMessageStore(db).Append(ctx, c.user, in)
		return turnMessages, err
	})
	c.grown += turnMessages
	if c.bareUser != "" {
		c.pending = append(c.pending, bareItems(c.api.last, c.user, c.bareUser))
	}
	return used, messages, err
}

func (c *storeContender) nextAppend() conversation.Append {
	in := conversation.Append{SessionID: c.session, Messages: c.texts.Turn()}
	if c.keyed {
		c.keys++
		hash := sha256.Sum256([]byte(in.Messages[0].Content))
		in.Idempotency = conversation.Idempotency{
			Scope: "POST /v1/sessions/" + c.session + "/messages", Key: fmt.Sprint("turn-", c.keys),
			BodyHash: hex.EncodeToString(hash[:]),
		}
	}
	return in
}

func (c *storeContender) page(page conversation.Page, db func() *dynamo.DB) step {
	return func(ctx context.Context) (used []meter.Usage, messages int, err error) {
		store := dynamo.NewMessageStore(db())
		return c.once(ctx, func(ctx context.Context) (int, error) {
			messages, _, err := store.Messages(ctx, c.user, c.session, page)
			return len(messages), err
		})
	}
}

// paging is what paging through a whole session from its beginning found.
type paging struct {
	// cursor and after are the position and the time after which the last page begins.
	cursor conversation.Position
	after  time.Time
	// wrong counts the messages that were missed, repeated or out of order.
	wrong int
}

func (c *storeContender) pageThrough(ctx context.Context, limit int) (paging, error) {
	var p paging
	next := 1
	for page := (conversation.Page{Limit: limit}); ; {
		messages, cursor, err := dynamo.NewMessageStore(c.db).Messages(ctx, c.user, c.session, page)
		if err != nil {
			return p, fmt.Errorf("page through session: %w", err)
		}
		for _, m := range messages {
			if m.Seq != next {
				p.wrong++
			}
			next = m.Seq + 1
		}
		if cursor == "" {
			p.wrong += max(0, c.length+c.grown-(next-1))
			return p, nil
		}
		page.After, p.cursor, p.after = cursor, cursor, messages[len(messages)-1].Timestamp
	}
}
