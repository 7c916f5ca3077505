// Package invoke is the direct invocation of one function by another, both ends of it: the coach function reaches
// prompt through the Lambda API as any caller would (api 5). An error crosses as a Lambda function error whose
// errorType is the fault's code.
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

// Client is the one method of the Lambda API that is used.
type Client interface {
	Invoke(ctx context.Context, in *lambda.InvokeInput, options ...func(*lambda.Options)) (*lambda.InvokeOutput, error)
}

// Prompts builds prompts by invoking the prompt function. It is safe for concurrent use.
type Prompts struct {
	client   Client
	function string
}

// NewPrompts returns a client of the prompt function of that name.
func NewPrompts(client Client, function string) *Prompts {
	return &Prompts{client: client, function: function}
}

// Build invokes prompt. Its errors are those of prompt.Service's Build, and Unavailable where the function could not
// be reached or failed by itself.
func (p *Prompts) Build(ctx context.Context, user conversation.UserID, r prompt.Request) (prompt.Prompt, error) {
	payload, err := json.Marshal(prompt.Invocation{UserID: user, SkipSave: r.SkipSave, Request: r})
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

// crossing are the codes that a caller acts on; every other error of the function is the function's own trouble.
var crossing = map[fault.Code]bool{
	fault.Invalid: true, fault.NotFound: true, fault.Conflict: true, fault.TooLarge: true,
	fault.Forbidden: true, fault.RateLimited: true, fault.Unavailable: true,
}

// decodeError turns a function error back into the fault that it was.
func decodeError(payload []byte) error {
	var e messages.InvokeResponse_Error
	if err := json.Unmarshal(payload, &e); err != nil {
		return unavailable("decode error of prompt", err)
	}
	code := fault.Code(e.Type)
	if !crossing[code] {
		return unavailable("build prompt", errors.New(e.Type+": "+e.Message))
	}
	f := fault.New(code, e.Message)
	if message, fields, found := strings.Cut(e.Message, fieldMark); found {
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

// fieldMark stands between an error's message and its fields, which a Lambda error has no place for.
const fieldMark = " | fields: "

// Error makes the Lambda function error of a failure. What the caller sees comes from the code, the message and the
// fields alone.
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
		fields, merr := json.Marshal(f.Fields)
		if merr != nil {
			return merr
		}
		message += fieldMark + string(fields)
	}
	return messages.InvokeResponse_Error{Type: string(code), Message: message}
}

// Decode reads a direct invocation's payload into a request, as strictly as the HTTP API reads a body: everything that is
// wrong with it is an Invalid error, which names the fields that are.
func Decode(payload []byte, into any) error { return invalid(strictjson.Unmarshal(payload, into)) }

// Check refuses a payload that Decode would refuse whatever it is read into. It is for a function that has to take a
// payload apart before it knows the request: what is read loosely first is lost to a Decode behind it.
func Check(payload []byte) error { return invalid(strictjson.Check(payload)) }

// invalid is the error as a direct invocation has it, where no status tells a text that is not JSON apart.
func invalid(err error) error {
	if !fault.Is(err, fault.NotJSON) {
		return err
	}
	return fault.New(fault.Invalid, fault.From(err).Message)
}

var _ Client = (*lambda.Client)(nil)
