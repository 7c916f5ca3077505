package openaiserver

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/throughline/throughline/internal/delay"
)

// The tiers of the service. Flex costs half of the default one ("Flex processing").
const (
	tierAuto     = "auto"
	tierDefault  = "default"
	tierFlex     = "flex"
	tierPriority = "priority"
)

// flexModels are the models that are served in the flex tier.
var flexModels = regexp.MustCompile(`^(gpt-[56]|o[34])`)

// Flex is how the flex tier is now: whether it has no room for a request, and how much later it answers.
type Flex struct {
	Refuses bool
	Later   time.Duration
}

// enterTier refuses a tier that the service does not know, or does not have for the model, and the flex tier while it
// has no room. In the flex tier it waits. It returns the tier that the answer is billed in.
func (s *server) enterTier(ctx context.Context, r settings) (string, error) {
	switch {
	case !slices.Contains([]string{"", tierAuto, tierDefault, tierFlex, tierPriority}, r.ServiceTier):
		return "", badRequest("service_tier", "Invalid value: '%s'.", r.ServiceTier)
	case r.ServiceTier == tierPriority:
		return tierPriority, nil
	case r.ServiceTier != tierFlex:
		return tierDefault, nil
	case !flexModels.MatchString(r.Model):
		return "", badRequest("service_tier", "Invalid service_tier argument: 'flex' is not supported with this model.")
	}
	var now Flex
	if s.options.Flex != nil {
		now = s.options.Flex()
	}
	if now.Refuses {
		e := newError(http.StatusTooManyRequests, "resource_unavailable", "Resource unavailable. Please try again later.")
		e.Type = "resource_unavailable"
		return "", e
	}
	return tierFlex, delay.Sleep(ctx, now.Later)
}
