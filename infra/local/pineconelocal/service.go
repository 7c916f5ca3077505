package pineconelocal

import (
	"context"
	"fmt"

	// Importing the client registers the descriptors and the message types that this server speaks.
	_ "github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

const serviceName = "VectorService"

// handler answers one call: it reads in and fills out. Its errors are gRPC statuses.
type handler func(ctx context.Context, in, out message) error

// handlers are the methods by name.
func (s *Server) handlers() map[string]handler {
	return map[string]handler{
		"Upsert":             s.upsert,
		"Update":             s.update,
		"Delete":             s.delete,
		"Fetch":              s.fetch,
		"FetchByMetadata":    s.fetchByMetadata,
		"List":               s.list,
		"Query":              s.query,
		"DescribeIndexStats": s.describeIndexStats,
		"CreateNamespace":    s.createNamespace,
		"DescribeNamespace":  s.describeNamespace,
		"ListNamespaces":     s.listNamespaces,
		"DeleteNamespace":    s.deleteNamespace,
	}
}

// clientMethods are the methods that the client calls.
func clientMethods() (protoreflect.MethodDescriptors, error) {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(serviceName)
	if err != nil {
		return nil, fmt.Errorf("find the client's %s: %w", serviceName, err)
	}
	return d.(protoreflect.ServiceDescriptor).Methods(), nil
}

// describe builds the gRPC service out of the descriptors that the client registered. It fails when the client knows
// a method that has no handler: a new client version then shows at start, not as a puzzling answer.
func describe(handlers map[string]handler) (*grpc.ServiceDesc, error) {
	methods, err := clientMethods()
	if err != nil {
		return nil, err
	}
	desc := &grpc.ServiceDesc{ServiceName: serviceName}
	for i := range methods.Len() {
		m := methods.Get(i)
		h, ok := handlers[string(m.Name())]
		if !ok {
			return nil, fmt.Errorf("the client's method %s is not served", m.FullName())
		}
		desc.Methods = append(desc.Methods, unary(m, h))
	}
	return desc, nil
}

// unary adapts h to what generated code would register.
func unary(m protoreflect.MethodDescriptor, h handler) grpc.MethodDesc {
	info := &grpc.UnaryServerInfo{FullMethod: "/" + serviceName + "/" + string(m.Name())}
	run := func(ctx context.Context, req any) (any, error) {
		in, out := req.(proto.Message), newMessage(m.Output().FullName())
		if err := checkReceived(proto.Size(in)); err != nil {
			return nil, err
		}
		if err := h(ctx, message{in.ProtoReflect()}, out); err != nil {
			return nil, err
		}
		return out.Interface(), nil
	}
	call := func(_ any, ctx context.Context, decode func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
		in := newMessage(m.Input().FullName()).Interface()
		if err := decode(in); err != nil {
			return nil, err
		}
		if around == nil {
			return run(ctx, in)
		}
		return around(ctx, in, info, run)
	}
	return grpc.MethodDesc{MethodName: string(m.Name()), Handler: call}
}

// RequireKey is an interceptor for [Server.Serve] that answers Unauthenticated to calls without an API key; any key
// will do. It is not the rule of every listener, because the client library's own suite for local servers sends no key.
func RequireKey(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	for _, key := range metadata.ValueFromIncomingContext(ctx, "api-key") {
		if key != "" {
			return next(ctx, req)
		}
	}
	return nil, status.Error(codes.Unauthenticated, "Unauthorized: the call has no API key")
}
