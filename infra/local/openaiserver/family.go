package openaiserver

import (
	"regexp"
	"slices"
	"strings"
)

// family is what the service allows for a group of its models, and how its models reason.
type family struct {
	models *regexp.Regexp
	// efforts are the reasoning efforts that the models accept, the default first. Without them the models do not reason.
	efforts []string
	// responsesOnly is true for models that are not served as chat completions, toolsInResponses for models that take
	// tools in chat completions only while they do not reason.
	responsesOnly, toolsInResponses bool
	// breakpoints is true for models whose prompts are cached as far as breakpoints, and not elsewhere.
	breakpoints bool
}

// families are OpenAI's models, the more specific names first. A model of another name is one of an OpenAI-compatible
// server: it takes what it is sent.
var families = []family{
	{
		models: regexp.MustCompile(`^gpt-6(-astra|\.\d)`), toolsInResponses: true, breakpoints: true,
		efforts: []string{"medium", "low", "high", "xhigh", "max"},
	},
	{
		models: regexp.MustCompile(`^gpt-(6|5\.6)`), toolsInResponses: true, breakpoints: true,
		efforts: []string{"medium", "none", "low", "high", "xhigh", "max"},
	},
	{models: regexp.MustCompile(`^(gpt-5(\.\d)?|o\d)-pro`), responsesOnly: true, efforts: []string{"high"}},
	{models: regexp.MustCompile(`^gpt-5.*-codex`), responsesOnly: true, efforts: []string{"medium", "low", "high"}},
	{models: regexp.MustCompile(`-chat-latest`)},
	{
		models: regexp.MustCompile(`^gpt-5\.[45]`), toolsInResponses: true,
		efforts: []string{"none", "low", "medium", "high", "xhigh"},
	},
	{models: regexp.MustCompile(`^gpt-5\.[123]`), efforts: []string{"none", "low", "medium", "high"}},
	{models: regexp.MustCompile(`^gpt-5`), efforts: []string{"medium", "minimal", "low", "high"}},
	{models: regexp.MustCompile(`^o\d`), efforts: []string{"medium", "low", "high"}},
	{models: regexp.MustCompile(`^gpt-(4|3\.5)`)},
}

// reasoningTokens is how many tokens a model spends on an effort before it answers.
var reasoningTokens = map[string]int{
	"minimal": 64, "low": 256, "medium": 1024, "high": 4096, "xhigh": 8192, "max": 16384,
}

// familyOf returns the family of a model, nil for one that is not OpenAI's.
func familyOf(model string) *family {
	for i := range families {
		if families[i].models.MatchString(model) {
			return &families[i]
		}
	}
	return nil
}

// settings are the parts of a request that the family of its model may refuse.
type settings struct {
	Model            string   `json:"model"`
	Temperature      *float64 `json:"temperature"`
	TopP             *float64 `json:"top_p"`
	PresencePenalty  *float64 `json:"presence_penalty"`
	FrequencyPenalty *float64 `json:"frequency_penalty"`

	PromptCacheKey     string        `json:"prompt_cache_key"`
	PromptCacheOptions *cacheOptions `json:"prompt_cache_options"`
}

// effort checks an effort that a request asks for, at the field that has it, and returns the one that the model takes.
func (s settings) effort(asked, field string) (string, error) {
	f := familyOf(s.Model)
	switch {
	case f == nil:
		return "none", nil
	case asked == "" && len(f.efforts) == 0:
		return "none", nil
	case asked == "":
		return f.efforts[0], nil
	case len(f.efforts) == 0:
		return "", unsupportedParameter(field)
	case !slices.Contains(f.efforts, asked):
		wrong := badRequest(field, "Unsupported value: '%s' is not supported with the '%s' model. Supported values "+
			"are: '%s'.", asked, s.Model, strings.Join(f.efforts, "', '"))
		wrong.Code = "unsupported_value"
		return "", wrong
	}
	return asked, nil
}

// checkSampling refuses sampling parameters for a model that reasons.
func (s settings) checkSampling(effort string) error {
	if effort == "none" {
		return nil
	}
	for _, p := range []struct {
		name  string
		value *float64
		plain float64
	}{
		{"temperature", s.Temperature, 1},
		{"top_p", s.TopP, 1},
		{"presence_penalty", s.PresencePenalty, 0},
		{"frequency_penalty", s.FrequencyPenalty, 0},
	} {
		if p.value != nil && *p.value != p.plain {
			return unsupportedParameter(p.name)
		}
	}
	return nil
}

func unsupportedParameter(name string) *apiError {
	e := badRequest(name, "Unsupported parameter: '%s' is not supported with this model.", name)
	e.Code = "unsupported_parameter"
	return e
}

// checkFamily refuses what the service refuses for the model in a chat completion.
func (r *chatRequest) checkFamily() error {
	f := familyOf(r.Model)
	if f == nil {
		return nil
	}
	if f.responsesOnly {
		e := badRequest("model", "This model is only supported in v1/responses and not in v1/chat/completions.")
		e.status = 404
		return e
	}
	if r.MaxTokens != nil && len(f.efforts) > 0 {
		e := unsupportedParameter("max_tokens")
		e.Message += " Use 'max_completion_tokens' instead."
		return e
	}
	var err error
	if r.effort, err = r.settings.effort(r.ReasoningEffort, "reasoning_effort"); err != nil {
		return err
	}
	if f.toolsInResponses && r.effort != "none" && len(r.Tools) > 0 {
		return badRequest("reasoning_effort", "Function tools with reasoning_effort are not supported for %s in "+
			"/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.", r.Model)
	}
	return r.checkSampling(r.effort)
}
