package recall

import (
	"context"

	"github.com/throughline/throughline/internal/fault"
)

// degrade notes that a source did not answer: for the caller in words, for the log with its cause.
func (s *Service) degrade(ctx context.Context, found *Found, source string, err error) {
	found.Degraded = append(found.Degraded, Degradation{Source: source, Reason: reason(ctx, err)})
	s.Log.WarnContext(ctx, "source degraded", "source", source, "error", err.Error())
}

// reason words an error for the user; the cause is not theirs to see.
func reason(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return "did not answer in time"
	case fault.Is(err, fault.RateLimited):
		return "is asked too much at the moment"
	default:
		return "is not available at the moment"
	}
}

// reported is never null: an answer without degradations has an empty list.
func reported(degraded []Degradation) []Degradation {
	if degraded == nil {
		return []Degradation{}
	}
	return degraded
}
