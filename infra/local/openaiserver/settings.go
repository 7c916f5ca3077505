package openaiserver

import (
	"net/http"
	"regexp"
)

// What the service refuses of a model that reasons. The product's own table of models (internal/openai) says more: here
// is only what it once got wrong.
var (
	// reasoning are the models that refuse max_tokens and, while they reason, sampling parameters.
	reasoning = regexp.MustCompile(`^(gpt-[56]|o\d)`)
	// plain are those that refuse an effort.
	plain = regexp.MustCompile(`^gpt-(4|3\.5)`)
	// responsesOnly are those that are not served as chat completions.
	responsesOnly = regexp.MustCompile(`^(gpt-5.*-codex|(gpt-5(\.\d)?|o\d)-pro)`)
	// toolsInResponses are those that take tools in a chat completion only while they do not reason.
	toolsInResponses = regexp.MustCompile(`^gpt-(5\.[2-9]|6)`)
	// breakpoints are those whose prompts are cached as far as breakpoints, and not elsewhere.
	breakpoints = regexp.MustCompile(`^gpt-(6|5\.6)`)
)

// reasoningTokens is how many tokens a model spends on an effort before it answers.
var reasoningTokens = map[string]int{
	"none": 0, "minimal": 64, "low": 256, "medium": 1024, "high": 4096, "xhigh": 8192, "max": 16384,
}

// settings are the parts of a request that its model may refuse.
type settings struct {
	Model       string   `json:"model"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	ToolChoice  any      `json:"tool_choice"`

	ServiceTier        string        `json:"service_tier"`
	PromptCacheKey     string        `json:"prompt_cache_key"`
	PromptCacheOptions *cacheOptions `json:"prompt_cache_options"`
}

// effort checks an effort that a request asks for, at the field that has it, and what does not go with it. A model that
// reasons does so with medium effort by default, a model of another name never.
func (s settings) effort(asked, field string) (string, error) {
	if asked != "" && plain.MatchString(s.Model) {
		return "", unsupportedParameter(field)
	}
	if !reasoning.MatchString(s.Model) {
		return "none", nil
	}
	if asked == "" {
		asked = "medium"
	}
	if _, known := reasoningTokens[asked]; !known {
		e := badRequest(field, "Unsupported value: '%s' is not supported with the '%s' model.", asked, s.Model)
		e.Code = "unsupported_value"
		return "", e
	}
	if asked != "none" && s.Temperature != nil {
		return "", unsupportedParameter("temperature")
	}
	if asked != "none" && s.TopP != nil {
		return "", unsupportedParameter("top_p")
	}
	return asked, nil
}

func unsupportedParameter(name string) *apiError {
	e := badRequest(name, "Unsupported parameter: '%s' is not supported with this model.", name)
	e.Code = "unsupported_parameter"
	return e
}

// checkModel refuses what the service refuses for the model in a chat completion.
func (r *chatRequest) checkModel() (err error) {
	if responsesOnly.MatchString(r.Model) {
		e := badRequest("model", "This model is only supported in v1/responses and not in v1/chat/completions.")
		e.status = http.StatusNotFound
		return e
	}
	if r.effort, err = r.settings.effort(r.ReasoningEffort, "reasoning_effort"); err != nil {
		return err
	}
	if r.MaxTokens != nil && reasoning.MatchString(r.Model) {
		e := unsupportedParameter("max_tokens")
		e.Message += " Use 'max_completion_tokens' instead."
		return e
	}
	if toolsInResponses.MatchString(r.Model) && r.effort != "none" && len(r.Tools) > 0 {
		return badRequest("reasoning_effort", "Function tools with reasoning_effort are not supported for %s in "+
			"/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.", r.Model)
	}
	return nil
}
