package openaiserver

import (
	"regexp"
	"slices"
)

// tierFlex is the tier that costs half of the default one ("Flex processing").
const tierFlex = "flex"

// flexModels are the models that are served in the flex tier.
var flexModels = regexp.MustCompile(`^(gpt-[56]|o[34])`)

// tier refuses a tier that the service does not know, or does not have for the model. It returns the tier that the
// answer is billed in.
func (r settings) tier() (string, error) {
	switch {
	case !slices.Contains([]string{"", "auto", "default", "priority", tierFlex}, r.ServiceTier):
		return "", badRequest("service_tier", "Invalid value: '%s'.", r.ServiceTier)
	case r.ServiceTier == tierFlex && !flexModels.MatchString(r.Model):
		return "", badRequest("service_tier", "Invalid service_tier argument: 'flex' is not supported with this model.")
	case r.ServiceTier == tierFlex || r.ServiceTier == "priority":
		return r.ServiceTier, nil
	}
	return "default", nil
}
