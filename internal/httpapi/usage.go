package httpapi

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
)

// QuotaReader reads what a user has spent of today's tokens.
type QuotaReader interface {
	Today(ctx context.Context, user conversation.UserID) (conversation.Quota, error)
}

// usageDoc is conversation.Quota as the API shows it.
type usageDoc struct {
	Used     *int64    `json:"used" from:"-" nullable:"true" doc:"Tokens of prompts, answers and background work, or null."`
	Limit    *int64    `json:"limit" from:"-" nullable:"true" doc:"The tokens of a day, or null where there is no limit."`
	ResetsAt timestamp `json:"resetsAt" doc:"When the next day begins."`
}

func (u *usageDoc) complete(q conversation.Quota) {
	if q.Limit > 0 {
		u.Used, u.Limit = &q.Used, &q.Limit
	}
}

// registerUsage serves /v1/usage.
func registerUsage(s *server, store QuotaReader) {
	registerDoc(s, op("GET /v1/usage", "getUsage", longTermTag, "Get today's tokens",
		"The tokens of the models that the user has spent on this day of UTC, from the counter that the daily "+
			"quota checks. Where no quota is set, nothing is counted, and used and limit are null.",
	), func(ctx context.Context, c Caller, _ *noInput) (usageDoc, error) {
		return show[usageDoc](store.Today(ctx, c.User))
	})
}
