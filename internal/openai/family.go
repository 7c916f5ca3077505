package openai

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/throughline/throughline/internal/llm"
)

// api is one of the two ways to ask a service for an answer.
type api string

const (
	chatCompletions api = "/chat/completions"
	responses       api = "/responses"
)

// limitField is the field of a chat completion that limits the answer. The Responses API has one field for all models.
type limitField string

const (
	maxTokens           limitField = "max_tokens"
	maxCompletionTokens limitField = "max_completion_tokens"
)

// family says which request a group of models gets. No family gets sampling parameters: models that reason refuse
// them, and nothing here needs them. Tools and JSON schemas are sent in the API that the family names.
type family struct {
	name string
	// models matches the models by their names, without the prefixes that plainName removes. It is nil for the two
	// families of all other models.
	models *regexp.Regexp
	// elsewhere is the API at a service other than OpenAI's own. OpenAI's own service gets the Responses API for every
	// model: OpenAI recommends it for all of them, and only there can a request say that nothing may be stored.
	elsewhere api
	// limit is the field of the limit in a chat completion.
	limit limitField
	// reasons is true for models whose hidden reasoning counts against the limit.
	reasons bool
	// efforts are the reasoning efforts that the models accept, least first. Without any, no effort is sent.
	efforts []string
	// breakpoints is true for models whose prompts are cached only as far as the breakpoints in a request. Earlier ones
	// refuse breakpoints, and reuse any beginning of a prompt ("Prompt caching", summary of model differences).
	breakpoints bool
	// flex is true for models that the service also serves in its flex tier (OpenAI's price list, "Flex").
	flex bool
	// oneSystem is true for models whose chat templates may refuse a system message after another message.
	oneSystem bool
	// anyEffort is true for models that are not known. They get the configured effort unchanged, and none by default.
	anyEffort bool
}

// effort is how much a model reasons, and the room that its reasoning gets.
type effort struct {
	name string
	room int
}

// efforts are the reasoning efforts of all models, least first, with the room that reasoning gets beside the answer's
// own limit. OpenAI's guide "Reasoning models" advises 25,000 tokens to begin with. Tokens that are not used cost
// nothing, but the limit counts against the rate limit, so less effort gets less room.
var efforts = []effort{
	{"none", 0},
	{"minimal", 4_000},
	{"low", 4_000},
	{defaultRoom, 12_000},
	{"high", 25_000},
	{"xhigh", 50_000},
	{"max", 64_000},
}

const (
	// defaultEffort is the effort where none is configured. OpenAI's deployment checklist advises it for extraction and
	// plain writing; the models' own default, medium, lets a user wait.
	defaultEffort = "low"
	// defaultRoom is the effort whose room a model gets that reasons with an effort of its own.
	defaultRoom = "medium"
	// secondRoom is the least room of a second attempt.
	secondRoom = 4_000
)

// families are the models that are known, the more specific names first. OpenAI's model pages, its model guidance and
// its deployment checklist have the efforts. GPT-5.2 and later do not take tools in Chat Completions while they reason;
// the pro and codex models are not served there.
var families = []family{
	{
		name: "GPT-6 that always reasons", models: regexp.MustCompile(`^gpt-6(-astra|\.\d)`),
		elsewhere: responses, reasons: true, efforts: []string{"low", "medium", "high", "xhigh", "max"},
		breakpoints: true, flex: true,
	},
	{
		name: "GPT-6 and GPT-5.6", models: regexp.MustCompile(`^gpt-(6|5\.[6-9])`),
		elsewhere: responses, reasons: true, efforts: []string{"none", "low", "medium", "high", "xhigh", "max"},
		breakpoints: true, flex: true,
	},
	{
		name: "models of ChatGPT", models: regexp.MustCompile(`chat-latest$|^chatgpt-`),
		elsewhere: responses, reasons: true,
	},
	{
		name: "pro models", models: regexp.MustCompile(`^(gpt-5(\.\d)?|o\d)-pro`),
		elsewhere: responses, reasons: true, efforts: []string{"high"},
	},
	{
		name: "codex models", models: regexp.MustCompile(`^gpt-5.*-codex`),
		elsewhere: responses, reasons: true, efforts: []string{"low", "medium", "high"},
	},
	{
		name: "GPT-5.2 to GPT-5.5", models: regexp.MustCompile(`^gpt-5\.[2-5]`),
		elsewhere: responses, reasons: true, efforts: []string{"none", "low", "medium", "high", "xhigh"},
		flex: true,
	},
	{
		name: "GPT-5.1", models: regexp.MustCompile(`^gpt-5\.1`),
		elsewhere: chatCompletions, limit: maxCompletionTokens, reasons: true,
		efforts: []string{"none", "low", "medium", "high"}, flex: true,
	},
	{
		name: "GPT-5", models: regexp.MustCompile(`^gpt-5`),
		elsewhere: chatCompletions, limit: maxCompletionTokens, reasons: true,
		efforts: []string{"minimal", "low", "medium", "high"}, flex: true,
	},
	{
		name: "o-series", models: regexp.MustCompile(`^o[1-9]`),
		elsewhere: chatCompletions, limit: maxCompletionTokens, reasons: true,
		efforts: []string{"low", "medium", "high"},
	},
	{
		name: "GPT-4", models: regexp.MustCompile(`^gpt-(4|3\.5)`),
		elsewhere: chatCompletions, limit: maxTokens,
	},
	{
		name: "gpt-oss", models: regexp.MustCompile(`^gpt-oss`),
		elsewhere: chatCompletions, limit: maxTokens, reasons: true, efforts: []string{"low", "medium", "high"},
		oneSystem: true,
	},
}

// unknown is the family of OpenAI's models that this program does not know, such as the next ones. compatible is the
// family of all models of other services, such as Ollama and vLLM, which know max_tokens only, and which may refuse an
// effort for a model that does not reason.
var (
	unknown    = family{name: "OpenAI's other models", elsewhere: responses, reasons: true, anyEffort: true}
	compatible = family{
		name: "OpenAI-compatible services", elsewhere: chatCompletions, limit: maxTokens, oneSystem: true, anyEffort: true,
	}
)

// familyOf finds the family of a model. own is true at OpenAI's own service.
func familyOf(model string, own bool) family {
	name := plainName(model)
	for _, f := range families {
		if f.models.MatchString(name) {
			return f
		}
	}
	if own {
		return unknown
	}
	return compatible
}

// plainName is a model's name without the vendor that gateways put before it ("openai/gpt-6-luna") and without the mark
// of a fine-tuned model ("ft:gpt-4o-mini:app").
func plainName(model string) string {
	name := strings.ToLower(model[strings.LastIndex(model, "/")+1:])
	return strings.TrimPrefix(name, "ft:")
}

// effort is the effort that is sent: the configured one, or the nearest that the models accept, rather more than less.
func (f family) effort(configured string) string {
	if f.anyEffort {
		return configured
	}
	wanted := effortRank(cmp.Or(configured, defaultEffort))
	accepted := ""
	for _, accepted = range f.efforts { // the last where none is enough
		if effortRank(accepted) >= wanted {
			break
		}
	}
	return accepted
}

func effortRank(name string) int {
	return slices.IndexFunc(efforts, func(e effort) bool { return e.name == name })
}

// room is how many tokens reasoning of an effort gets beside the answer.
func (f family) room(effort string) int {
	if !f.reasons && effort == "" {
		return 0
	}
	return efforts[max(0, effortRank(cmp.Or(effort, defaultRoom)))].room
}

// plan is how one request is made.
type plan struct {
	api    api
	limit  limitField
	model  string
	effort string
	// tokens limits the answer with its reasoning. 0 sets no limit.
	tokens int
	room   int
	// breakpoints says that the request marks what may be cached, oneSystem that it has one system message, the first.
	breakpoints, oneSystem bool
	// tier is the service's tier. Empty is the default.
	tier string
}

func (c *Client) plan(r llm.Request) plan {
	model := cmp.Or(r.Model, c.chatModel)
	f := familyOf(model, c.own)
	p := plan{
		api: f.elsewhere, limit: f.limit, model: model, effort: f.effort(c.effort), breakpoints: f.breakpoints,
		oneSystem: f.oneSystem,
	}
	if r.LeastEffort && !f.anyEffort {
		p.effort = f.effort(efforts[0].name)
	}
	if c.own {
		p.api = responses
	}
	if r.Patient && c.inFlex(f) {
		p.tier = flex
	}
	p.room = f.room(p.effort)
	if r.MaxTokens > 0 {
		p.tokens = r.MaxTokens + p.room
	}
	return p
}

// withMoreRoom is the plan of a second attempt, after the model has spent its tokens before the answer was there.
func (p plan) withMoreRoom() plan {
	p.tokens += max(secondRoom, 3*p.room)
	return p
}

// spent reports whether an answer is of no use because its tokens were spent too early: there is no text, or JSON that
// is cut.
func (p plan) spent(r llm.Request, out llm.Completion) bool {
	if p.tokens == 0 || out.FinishReason != llm.FinishLength {
		return false
	}
	return out.Text == "" || r.Schema != nil
}
