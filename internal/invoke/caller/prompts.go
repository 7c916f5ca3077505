// Package caller invokes functions through the Lambda API, as any caller would: prompts, whose answer it waits for, and
// functions that it only starts. It is apart from package invoke because a client of AWS takes its time at the start of
// every function that is built with it.
package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/invoke"
	"github.com/throughline/throughline/internal/prompt"
)

// Client is the part of the Lambda API that is used.
type Client interface {
	Invoke(ctx context.Context, in *lambda.InvokeInput, options ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// Prompts builds prompts by invoking the prompt function. It is safe for concurrent use.
type Prompts struct {
	client   Client
	function string
}

// NewPrompts returns a client of the prompt function with that name.
func NewPrompts(client Client, function string) *Prompts {
	return &Prompts{client: client, function: function}
}

// Build invokes the prompt function. It returns the errors of prompt.Service's Build, and Unavailable if the function
// could not be reached or failed.
func (p *Prompts) Build(ctx context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error) {
	payload, err := json.Marshal(prompt.Invocation{
		IgnoreUnknown: true, UserID: user, SkipSave: r.SkipSave, Ahead: r.Ahead, Request: r,
	})
	if err != nil {
		return prompt.Prompt{}, fmt.Errorf("encode prompt request: %w", err)
	}
	out, err := p.client.Invoke(ctx, &lambda.InvokeInput{FunctionName: &p.function, Payload: payload})
	if err != nil {
		return prompt.Prompt{}, unavailable("invoke prompt", err)
	}
	if out.FunctionError != nil {
		return prompt.Prompt{}, decodeError(out.Payload)
	}
	var built prompt.Prompt
	if err := json.Unmarshal(out.Payload, &built); err != nil {
		return prompt.Prompt{}, unavailable("decode prompt", err)
	}
	return built, nil
}

func unavailable(op string, err error) error {
	f := fault.Wrap(fault.Unavailable, op, err)
	f.Message = "the prompt could not be built now"
	f.RetryAfter = time.Second
	return f
}

// passedCodes are the codes that are passed to the caller. Every other error of the function becomes Unavailable.
var passedCodes = map[fault.Code]bool{
	fault.Invalid: true, fault.NotFound: true, fault.Conflict: true, fault.TooLarge: true,
	fault.Forbidden: true, fault.RateLimited: true, fault.Unavailable: true,
}

// decodeError turns a function error back into a fault.
func decodeError(payload []byte) error {
	f, err := invoke.ParseError(payload)
	if err != nil {
		return unavailable("decode error of prompt", err)
	}
	if !passedCodes[f.Code] {
		return unavailable("build prompt", errors.New(string(f.Code)+": "+f.Message))
	}
	if f.Code == fault.Unavailable || f.Code == fault.RateLimited {
		f.RetryAfter = time.Second
	}
	return f
}

var _ Client = (*lambda.Client)(nil)
