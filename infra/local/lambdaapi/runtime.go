// Package lambdaapi is a local Lambda service. Its runtime invokes registered handlers as the service does: with a
// deadline and a request id, and with panics and errors rendered as function errors. In front of it is the service's
// invoke API, which the Lambda client of any AWS SDK can call.
package lambdaapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/aws/aws-lambda-go/lambdacontext"
	smithyrand "github.com/aws/smithy-go/rand"
)

// The service's limits in bytes: the payload of a synchronous and of an asynchronous invocation, and the response.
const (
	MaxSyncPayload  = 6 << 20
	maxAsyncPayload = 1 << 20
	maxResponse     = 6<<20 + 100
)

// ErrStopping is the error for a function that was cut off or not started because the runtime closed.
var ErrStopping = errors.New("the stack is stopping")

// shutdown is the error type of a function that a closing runtime cut off.
const shutdown = "Extension.Shutdown"

// FunctionError is the response of a function that failed. It is the JSON object that the service returns with
// X-Amz-Function-Error: errorMessage and errorType.
type FunctionError struct{ messages.InvokeResponse_Error }

// Error returns the type and the message of the function's error.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// Is reports whether target is ErrStopping and the function was cut off.
func (e *FunctionError) Is(target error) bool { return target == ErrStopping && e.Type == shutdown }

// Runtime invokes registered handlers. An invocation's context ends at the function's timeout or when the runtime
// closes. It does not end with the caller, because a Lambda goes on when its caller disconnects. A Runtime is safe for
// concurrent use.
type Runtime struct {
	logger *slog.Logger
	base   context.Context
	cancel context.CancelFunc

	mu        sync.Mutex
	functions map[string]*function
	closed    bool

	running sync.WaitGroup
	active  atomic.Int64
}

// function has one or more instances, among which its invocations are dealt in turn.
type function struct {
	instances []instance
	next      int
}

// instance is what the service calls an execution environment: one handler with what it keeps between invocations.
type instance struct {
	handler any
	timeout time.Duration
}

// NewRuntime returns a runtime without functions.
func NewRuntime(logger *slog.Logger) *Runtime {
	base, cancel := context.WithCancel(context.Background())
	return &Runtime{logger: logger, base: base, cancel: cancel, functions: map[string]*function{}}
}

// Register adds an instance of a function. The handler is any value that lambda.Start accepts, or one that streams by a
// method Stream. Instances that share nothing are handlers that were built separately.
func (r *Runtime) Register(name string, handler any, timeout time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.functions[name]
	if !ok {
		f = &function{}
		r.functions[name] = f
	}
	f.instances = append(f.instances, instance{handler, timeout})
}

// Has reports whether a function is registered.
func (r *Runtime) Has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.functions[name]
	return ok
}

// Active returns the number of running invocations. Those that were accepted and have not begun count, too.
func (r *Runtime) Active() int { return int(r.active.Load()) }

// Close ends the context of every invocation and waits for them until ctx is done. Later invocations are refused.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	idle := make(chan struct{})
	go func() { r.running.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %d invocations: %w", r.Active(), ctx.Err())
	}
}

// Invoke calls a function and returns its response. It returns a *FunctionError if the function fails, and the error
// of ctx when ctx ends, while the function goes on.
func (r *Runtime) Invoke(ctx context.Context, name string, payload []byte) ([]byte, error) {
	return r.invoke(ctx, name, payload, lambdacontext.ClientContext{})
}

func (r *Runtime) invoke(
	ctx context.Context, name string, payload []byte, client lambdacontext.ClientContext,
) ([]byte, error) {
	call, err := r.begin(name, client)
	if err != nil {
		return nil, err
	}
	answers := make(chan answer, 1)
	go func() {
		defer call.end()
		// One handler's responses share memory, because a real Lambda environment has one invocation at a time. Here there
		// are many at once, so each has a handler of its own.
		handler := lambda.NewHandler(call.handler)
		var a answer
		a.out, a.err = call.guard(func() ([]byte, error) { return handler.Invoke(call.ctx, payload) })
		answers <- a
	}()
	select {
	case a := <-answers:
		return a.out, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-call.ctx.Done():
	}
	select {
	case a := <-answers: // it ended because the function answered
		return a.out, a.err
	default: // the timeout; the handler may still run
		return call.finish(nil, nil)
	}
}

type answer struct {
	out []byte
	err error
}

// call is one running invocation.
type call struct {
	instance
	runtime *Runtime
	name    string
	id      string
	ctx     context.Context
	cancel  context.CancelFunc
	log     sync.Once
}

func (r *Runtime) begin(name string, client lambdacontext.ClientContext) (*call, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, ok := r.functions[name]
	if !ok {
		return nil, fmt.Errorf("function not found: %s", name)
	}
	if r.closed {
		return nil, ErrStopping
	}
	r.running.Add(1)
	r.active.Add(1)
	c := &call{instance: f.instances[f.next], runtime: r, name: name, id: newID()}
	f.next = (f.next + 1) % len(f.instances)
	ctx, cancel := context.WithTimeout(r.base, c.timeout)
	c.ctx, c.cancel = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID: c.id, InvokedFunctionArn: arn(name), ClientContext: client,
	}), cancel
	return c, nil
}

func (c *call) end() {
	c.cancel()
	c.runtime.active.Add(-1)
	c.runtime.running.Done()
}

// guard runs the handler and returns what the service answers. A panic becomes the error that the real runtime reports.
func (c *call) guard(run func() ([]byte, error)) (out []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = functionError(v)
		}
		out, err = c.finish(out, err)
	}()
	return run()
}

// finish returns what the service answers for the result of a handler.
func (c *call) finish(out []byte, err error) ([]byte, error) {
	switch {
	case errors.Is(c.ctx.Err(), context.DeadlineExceeded):
		err = messages.InvokeResponse_Error{Type: "Sandbox.Timedout", Message: fmt.Sprintf(
			"RequestId: %s Error: Task timed out after %.2f seconds", c.id, c.timeout.Seconds(),
		)}
	case c.runtime.base.Err() != nil: // whatever the handler returned
		err = messages.InvokeResponse_Error{Type: shutdown, Message: ErrStopping.Error()}
	case err == nil && len(out) > maxResponse:
		err = messages.InvokeResponse_Error{Type: "Function.ResponseSizeTooLarge", Message: fmt.Sprintf(
			"Response payload size exceeded maximum allowed payload size (%d bytes).", maxResponse,
		)}
	}
	if err == nil {
		return out, nil
	}
	failure, ok := errors.AsType[*FunctionError](err)
	if !ok {
		failure = functionError(err)
	}
	if c.runtime.base.Err() == nil { // the runtime did not cut the function off
		c.log.Do(func() { // once: a handler may return after its timeout was reported
			c.runtime.logger.ErrorContext(c.ctx, "function error", "function", c.name, "requestId", c.id,
				"errorType", failure.Type, "errorMessage", failure.Message)
		})
	}
	return nil, failure
}

// arn returns the ARN of a function.
func arn(name string) string { return "arn:aws:lambda:us-east-1:000000000000:function:" + name }

// functionName returns the name and the qualifier in a function reference: a name, a partial or full ARN, with or
// without a qualifier.
func functionName(reference string) (name, qualifier string) {
	if _, after, ok := strings.Cut(reference, "function:"); ok {
		reference = after
	}
	name, qualifier, _ = strings.Cut(reference, ":")
	return name, qualifier
}

// newID returns a random UUID, the form of the service's request ids.
func newID() string {
	id, _ := smithyrand.NewUUID(rand.Reader).GetUUID() // the reader never fails
	return id
}
