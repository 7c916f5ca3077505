// Package pineconelocal is a Pinecone data plane for the local stack. It serves, in plaintext gRPC, the methods of the
// go-pinecone client that Throughline and its tests call, with the service's limits, error codes and filter language.
// Other methods and fields are answered with Unimplemented.
//
// It behaves as a serverless index with the metric dotproduct does, with two differences: scores are exact, because a
// query compares every record, and a write is visible at once. Equal scores are ordered by id.
package pineconelocal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	// Importing the client registers the descriptors and the message types that this server uses.
	_ "github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

const serviceName = "VectorService"

// Options describe the index that a [Server] holds. The zero value is an index in memory that takes its dimension from
// the first upsert.
type Options struct {
	// Dimension of the dense vectors; 0 takes that of the first vector upserted.
	Dimension int
	// DataDir, if set, is an existing folder where the index is kept between runs, in a bbolt database. A write that
	// was answered survives a crash of the process and of the machine. Only one Server can use a folder at a time.
	DataDir string
	// MaxNamespaces is how many namespaces the index's plan allows; 0 is no limit.
	MaxNamespaces int
}

// Server is one index, served on any number of listeners. It may be used concurrently.
type Server struct {
	index         *index
	maxNamespaces int
	desc          *grpc.ServiceDesc

	mu     sync.Mutex
	grpcs  []*grpc.Server
	closed bool
}

// New builds a server and loads what an earlier run left in DataDir. It fails on a dimension that no index can have, on
// a folder that can't be used, and on data of another dimension.
func New(opts Options) (*Server, error) {
	if opts.Dimension < 0 || opts.Dimension > maxDimension {
		return nil, fmt.Errorf("dimension %d is not between 0 and %d", opts.Dimension, maxDimension)
	}
	empty := &index{dimension: opts.Dimension, namespaces: map[string]*namespace{}}
	s := &Server{index: empty, maxNamespaces: opts.MaxNamespaces}
	var err error
	if s.desc, err = serviceDesc(s.handlers()); err != nil {
		return nil, err
	}
	if opts.DataDir == "" {
		return s, nil
	}
	if err := s.index.open(opts.DataDir); err != nil {
		return nil, fmt.Errorf("open the index in %s: %w", opts.DataDir, err)
	}
	return s, nil
}

// Serve answers on l until Close, and then returns nil. The interceptors, if any, see each call of this listener, the
// first of them first. API keys are not checked. Serve closes l, and returns [net.ErrClosed] when the server is closed
// already.
func (s *Server) Serve(l net.Listener, interceptors ...grpc.UnaryServerInterceptor) error {
	g := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxReceived),
		grpc.WaitForHandlers(true), // they write to the database
		grpc.ChainUnaryInterceptor(interceptors...),
	)
	g.RegisterService(s.desc, nil)
	if !s.add(g) {
		return errors.Join(net.ErrClosed, l.Close())
	}
	if err := g.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil // Close came first
}

// add makes Close stop g. It returns false when the server is closed already.
func (s *Server) add(g *grpc.Server) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.grpcs = append(s.grpcs, g)
	return true
}

// Close ends every Serve, cancels the calls in progress and waits for them, and closes the database. Later calls do
// nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	for _, g := range s.grpcs {
		g.Stop()
	}
	return s.index.close()
}

// handler answers one call: it reads in and fills out. Its errors are gRPC statuses.
type handler func(in, out message) error

// inNamespace checks the name of a call's namespace, which may be the default one without a name.
func inNamespace(h handler) handler {
	return func(in, out message) error {
		if err := checkNamespace(in.string("namespace")); err != nil {
			return err
		}
		return h(in, out)
	}
}

// handlers returns the served methods by name.
func (s *Server) handlers() map[string]handler {
	return map[string]handler{
		"Upsert":             inNamespace(s.upsert),
		"Delete":             inNamespace(s.delete),
		"Fetch":              inNamespace(s.fetch),
		"List":               inNamespace(s.list),
		"Query":              inNamespace(s.query),
		"DescribeIndexStats": s.describeIndexStats,
		"DescribeNamespace":  s.describeNamespace,
		"DeleteNamespace":    s.deleteNamespace,
	}
}

// serviceDesc builds the gRPC service from the descriptors that the client registered. It fails when the client has no
// method of a handler's name, so that an incompatible client version shows at the start.
func serviceDesc(handlers map[string]handler) (*grpc.ServiceDesc, error) {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(serviceName)
	if err != nil {
		return nil, fmt.Errorf("find the client's %s: %w", serviceName, err)
	}
	methods := d.(protoreflect.ServiceDescriptor).Methods()
	desc := &grpc.ServiceDesc{ServiceName: serviceName}
	for name, h := range handlers {
		m := methods.ByName(protoreflect.Name(name))
		if m == nil {
			return nil, fmt.Errorf("the client has no method %s.%s", serviceName, name)
		}
		desc.Methods = append(desc.Methods, methodDesc(m, h))
	}
	return desc, nil
}

// methodDesc adapts h to what generated code would register.
func methodDesc(m protoreflect.MethodDescriptor, h handler) grpc.MethodDesc {
	info := &grpc.UnaryServerInfo{FullMethod: "/" + serviceName + "/" + string(m.Name())}
	run := func(_ context.Context, req any) (any, error) {
		in, out := req.(proto.Message), newMessage(m.Output().FullName())
		if err := checkReceived(proto.Size(in)); err != nil {
			return nil, err
		}
		if err := h(message{in.ProtoReflect()}, out); err != nil {
			return nil, err
		}
		return out.Interface(), nil
	}
	call := func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		in := newMessage(m.Input().FullName()).Interface()
		if err := decode(in); err != nil {
			return nil, err
		}
		if intercept == nil {
			return run(ctx, in)
		}
		return intercept(ctx, in, info, run)
	}
	return grpc.MethodDesc{MethodName: string(m.Name()), Handler: call}
}
