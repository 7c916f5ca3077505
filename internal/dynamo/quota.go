package dynamo

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// QuotaStore counts the models' tokens that users spend in a day, in one record for each user and day. A day is one of
// UTC. It is safe for concurrent use.
//
// The record takes no call of its own from a turn of the chat. The transaction that stores the question checks it, and
// the one that stores the answer adds to it. What is being answered is not counted yet. So the last turns of a day are
// answered one at a time: when less is left than the answers at once may take, a turn begins only while the user has no
// other under way. A user then passes the quota by one answer at most, if no answer takes more than answerTokens. A
// turn that is released adds what it has generated, and an erasure of the user leaves the counter until it expires.
type QuotaStore struct{ db *DB }

// NewQuotaStore returns the counters of a DB.
func NewQuotaStore(db *DB) *QuotaStore { return &QuotaStore{db} }

// WithDailyTokens sets how many tokens a user may spend in a day. Nothing is counted without it, or at 0.
func WithDailyTokens(n int) Option { return func(db *DB) { db.dailyTokens = n } }

// usageLife is how long a counter is kept after its day.
const usageLife = 24 * time.Hour

// usageKey is the key of a user's counter of the day of a time.
func usageKey(user conversation.UserID, now time.Time) table.Key {
	return table.UserKey(user, table.UsagePrefix+now.UTC().Format(time.DateOnly))
}

// Today returns what the user has spent today.
func (s *QuotaStore) Today(ctx context.Context, user conversation.UserID) (conversation.Quota, error) {
	now := s.db.Now()
	q := conversation.Quota{Limit: int64(s.db.dailyTokens), ResetsAt: conversation.NextDay(now)}
	if q.Limit <= 0 {
		return q, nil
	}
	k := usageKey(user, now)
	records, err := s.db.Read(ctx, "read quota", k)
	if err != nil {
		return conversation.Quota{}, err
	}
	q.Used = records[k].Int64(table.AttrTokens)
	return q, nil
}

// Reset returns when the user has tokens again. It is the zero time while the user has some.
func (s *QuotaStore) Reset(ctx context.Context, user conversation.UserID) (time.Time, error) {
	q, err := s.Today(ctx, user)
	if err != nil || q.Limit <= 0 || q.Used < q.Limit {
		return time.Time{}, err
	}
	return q.ResetsAt, nil
}

// Spend adds tokens that were spent outside a turn, for a user of that generation or a later one.
func (s *QuotaStore) Spend(ctx context.Context, user conversation.UserID, generation int64, tokens int) error {
	if s.db.dailyTokens <= 0 || tokens <= 0 {
		return nil
	}
	t := s.db.Transaction()
	s.db.addSpent(t, user, generation, tokens)
	_, err := s.db.Commit(ctx, "count tokens", t, s.db.Backoff())
	return err
}

// Usage returns what the user spent on the days that are still kept, earliest first.
func (s *QuotaStore) Usage(ctx context.Context, user conversation.UserID) ([]conversation.DayUsage, error) {
	var days []conversation.DayUsage
	for it, err := range s.db.Query(ctx, "read usage", table.Query{Where: table.WithPrefix(user, table.UsagePrefix)}) {
		if err != nil {
			return nil, err
		}
		day := it.String(table.AttrSK)[len(table.UsagePrefix):]
		days = append(days, conversation.DayUsage{Day: day, Tokens: it.Int64(table.AttrTokens)})
	}
	return days, nil
}

// answerTokens is what an answer may take while others of the user are under way: two prompts of the default recipe,
// with what the model has searched for, and a long answer.
const answerTokens = 16_000

// answerQuota is the condition that the user has tokens left for a turn that takes a permit.
type answerQuota struct {
	db     *DB
	user   conversation.UserID
	permit *permit
}

// beginning are the guards of a turn that begins: the user has tokens left, and the permit is free. Where the quota is
// small, the permit is for a turn alone from the first.
func beginning(db *DB, user conversation.UserID, p *permit) guards {
	q := answerQuota{db, user, p}
	if p != nil && db.dailyTokens > 0 && q.limit() <= 0 {
		p.alone = true
	}
	return guards{{add: q.check, refused: q.refused}, p.guard()}
}

// limit is what the user may have spent: for a turn alone the quota, and less beside others.
func (q answerQuota) limit() int {
	if q.permit == nil || q.permit.alone {
		return q.db.dailyTokens
	}
	return q.db.dailyTokens - (q.permit.count-1)*answerTokens
}

// check adds the condition and returns its place, or -1 without a quota.
func (q answerQuota) check(t *table.Transaction, _ conversation.Session) int {
	if q.db.dailyTokens <= 0 {
		return -1
	}
	hasTokens := table.NotExists().Or(table.IsBelow(table.AttrTokens, q.limit()))
	return t.Check(usageKey(q.user, q.db.Now()), hasTokens)
}

// refused makes the turn one alone if there are tokens left for that. Otherwise it returns the refusal.
func (q answerQuota) refused(usage table.Item) error {
	if q.permit == nil || q.permit.alone || usage.Int64(table.AttrTokens) >= int64(q.db.dailyTokens) {
		return q.db.quotaSpent(usage)
	}
	q.permit.alone = true
	return nil
}

// spending adds the tokens of an answer to the user's counter.
func spending(db *DB, user conversation.UserID, tokens int) guard {
	return guard{refused: db.quotaSpent, add: func(t *table.Transaction, in conversation.Session) int {
		if db.dailyTokens <= 0 || tokens <= 0 {
			return -1
		}
		return db.addSpent(t, user, in.Generation, tokens)
	}}
}

// addSpent adds tokens to the user's counter.
func (db *DB) addSpent(t *table.Transaction, user conversation.UserID, generation int64, tokens int) int {
	now := db.Now()
	u := table.Add(table.AttrTokens, tokens).
		Set(table.AttrGeneration, generation).
		Set(table.TTLAttribute, conversation.NextDay(now).Add(usageLife).Unix())
	return t.Update(usageKey(user, now), u, table.Always())
}

// quotaSpent is the refusal of a turn of a user who has no tokens left.
func (db *DB) quotaSpent(table.Item) error { return conversation.QuotaSpent(db.Now()) }
