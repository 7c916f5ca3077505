package dynamo

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/fault"
)

// retryAfter is what a client is told when DynamoDB throttles or does not answer.
const retryAfter = time.Second

// errorClass says whether a failed call may be repeated, and whether it may have been carried out.
type errorClass int

const (
	permanent errorClass = iota // the same call fails again
	throttled                   // nothing was written; the same call may succeed later
	ambiguous                   // there was no answer; the call may have been carried out
)

// throttleCodes are the errors after which DynamoDB has written nothing.
var throttleCodes = map[string]bool{
	"ProvisionedThroughputExceededException": true, "ThrottlingException": true, "RequestLimitExceeded": true,
	"TransactionInProgressException": true, "ReplicatedWriteConflictException": true,
	"TransactionConflictException": true,
}

// classify sorts an error of the SDK. An answer with a status of 4xx is definite. After anything else, such as a
// timeout, a lost connection or an answer that breaks off, the call may have been carried out.
func classify(err error) errorClass {
	var api smithy.APIError
	if errors.As(err, &api) && throttleCodes[api.ErrorCode()] {
		return throttled
	}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status := response.HTTPStatusCode()
		if status < http.StatusBadRequest || status >= http.StatusInternalServerError {
			return ambiguous
		}
		return permanent
	}
	if api != nil && api.ErrorFault() != smithy.FaultServer {
		return permanent
	}
	var invalid *smithy.InvalidParamsError
	var encoding *smithy.SerializationError
	if errors.As(err, &invalid) || errors.As(err, &encoding) {
		return permanent
	}
	return ambiguous
}

// failed gives an error of the SDK a code: Unavailable where a repeat may succeed, Internal otherwise. It returns nil
// for nil, and an error that has a code as it is.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if coded := (*fault.Error)(nil); errors.As(err, &coded) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || classify(err) != permanent {
		f := fault.Wrap(fault.Unavailable, op, err)
		f.Message, f.RetryAfter = "the store did not answer in time", retryAfter
		return f
	}
	return fault.Wrap(fault.Internal, op, err)
}

// isConflict reports whether a transaction was cancelled only because of other writers or throttles at its items.
func isConflict(err error) bool {
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return false
	}
	some := false
	for _, reason := range cancelled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			some = true
		case "None", "":
		default:
			return false
		}
	}
	return some
}

const (
	// A wait after a conflict with another writer is up to conflictWait times as long as an attempt takes, so that
	// writers leave each other room on a slow table too. It does not grow with the number of conflicts: a writer that has
	// lost often must not wait longer than one that has just come.
	conflictWait    = 16
	minConflictWait = 5 * time.Millisecond
	maxConflictWait = time.Second

	// Waits after a throttle or a missing answer, of which one operation accepts maxFailures. Conflicts are not
	// counted: an append never fails only because others append.
	firstFailureWait   = 20 * time.Millisecond
	longestFailureWait = time.Second
	maxFailures        = 8
)

// backoff waits between the attempts of one operation. Each wait is drawn between zero and a bound.
type backoff struct {
	random   io.Reader
	failures int
	took     time.Duration // by the last attempt
}

func (db *DB) backoff() *backoff { return &backoff{random: db.random} }

// afterConflict waits after another writer came first. It returns the context's error when that ends.
func (b *backoff) afterConflict(ctx context.Context) error {
	return delay.Sleep(ctx, b.jitter(min(conflictWait*max(b.took, minConflictWait), maxConflictWait)))
}

// afterFailure waits after a call that failed with err. It returns err, joined with that of the context, when the call
// can't be repeated.
func (b *backoff) afterFailure(ctx context.Context, err error) error {
	if isConflict(err) {
		return joinNonNil(b.afterConflict(ctx), err)
	}
	if classify(err) == permanent || ctx.Err() != nil {
		return err
	}
	return b.afterThrottle(ctx, err)
}

// afterThrottle waits after a call of which DynamoDB did nothing, and returns err when that was the last attempt.
func (b *backoff) afterThrottle(ctx context.Context, err error) error {
	if b.failures++; b.failures >= maxFailures {
		return err
	}
	bound := min(firstFailureWait<<(b.failures-1), longestFailureWait)
	return joinNonNil(delay.Sleep(ctx, b.jitter(bound)), err)
}

// joinNonNil returns nil where there is no waitErr, and both errors otherwise.
func joinNonNil(waitErr, err error) error {
	if waitErr == nil {
		return nil
	}
	return errors.Join(waitErr, err)
}

// jitter draws a duration from zero to the bound.
func (b *backoff) jitter(bound time.Duration) time.Duration {
	var random [8]byte
	if _, err := io.ReadFull(b.random, random[:]); err != nil {
		return bound
	}
	return time.Duration(binary.LittleEndian.Uint64(random[:]) % uint64(bound+1))
}
