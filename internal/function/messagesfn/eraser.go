package messagesfn

import (
	"context"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
)

// patientEraser answers how far an erasure has come where it has begun and something kept it from going on: that is
// nothing the user could mend, a repeat goes on (api 3), and why it stopped is for the log.
type patientEraser struct {
	*erasure.Service
	report func(ctx context.Context, op string, err error)
}

// Erase fails only where the erasure could not begin.
func (e patientEraser) Erase(ctx context.Context, user conversation.UserID, until time.Time) (erasure.Receipt, error) {
	receipt, err := e.Service.Erase(ctx, user, until)
	if err == nil || receipt.Generation == 0 {
		return receipt, err
	}
	e.report(ctx, "erase user", err)
	return receipt, nil
}
