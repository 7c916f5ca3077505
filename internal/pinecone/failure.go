package pinecone

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/internal/fault"
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
	out := fault.Wrap(codeOf(s.Code()), op, cause{s, err})
	if out.Code == fault.RateLimited {
		out.RetryAfter = throttleDelay
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

var errGeneration = errors.New("generation is negative")
