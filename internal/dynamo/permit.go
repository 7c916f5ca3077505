package dynamo

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
)

// WithAnswerLimit sets how many answers of a user may be generated at once, and the longest time that one takes. Then a
// user also has one export at a time. Without it, or at 0, there is no bound.
func WithAnswerLimit(answers int, longest time.Duration) Option {
	return func(db *DB) { db.answersAtOnce, db.longestAnswer = answers, longest }
}

const (
	answerPermit = "answer"
	exportPermit = "export"
	// permitLife is how long the record of permits is kept after the last one has lapsed.
	permitLife = time.Hour
	// busyRetryAfter is how long a user without a free permit is told to wait.
	busyRetryAfter = 2 * time.Second
)

// permit is one of the things that a user may have done at once. All permits of a user are attributes of one record,
// whose stored name is "slots", such as answer0. The value of one that is taken is the time until which it is, "#", and
// the holder's token. So a permit lapses if its holder crashes. A failed condition returns the whole record, which
// names a free permit or shows that there is none. A nil permit is that of a DB without a bound.
type permit struct {
	db    *DB
	user  conversation.UserID
	kind  string
	count int
	n     int
	until time.Time
	token string
	// before is the token of an earlier holder whose permit this one takes over.
	before string
	// alone says that the permit may be taken only while the user has no other.
	alone bool
}

// newPermit returns a permit to take. It begins with any, because an instance does not know which are free.
func newPermit(db *DB, user conversation.UserID, kind string, count int, until time.Time) *permit {
	if db.answersAtOnce <= 0 {
		return nil
	}
	token := table.NewRandomDigits(db.Random)
	return &permit{db: db, user: user, kind: kind, count: count, n: int(token[0]) % count, until: until, token: token}
}

// newAnswerPermit returns the permit of an answer. It is taken for the longest answer, or as long as a lease that is
// longer.
func newAnswerPermit(db *DB, user conversation.UserID, lease time.Duration) *permit {
	return newPermit(db, user, answerPermit, db.answersAtOnce, db.Now().Add(max(db.longestAnswer, lease)))
}

// takeOver makes s take over the permit with that id, whether it has lapsed or not.
func (p *permit) takeOver(id string) {
	if p == nil {
		return
	}
	if old := permitOf(p.db, p.user, id); old != nil && old.n < p.count {
		p.n, p.before = old.n, old.token
	}
}

// id is how a turn remembers its permit.
func (p *permit) id() string {
	if p == nil {
		return ""
	}
	return strconv.Itoa(p.n) + "#" + p.token
}

// permitOf returns the answer's permit of an id, or nil where there is none.
func permitOf(db *DB, user conversation.UserID, id string) *permit {
	number, token, ok := strings.Cut(id, "#")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return nil
	}
	return &permit{db: db, user: user, kind: answerPermit, n: n, token: token}
}

func (p *permit) key() table.Key { return table.UserKey(p.user, table.PermitsSK) }

func (p *permit) attribute(n int) string { return p.kind + strconv.Itoa(n) }

// isHeld is the condition that the permit is that of a token.
func (p *permit) isHeld(token string) table.Condition {
	return expression.Contains(table.Field(p.attribute(p.n)), token)
}

// taking returns the update that takes the permit, and the condition that it is free.
func (p *permit) taking(generation int64) (table.Update, table.Condition) {
	u := table.Set(p.attribute(p.n), conversation.FormatTime(p.until)+"#"+p.token).
		Set(table.AttrGeneration, generation).
		Set(table.TTLAttribute, p.until.Add(permitLife).Unix())
	isFree := p.hasLapsed(p.n).Or(p.isHeld(p.token))
	if p.before != "" {
		isFree = isFree.Or(p.isHeld(p.before))
	}
	for n := range p.count {
		if p.alone && n != p.n {
			isFree = isFree.And(p.hasLapsed(n))
		}
	}
	return u, isFree
}

// hasLapsed is the condition that nobody has a permit.
func (p *permit) hasLapsed(n int) table.Condition {
	name := p.attribute(n)
	return table.Lacks(name).Or(table.IsAtMost(name, p.db.Now()))
}

// guard takes the permit beside what begins a turn.
func (p *permit) guard() guard {
	return guard{
		add: func(t *table.Transaction, in conversation.Session) int {
			if p == nil {
				return -1
			}
			u, isFree := p.taking(in.Generation)
			return t.Update(p.key(), u, isFree)
		},
		refused: p.next,
	}
}

// next chooses another permit after that one was not free. It returns a RateLimited error where none is.
func (p *permit) next(permits table.Item) error {
	now := conversation.FormatTime(p.db.Now())
	var free []int
	for i := range p.count {
		n := (p.n + i) % p.count
		holder := permits.String(p.attribute(n))
		if holder <= now || p.before != "" && n == p.n && strings.Contains(holder, p.before) {
			free = append(free, n)
		}
	}
	switch {
	case p.alone && len(free) < p.count:
		return busy("few of today's tokens of this user are left: the answer under way has to end first")
	case len(free) == 0:
		return busy("this user has as many answers or exports under way as may be at once")
	}
	p.n = free[0]
	return nil
}

func busy(reason string) error {
	f := fault.New(fault.RateLimited, reason)
	f.RetryAfter = busyRetryAfter
	return f
}

// returning gives the permit back beside an append. A permit that has lapsed and is another's stays that one's.
func (p *permit) returning() guard {
	lapsed := p == nil
	return guard{
		add: func(t *table.Transaction, _ conversation.Session) int {
			if lapsed {
				return -1
			}
			return t.Update(p.key(), table.Remove(p.attribute(p.n)), p.isHeld(p.token))
		},
		refused: func(table.Item) error { lapsed = true; return nil },
	}
}

// releaseNow gives the permit back, unless it has lapsed and is another's.
func (p *permit) releaseNow(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.db.UpdateWhere(ctx, "release permit", p.key(), table.Remove(p.attribute(p.n)), p.isHeld(p.token))
}

// ExportLimit lets a user have one export at a time. It is safe for concurrent use.
type ExportLimit struct{ db *DB }

// NewExportLimit returns the limit of a DB.
func NewExportLimit(db *DB) *ExportLimit { return &ExportLimit{db} }

// longestExport is how long an export without a deadline may take.
const longestExport = 5 * time.Minute

// BeginExport takes the user's permit until the deadline of ctx, and returns the function that gives it back. It
// returns a RateLimited error with RetryAfter while another export runs.
func (s *ExportLimit) BeginExport(ctx context.Context, user conversation.UserID) (end func(context.Context) error,
	err error,
) {
	until, ok := ctx.Deadline()
	if !ok {
		until = s.db.Now().Add(longestExport)
	}
	permit := newPermit(s.db, user, exportPermit, 1, until)
	return permit.releaseNow, permit.takeNow(ctx, s.db.cache.generation(user))
}

// takeNow takes a permit by a call of its own. It returns a RateLimited error where none is free.
func (p *permit) takeNow(ctx context.Context, generation int64) error {
	for p != nil {
		u, isFree := p.taking(generation)
		_, err := p.db.UpdateItem(ctx, p.key(), u, isFree)
		existing, busy := table.ConditionFailed(err)
		if !busy {
			return table.Failed("take permit", err)
		}
		if err := p.next(existing); err != nil {
			return err
		}
	}
	return nil
}
