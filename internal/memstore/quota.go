package memstore

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm/metered"
)

// Quota counts the tokens of the models that users spend in a day of UTC.
type Quota struct{ *DB }

var _ metered.Quota = Quota{}

func dayOf(now time.Time) string { return now.UTC().Format(time.DateOnly) }

// Reset returns when the user has tokens again.
func (s Quota) Reset(_ context.Context, user conversation.UserID) (time.Time, error) {
	u, unlock := s.lock(user)
	defer unlock()
	if s.checkQuota(u) == nil {
		return time.Time{}, nil
	}
	return conversation.NextDay(s.now()), nil
}

// Spend counts tokens.
func (s Quota) Spend(_ context.Context, user conversation.UserID, _ int64, tokens int) error {
	u, unlock := s.lock(user)
	defer unlock()
	u.spend(s.DB, tokens)
	return nil
}

func (u *user) spend(db *DB, tokens int) {
	if db.dailyTokens > 0 && tokens > 0 {
		u.spent[dayOf(db.now())] += int64(tokens)
	}
}

// checkQuota returns a RateLimited error for a user who has no tokens left.
func (db *DB) checkQuota(u *user) error {
	now := db.now()
	if db.dailyTokens <= 0 || u.spent[dayOf(now)] < int64(db.dailyTokens) {
		return nil
	}
	return conversation.QuotaSpent(now)
}
