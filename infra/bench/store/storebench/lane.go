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
)

// pace is the time from one turn to the next: a conversation in full swing.
const pace = 40 * time.Second

// dawn is when every lane's clock starts: 20 seconds into a quarter hour. Sessions are listed by the quarter hour of
// their last message, so a lane's first turns and its every 22nd or 23rd afterwards are the same in all lanes.
var dawn = time.Date(2026, 1, 5, 8, 0, 20, 0, time.UTC)

// lane is Throughline's store used in one way, with users, sessions and a clock of its own.
type lane struct {
	*rig
	name        string
	keyed, cold bool
	// shadow is the user under whom the bare transaction repeats every write; empty where nothing is repeated.
	user, shadow conversation.UserID

	length int // of a session when it is new
	store  *dynamo.Store
	tap    *tap
	now    time.Time
	keys   int

	session string
	grown   int                         // messages since the session was new
	pending [][]types.TransactWriteItem // turns that the bare transaction has yet to repeat
}

func (r *rig) lane(name string, length int, keyed, cold bool) *lane {
	l := &lane{rig: r, name: name, keyed: keyed, cold: cold, user: r.user(), length: length, now: dawn}
	if !cold {
		l.shadow = r.user()
	}
	l.tap = &tap{Meter: r.Meter}
	l.store = l.fresh()
	return l
}

// fresh returns a store that knows nothing yet, as a function just started has it.
func (l *lane) fresh() *dynamo.Store {
	return dynamo.New(l.tap, l.table, dynamo.WithClock(func() time.Time { return l.now }))
}

// begin makes a new session of the lane's length. The clock stands still meanwhile.
func (l *lane) begin(ctx context.Context) error {
	made, err := l.store.CreateSession(ctx, l.user, conversation.NewSession{Context: surface, CoachID: coach}, conversation.Idempotency{})
	if err != nil {
		return fmt.Errorf("begin session: %w", err)
	}
	l.session, l.grown = made.Session.ID, 0
	if err := l.shadowed(ctx); err != nil {
		return err
	}
	for left := l.length; left > 0; {
		n := min(left, conversation.MaxMessagesPerCall)
		if _, err := l.store.Append(ctx, l.user, conversation.Append{SessionID: l.session, Messages: l.prose.Messages(n)}); err != nil {
			return fmt.Errorf("fill session: %w", err)
		}
		if err := l.shadowed(ctx); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// shadowed repeats the last write for the shadow, outside of every count.
func (l *lane) shadowed(ctx context.Context) error {
	if l.shadow == "" {
		return nil
	}
	return l.transact(ctx, bare(l.tap.last, l.user, l.shadow))
}

// full reports whether the session has outgrown its length by a tenth, so that a new one has to be made for the next
// turn to be one at that length.
func (l *lane) full() bool {
	return l.session == "" || l.grown+turnMessages > max(turnMessages, l.length/10)
}

// turn measures one append of a turn.
func (l *lane) turn(ctx context.Context) (meter.Usage, error) {
	if l.full() {
		if err := l.begin(ctx); err != nil {
			return meter.Usage{}, err
		}
	}
	l.now = l.now.Add(pace)
	in, store := l.append(), l.store
	if l.cold {
		store = l.fresh()
	}
	used, err := l.Measure(ctx, func(ctx context.Context) error {
		_, err := store.Append(ctx, l.user, in)
		return err
	})
	l.grown += turnMessages
	if l.shadow != "" {
		l.pending = append(l.pending, bare(l.tap.last, l.user, l.shadow))
	}
	return used, err
}

func (l *lane) append() conversation.Append {
	in := conversation.Append{SessionID: l.session, Messages: l.prose.Turn()}
	if l.keyed {
		l.keys++
		hash := sha256.Sum256([]byte(in.Messages[0].Content))
		in.Idempotency = conversation.Idempotency{
			Scope: "POST /v1/sessions/" + l.session + "/messages", Key: fmt.Sprint("turn-", l.keys),
			BodyHash: hex.EncodeToString(hash[:]),
		}
	}
	return in
}

// page measures the read of one page.
func (l *lane) page(ctx context.Context, store *dynamo.Store, page conversation.Page) (meter.Usage, int, error) {
	n := 0
	used, err := l.Measure(ctx, func(ctx context.Context) error {
		messages, _, err := store.Messages(ctx, l.user, l.session, page)
		n = len(messages)
		return err
	})
	return used, n, err
}

// walk is what paging through a whole session from its beginning showed.
type walk struct {
	// cursor and after are where the last page begins: behind that position, behind that time.
	cursor conversation.Position
	after  time.Time
	// wrong counts the messages that were missed, repeated or out of order.
	wrong int
}

func (l *lane) walk(ctx context.Context, limit int) (walk, error) {
	var w walk
	next := 1
	for page := (conversation.Page{Limit: limit}); ; {
		messages, cursor, err := l.store.Messages(ctx, l.user, l.session, page)
		if err != nil {
			return w, fmt.Errorf("page through session: %w", err)
		}
		for _, m := range messages {
			if m.Seq != next {
				w.wrong++
			}
			next = m.Seq + 1
		}
		if cursor == "" {
			w.wrong += max(0, l.length+l.grown-(next-1))
			return w, nil
		}
		page.After, w.cursor, w.after = cursor, cursor, messages[len(messages)-1].Timestamp
	}
}
