// Package pineconelocal is a Pinecone data plane for the local stack. It serves, in plaintext gRPC, the methods of the
// go-pinecone client that Throughline and its tests call, with the service's limits, error codes and filter language.
// Other methods are answered with Unimplemented.
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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
	// DataDir, if set, is an existing folder where the index keeps its writes between runs. A write that was answered
	// survives a crash of the process. Only one Server can use a folder at a time.
	DataDir string
	// MaxNamespaces is how many namespaces the index's plan allows; 0 is no limit.
	MaxNamespaces int
}

// Server is one index, served on any number of listeners. It may be used concurrently.
type Server struct {
	index   *index
	journal *journal // nil when the index is only in memory
	desc    *grpc.ServiceDesc
	calls   sync.RWMutex // locked by a call that writes, and read-locked by the others

	mu     sync.Mutex
	grpcs  []*grpc.Server
	closed bool
}

// New builds a server and repeats what earlier runs wrote in DataDir. It fails on a folder that can't be used, and on
// writes that the index would refuse, as those of another dimension.
func New(opts Options) (*Server, error) {
	x := &index{dimension: opts.Dimension, maxNamespaces: opts.MaxNamespaces, namespaces: map[string]*namespace{}}
	s := &Server{index: x}
	methods, err := s.describe()
	if err != nil || opts.DataDir == "" {
		return s, err
	}
	if s.journal, err = openJournal(opts.DataDir, func(in message) error {
		m, ok := methods[in.Descriptor().FullName()]
		if !ok {
			return fmt.Errorf("no method takes a %s", in.Descriptor().FullName())
		}
		return m.handle(x, in, newMessage(m.output))
	}); err != nil {
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
		grpc.WaitForHandlers(true), // they write to the journal
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

// Close ends every Serve, cancels the calls in progress and waits for them, and closes the journal. Later calls do
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
	if s.journal == nil {
		return nil
	}
	return s.journal.Close()
}

// method answers one kind of call: it reads in and fills out. Its errors are gRPC statuses.
type method struct {
	handle func(x *index, in, out message) error
	writes bool
	output protoreflect.FullName
}

// describe builds the gRPC service from the descriptors that the client registered, and returns its methods by the
// names of their requests. It fails when the client has no method of a name, so that an incompatible version of the
// client shows at the start.
func (s *Server) describe() (byRequest map[protoreflect.FullName]method, err error) {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(serviceName)
	if err != nil {
		return nil, fmt.Errorf("find the client's %s: %w", serviceName, err)
	}
	s.desc, byRequest = &grpc.ServiceDesc{ServiceName: serviceName}, map[protoreflect.FullName]method{}
	for name, m := range map[protoreflect.Name]method{
		"Upsert":             {handle: (*index).upsert, writes: true},
		"Delete":             {handle: (*index).delete, writes: true},
		"DeleteNamespace":    {handle: (*index).deleteNamespace, writes: true},
		"Fetch":              {handle: (*index).fetch},
		"List":               {handle: (*index).list},
		"Query":              {handle: (*index).query},
		"DescribeIndexStats": {handle: (*index).describeIndexStats},
		"DescribeNamespace":  {handle: (*index).describeNamespace},
	} {
		of := d.(protoreflect.ServiceDescriptor).Methods().ByName(name)
		if of == nil {
			return nil, fmt.Errorf("the client has no method %s.%s", serviceName, name)
		}
		m.output = of.Output().FullName()
		byRequest[of.Input().FullName()] = m
		s.desc.Methods = append(s.desc.Methods, s.adapt(m, string(name), of.Input().FullName()))
	}
	return byRequest, nil
}

// adapt makes of a method what generated code would register.
func (s *Server) adapt(m method, name string, input protoreflect.FullName) grpc.MethodDesc {
	info := &grpc.UnaryServerInfo{FullMethod: "/" + serviceName + "/" + name}
	run := func(_ context.Context, request any) (any, error) {
		in, out := message{request.(proto.Message).ProtoReflect()}, newMessage(m.output)
		return out.Interface(), s.call(m, in, out)
	}
	call := func(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
		in := newMessage(input).Interface()
		if err := decode(in); err != nil {
			return nil, err
		}
		if intercept == nil {
			return run(ctx, in)
		}
		return intercept(ctx, in, info, run)
	}
	return grpc.MethodDesc{MethodName: name, Handler: call}
}

// call makes a call, alone where it writes. It refuses a request that is too large for any method, as the service's
// transport does.
func (s *Server) call(m method, in, out message) error {
	if size := proto.Size(in.Interface()); size > maxRequestBytes {
		return status.Errorf(codes.OutOfRange,
			"Error, message length too large: found %d bytes, the limit is: %d bytes", size, maxRequestBytes)
	}
	if !m.writes {
		s.calls.RLock()
		defer s.calls.RUnlock()
		return m.handle(s.index, in, out)
	}
	s.calls.Lock()
	defer s.calls.Unlock()
	if err := m.handle(s.index, in, out); err != nil || s.journal == nil {
		return err
	}
	if err := s.journal.add(in); err != nil {
		return status.Errorf(codes.Unavailable, "keep the write: %v", err)
	}
	return nil
}
