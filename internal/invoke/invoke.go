// Package invoke has both ends of a direct invocation of one function by another. The coach function invokes the prompt
// function through the Lambda API, as any caller would. An error becomes a Lambda function error whose errorType is the
// fault's code.
package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/strictjson"
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
	payload, err := json.Marshal(prompt.Invocation{UserID: user, SkipSave: r.SkipSave, Ahead: r.Ahead, Request: r})
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
	var e messages.InvokeResponse_Error
	if err := json.Unmarshal(payload, &e); err != nil {
		return unavailable("decode error of prompt", err)
	}
	code := fault.Code(e.Type)
	if !passedCodes[code] {
		return unavailable("build prompt", errors.New(e.Type+": "+e.Message))
	}
	f := fault.New(code, e.Message)
	if message, fields, found := strings.Cut(e.Message, fieldSeparator); found {
		f.Message = message
		if err := json.Unmarshal([]byte(fields), &f.Fields); err != nil {
			f.Message = e.Message
		}
	}
	if code == fault.Unavailable || code == fault.RateLimited {
		f.RetryAfter = time.Second
	}
	return f
}

// fieldSeparator separates an error's message from its fields. A Lambda error has no other place for fields.
const fieldSeparator = " | fields: "

// Error returns the Lambda function error of an error. The caller sees the code, the message and the fields of the
// fault only.
func Error(err error) error {
	f := fault.From(err)
	code := f.Code
	if code == fault.NotJSON {
		code = fault.Invalid
	}
	message := f.Message
	if message == "" {
		message = strings.ReplaceAll(string(code), "_", " ")
	}
	if len(f.Fields) > 0 {
		fields, err := json.Marshal(f.Fields)
		if err != nil {
			return err
		}
		message += fieldSeparator + string(fields)
	}
	return messages.InvokeResponse_Error{Type: string(code), Message: message}
}

// Decode reads the payload of a direct invocation into a request, as strictly as the HTTP API reads a body. It returns
// an Invalid error that lists the wrong fields.
func Decode(payload []byte, into any) error { return invalid(strictjson.Unmarshal(payload, into)) }

// Check returns the errors that Decode returns for every type of request. It is for a function that has to read a part
// of the payload before it knows the type.
func Check(payload []byte) error { return invalid(strictjson.Check(payload)) }

// invalid turns NotJSON into Invalid, because a direct invocation has no status that could tell them apart.
func invalid(err error) error {
	if !fault.Is(err, fault.NotJSON) {
		return err
	}
	return fault.New(fault.Invalid, fault.From(err).Message)
}

var _ Client = (*lambda.Client)(nil)
