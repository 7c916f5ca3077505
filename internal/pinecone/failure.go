package pinecone

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/internal/fault"
)

// throttled is how long to wait where the service says that it is asked too much; it gives no advice of its own.
const throttled = time.Second

// maxMessage cuts the service's message, which may quote a value.
const maxMessage = 200

// failure gives a gRPC error its code: NotFound, RateLimited and Unavailable as they are, Internal for what people
// have to mend.
func failure(op string, err error) error {
	if err == nil {
		return nil
	}
	s := status.Convert(err)
	out := fault.Wrap(codeOf(s.Code()), op, cause{s, err})
	if out.Code == fault.RateLimited {
		out.RetryAfter = throttled
	}
	return out
}

func codeOf(c codes.Code) fault.Code {
	switch c {
	case codes.NotFound:
		return fault.NotFound
	case codes.ResourceExhausted:
		return fault.RateLimited
	case codes.InvalidArgument, codes.OutOfRange, codes.FailedPrecondition, codes.Unimplemented,
		codes.Unauthenticated, codes.PermissionDenied:
		return fault.Internal
	}
	return fault.Unavailable
}

// missing reports whether the namespace, and with it everything that was asked for, is not there.
func missing(err error) bool { return fault.Is(err, fault.NotFound) }

type cause struct {
	status *status.Status
	err    error
}

// Error names the status and the beginning of the service's message.
func (c cause) Error() string {
	message := c.status.Message()
	if len(message) > maxMessage {
		message = message[:maxMessage] + "…"
	}
	return fmt.Sprintf("pinecone answered %s: %q", c.status.Code(), message)
}

// Unwrap returns the error as it came.
func (c cause) Unwrap() error { return c.err }

// unsupported is an error of our own: a value that the service cannot keep.
func unsupported(op, field string, value any) error {
	return fault.Wrap(fault.Internal, op, fmt.Errorf("field %s has a value of type %T", field, value))
}

var errGeneration = errors.New("generation is negative")
