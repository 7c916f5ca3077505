package dynamo

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/throughline/throughline/internal/fault"
)

// retryAfter is the hint for a client when DynamoDB throttles or does not answer.
const retryAfter = time.Second

// trouble is what a failed call says about the next one, and about itself.
type trouble int

const (
	fatal     trouble = iota // the same call fails again
	throttled                // nothing was written; the same call may succeed later
	unsure                   // no answer: the call may have been carried out
)

// throttleCodes are the errors that DynamoDB answers instead of doing anything.
var throttleCodes = map[string]bool{
	"ProvisionedThroughputExceededException": true, "ThrottlingException": true, "RequestLimitExceeded": true,
	"TransactionInProgressException": true, "ReplicatedWriteConflictException": true, "TransactionConflictException": true,
}

// troubleOf sorts an error of the SDK. An answer of DynamoDB's own with a status of 4xx is definite; anything else, a
// time-out, a lost connection or an answer cut off behind its 200, leaves open what happened.
func troubleOf(err error) trouble {
	var api smithy.APIError
	if errors.As(err, &api) && throttleCodes[api.ErrorCode()] {
		return throttled
	}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		if status := response.HTTPStatusCode(); status < http.StatusBadRequest || status >= http.StatusInternalServerError {
			return unsure
		}
		return fatal
	}
	if api != nil {
		return apiTrouble(api)
	}
	var invalid *smithy.InvalidParamsError
	var encoding *smithy.SerializationError
	if errors.As(err, &invalid) || errors.As(err, &encoding) {
		return fatal
	}
	return unsure
}

func apiTrouble(api smithy.APIError) trouble {
	if api.ErrorFault() == smithy.FaultServer {
		return unsure
	}
	return fatal
}

// failed gives an error of the SDK its code: what passes is unavailable, what does not is our own mistake.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if known := (*fault.Error)(nil); errors.As(err, &known) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || troubleOf(err) != fatal {
		f := fault.Wrap(fault.Unavailable, op, err)
		f.Message, f.RetryAfter = "the store did not answer in time", retryAfter
		return f
	}
	return fault.Wrap(fault.Internal, op, err)
}

// conditionFailed returns the record that a single conditional write met, nil where there was none, and whether the
// error says that at all.
func conditionFailed(err error) (item, bool) {
	if refused, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refused.Item, true
	}
	return nil, false
}
