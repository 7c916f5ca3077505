package table

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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
	permanent  errorClass = iota // the same call fails again
	throttled                    // nothing was written; the same call may succeed later
	conflicted                   // nothing was written, because a transaction is under way at one of the records
	running                      // an earlier attempt of the same transaction is still being carried out
	ambiguous                    // there was no answer; the call may have been carried out
)

// errorClasses are the errors that DynamoDB gives a code. Its Developer Guide describes them in "Amazon DynamoDB
// Transactions: How it works" and "Error handling with DynamoDB".
var errorClasses = map[string]errorClass{
	"ProvisionedThroughputExceededException": throttled, "ThrottlingException": throttled,
	"RequestLimitExceeded": throttled,
	// A PutItem, UpdateItem or DeleteItem that meets a transaction, and one that meets a write in another region.
	"TransactionConflictException": conflicted, "ReplicatedWriteConflictException": conflicted,
	// A transaction whose token is that of one which is not completed. Its repetition completes it.
	"TransactionInProgressException": running,
	// A token that DynamoDB knows, with other parameters. Tokens are random, so an earlier attempt has arrived, and the
	// engine takes the two for different.
	mismatchCode: ambiguous,
}

const mismatchCode = "IdempotentParameterMismatchException"

// classify sorts an error of the SDK. An answer with a status of 4xx is definite, also where the rest of it is lost.
// After anything else, such as a timeout, a lost connection or an answer that breaks off, the call may have been
// carried out.
func classify(err error) errorClass {
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		return classifyCancellation(cancelled)
	}
	var api smithy.APIError
	if errors.As(err, &api) {
		if class, ok := errorClasses[api.ErrorCode()]; ok {
			return class
		}
	}
	if response, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		status := response.HTTPStatusCode()
		if status < http.StatusBadRequest || status >= http.StatusInternalServerError {
			return ambiguous
		}
		if api == nil { // the answer broke off, so that only its status is known: nothing was written
			return throttled
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

// classifyCancellation sorts a cancelled transaction by its reasons. Where another writer or a throttle is among them,
// they decide, even beside a failed condition: the record that failed it may be about to change.
func classifyCancellation(cancelled *types.TransactionCanceledException) errorClass {
	class := permanent
	for _, reason := range cancelled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "TransactionConflict":
			return conflicted
		case "ThrottlingError", "ProvisionedThroughputExceeded":
			class = throttled
		}
	}
	return class
}

// readOnlyRetryAfter is what a client is told while the table is read-only.
const readOnlyRetryAfter = time.Minute

// isReadOnly reports whether a write was refused because the table's resource policy denies it, which is how an
// operator makes a stage read-only (docs/adr/0048). A right that a role lacks is another refusal: it has no explicit
// deny.
func isReadOnly(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == "AccessDeniedException" &&
		strings.Contains(api.ErrorMessage(), "explicit deny in a resource-based policy")
}

// Failed gives an error of the SDK a code: Unavailable where a repeat may succeed, Internal otherwise. It returns nil
// for nil, and an error that has a code as it is.
func Failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if coded := (*fault.Error)(nil); errors.As(err, &coded) {
		return err
	}
	if isReadOnly(err) {
		f := fault.Wrap(fault.Unavailable, op, err)
		f.Message, f.RetryAfter = "nothing can be written for the time being", readOnlyRetryAfter
		return f
	}
	if classify(err) != permanent { // as is the end of the caller's time
		f := fault.Wrap(fault.Unavailable, op, err)
		f.Message, f.RetryAfter = "the store did not answer in time", retryAfter
		return f
	}
	return fault.Wrap(fault.Internal, op, err)
}

const (
	// A wait after a conflict with another writer is up to conflictWait times as long as an attempt takes, so that
	// writers leave each other room on a slow table too. It does not grow with the number of conflicts: a writer that has
	// lost often must not wait longer than one that has just come.
	conflictWait    = 16
	minConflictWait = 5 * time.Millisecond
	maxConflictWait = time.Second

	// Waits after a throttle or a missing answer, of which one operation accepts maxFailures. Conflicts and transactions
	// that are still running are not counted: they end with the operation's time, and an append never fails only because
	// others append.
	firstFailureWait   = 20 * time.Millisecond
	longestFailureWait = time.Second
	maxFailures        = 10
)

// Backoff is what the attempts of one operation have come to. It waits between them. Each wait is drawn between zero
// and a bound.
type Backoff struct {
	random          io.Reader
	Failures, waits int
	took            time.Duration // by the last attempt
	// Ambiguous is set when an attempt had no answer. It may have been carried out, so that the conditions of a later
	// attempt fail because of the operation's own writes.
	Ambiguous bool
}

// Backoff returns what decides whether and when an operation is tried again.
func (t *Table) Backoff() *Backoff { return &Backoff{random: t.Random} }

// write makes attempts of one write until DynamoDB says what has become of it. It returns nil, the error of a condition
// that failed, or the error of a write that can't be repeated.
//
// The SDK does not repeat writes. It would hide that an attempt had no answer.
func (b *Backoff) write(ctx context.Context, attempt func(...func(*dynamodb.Options)) error) error {
	for {
		start := time.Now()
		err := attempt(oneAttempt)
		b.took = time.Since(start)
		if err == nil || isConditionFailure(err) {
			return err
		}
		if err := b.afterFailure(ctx, err); err != nil {
			return err
		}
	}
}

func oneAttempt(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// isConditionFailure reports whether a write was refused because of conditions, and of nothing that passes by itself.
func isConditionFailure(err error) bool {
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return true
	}
	_, ok := failedConditions(err)
	return ok
}

// AfterConflict waits after another writer came first. It returns the context's error when that ends.
func (b *Backoff) AfterConflict(ctx context.Context) error {
	return delay.Sleep(ctx, b.jitter(min(conflictWait*max(b.took, minConflictWait), maxConflictWait)))
}

// Retry makes attempts of an operation, for OperationTimeout at most, until one is done or fails. An attempt that is
// neither has met another writer who came first.
func (t *Table) Retry(ctx context.Context, op string, attempt func(context.Context, *Backoff) (done bool, err error),
) error {
	ctx, cancel := context.WithTimeout(ctx, OperationTimeout)
	defer cancel()
	for b := t.Backoff(); ; {
		if done, err := attempt(ctx, b); done || err != nil {
			return err
		}
		if err := b.AfterConflict(ctx); err != nil {
			return Failed(op, err)
		}
	}
}

// afterFailure waits after a call that failed with err. It returns err, joined with that of the context, when the call
// can't be repeated.
func (b *Backoff) afterFailure(ctx context.Context, err error) error {
	class := classify(err)
	b.Ambiguous = b.Ambiguous || class == ambiguous || class == running
	switch {
	case class == permanent:
		return err
	case ctx.Err() != nil: // a conflict as the last answer does not say that the time is over
		return errors.Join(ctx.Err(), err)
	case class == conflicted:
		return joinNonNil(b.AfterConflict(ctx), err)
	case class == running:
		return joinNonNil(b.sleep(ctx), err)
	}
	return b.afterThrottle(ctx, err)
}

// afterThrottle waits after a call of which DynamoDB did nothing, and returns err when that was the last attempt.
func (b *Backoff) afterThrottle(ctx context.Context, err error) error {
	if b.Failures++; b.Failures >= maxFailures {
		return err
	}
	return joinNonNil(b.sleep(ctx), err)
}

// sleep waits longer each time.
func (b *Backoff) sleep(ctx context.Context) error {
	bound := min(firstFailureWait<<min(b.waits, 10), longestFailureWait)
	b.waits++
	return delay.Sleep(ctx, b.jitter(bound))
}

// joinNonNil returns nil where there is no waitErr, and both errors otherwise.
func joinNonNil(waitErr, err error) error {
	if waitErr == nil {
		return nil
	}
	return errors.Join(waitErr, err)
}

// jitter draws a duration from zero to the bound.
func (b *Backoff) jitter(bound time.Duration) time.Duration {
	var random [8]byte
	if _, err := io.ReadFull(b.random, random[:]); err != nil {
		return bound
	}
	return time.Duration(binary.LittleEndian.Uint64(random[:]) % uint64(bound+1))
}
