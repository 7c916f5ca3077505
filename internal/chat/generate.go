package chat

import (
	"context"

	"github.com/throughline/throughline/internal/llm"
)

// generate streams the model's answer, with at most one round of its tools. What the model says beside its calls is the
// answer's first paragraph.
func (g *answerRun) generate(ctx context.Context, emit func(string) error) (llm.Completion, error) {
	request := llm.Request{
		Model: g.prompt.Model, Messages: g.prompt.ModelMessages(), Tools: g.prompt.Tools, User: llm.EndUser(string(g.user)),
		CacheKey: llm.SessionKey(string(g.user), g.turn.Session.ID), MaxTokens: g.AnswerTokens,
	}
	completion, err := g.Model.Stream(ctx, request, emit)
	if err != nil || len(completion.ToolCalls) == 0 {
		return completion, err
	}
	request.Messages = append(request.Messages, g.searchRound(ctx, completion.ToolCalls)...)
	request.MustAnswer = true
	usage := completion.Usage
	// Some services do not know MustAnswer, so that the model calls again. Then it is offered no tools.
	for _, tools := range [][]llm.Tool{g.prompt.Tools, nil} {
		request.Tools = tools
		completion, err = g.Model.Stream(ctx, request, g.nextParagraph(emit))
		usage = usage.Add(completion.Usage)
		if err != nil || len(completion.ToolCalls) == 0 {
			break
		}
	}
	completion.Usage = usage
	return completion, err
}

// nextParagraph emits a text as another paragraph of the answer.
func (g *answerRun) nextParagraph(emit func(string) error) func(string) error {
	before := g.text.Len()
	return func(delta string) error {
		if before > 0 && g.text.Len() == before {
			delta = "\n\n" + delta
		}
		return emit(delta)
	}
}
