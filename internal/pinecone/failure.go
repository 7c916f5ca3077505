package pinecone

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/truncate"
)

// throttleDelay is how long a caller should wait after a throttled call. The service gives no advice of its own.
const throttleDelay = time.Second

// maxMessage is how many bytes of the service's message an error has. The message may quote a value.
const maxMessage = 200

// failure gives a gRPC error a fault code: NotFound, RateLimited, Unavailable when the call may succeed later, and
// Internal when the program or its configuration has to change. A refusal for the plan's quota is Unavailable and has
// vector.ErrQuota in its chain.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	if isQuota(s) {
		return fault.Wrap(fault.Unavailable, op, errors.Join(quotaOf(s), cause{s, err}))
	}
	out := fault.Wrap(classOf(s).code, op, cause{s, err})
	if out.Code == fault.RateLimited {
		out.RetryAfter = throttleDelay
	}
	return out
}

// class is what an answer of the service means: to the caller, in the metrics, and whether another attempt may succeed.
type class struct {
	code    fault.Code
	kind    metric.Failure
	passing bool
}

// classes are the classes of the service's answers ("Errors", and the status codes of gRPC). That something is not
// there is no failure of the service.
var classes = map[codes.Code]class{
	codes.OK:                 {},
	codes.NotFound:           {code: fault.NotFound},
	codes.ResourceExhausted:  {fault.RateLimited, metric.Limit, true},
	codes.Unauthenticated:    {fault.Internal, metric.Key, false},
	codes.PermissionDenied:   {fault.Internal, metric.Key, false},
	codes.InvalidArgument:    {fault.Internal, metric.Refused, false},
	codes.FailedPrecondition: {fault.Internal, metric.Refused, false},
	codes.OutOfRange:         {fault.Internal, metric.Refused, false},
	codes.Unimplemented:      {fault.Internal, metric.Refused, false},
	codes.Unavailable:        {fault.Unavailable, metric.Down, true},
	codes.DeadlineExceeded:   {fault.Unavailable, metric.Slow, true},
}

func classOf(s *status.Status) class {
	if isQuota(s) {
		return class{fault.Unavailable, metric.Quota, false}
	}
	if c, ok := classes[s.Code()]; ok {
		return c
	}
	return class{fault.Unavailable, metric.Down, false}
}

// missing reports whether the namespace does not exist.
func missing(err error) bool { return fault.Is(err, fault.NotFound) }

type cause struct {
	status *status.Status
	err    error
}

// Error names the status and the beginning of the service's message.
func (c cause) Error() string {
	message := c.status.Message()
	if short := truncate.Bytes(message, maxMessage); short != message {
		message = short + "…"
	}
	return fmt.Sprintf("pinecone answered %s: %q", c.status.Code(), message)
}

// Unwrap returns the gRPC error.
func (c cause) Unwrap() error { return c.err }

// Is reports whether the service refuses the key. It implements errors.Is's method.
func (c cause) Is(target error) bool {
	return target == fault.ErrSetup && classOf(c.status).kind == metric.Key
}

var errGeneration = errors.New("generation is negative")
