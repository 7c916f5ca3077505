package caller

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// Starter starts invocations of a function and does not wait for them. It is safe for concurrent use.
type Starter struct {
	client   Client
	function string
}

// NewStarter returns a starter of the function with that name.
func NewStarter(client Client, function string) *Starter {
	return &Starter{client: client, function: function}
}

// Start hands the event to Lambda, which invokes the function with it. It returns an error when Lambda does not take
// the event.
func (s *Starter) Start(ctx context.Context, event any) error {
	payload, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	_, err = s.client.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: &s.function, InvocationType: types.InvocationTypeEvent, Payload: payload,
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", s.function, err)
	}
	return nil
}
