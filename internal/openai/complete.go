package openai

import (
	"context"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
)

// errNoRoom is the failure of a model that spent all its tokens before the answer was there, and then more of them.
var errNoRoom = fault.Wrap(fault.Unavailable, "find room for the model's reasoning", llm.ErrTruncated)

// Complete asks for one whole answer. It retries within the context's deadline when the service is overloaded.
// With a schema the answer's text is JSON of that schema. When the model spends the limit on its reasoning, Complete
// asks once more with more room, and the usage counts both answers. A patient request is made in the flex tier first,
// where the model has it, for llm.Patience at most. Its errors are RateLimited, Unavailable or
// Internal. One is also llm.ErrRefused where the service refuses what it was asked, and llm.ErrTruncated where that is
// too long, or the room for the answer too small.
func (c *Client) Complete(ctx context.Context, r llm.Request) (llm.Completion, error) {
	return c.withRoom(r, func(p plan) (llm.Completion, error) { return c.complete(ctx, p, r) })
}

// withRoom makes a request, and makes it once more where its tokens were spent before there was an answer.
func (c *Client) withRoom(r llm.Request, ask func(plan) (llm.Completion, error)) (llm.Completion, error) {
	p := c.plan(r)
	first, err := ask(p)
	if err != nil || !p.spent(r, first) {
		return first, err
	}
	out, err := ask(p.withMoreRoom())
	out.Usage = out.Usage.Add(first.Usage)
	if err == nil && p.spent(r, out) {
		err = errNoRoom
	}
	return out, err
}

// complete asks in the plan's tier. What flex has not answered in time is asked for once more, in the default tier.
func (c *Client) complete(ctx context.Context, p plan, r llm.Request) (out llm.Completion, err error) {
	if p.tier != "" {
		out, answered, err := c.askFlex(ctx, func(ctx context.Context) (llm.Completion, error) { return c.ask(ctx, p, r) })
		if answered {
			return out, err
		}
		p.tier = ""
	}
	err = c.retry.do(ctx, completeOp, answerLimit, func(ctx context.Context) error {
		out, err = c.ask(ctx, p, r)
		return err
	})
	return out, err
}

// completeOp names the call in errors.
const completeOp = "complete chat"

// ask makes one request.
func (c *Client) ask(ctx context.Context, p plan, r llm.Request) (llm.Completion, error) {
	if p.api == responses {
		answer, err := c.chat.CreateResponse(ctx, newResponse(p, r))
		if err != nil {
			return llm.Completion{}, err
		}
		return responseCompletion(answer)
	}
	answer, err := c.chat.CreateChatCompletion(ctx, newChatCompletion(p, r))
	if err != nil {
		return llm.Completion{}, err
	}
	return chatCompletion(answer)
}
