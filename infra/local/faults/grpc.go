package faults

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// pineconeFailures are the service's errors when it is broken, overloaded, and throttled, in turn.
var pineconeFailures = []error{
	status.Error(codes.Internal, "internal error"),
	status.Error(codes.Unavailable, "service unavailable"),
	status.Error(codes.ResourceExhausted, "too many requests"),
}

// Interceptor puts the door before a gRPC service. A dropped answer looks to the client like a lost connection.
func (d *Door) Interceptor() grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		decided := d.decide()
		if err := decided.wait(ctx); err != nil {
			return nil, status.FromContextError(err).Err()
		}
		if decided.fail {
			return nil, pineconeFailures[decided.kind%len(pineconeFailures)]
		}
		answer, err := handler(ctx, req)
		if decided.drop {
			return nil, status.Error(codes.Unavailable, "error reading from server: EOF")
		}
		return answer, err
	}
}
