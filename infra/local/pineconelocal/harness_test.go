package pineconelocal_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

// build makes a server that is closed when the test ends.
func build(t testing.TB, opts pineconelocal.Options) *pineconelocal.Server {
	t.Helper()
	s, err := pineconelocal.New(opts)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// serve opens a door to s and returns its address as the client wants it.
func serve(t testing.TB, s *pineconelocal.Server, interceptors ...grpc.UnaryServerInterceptor) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l, interceptors...) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// dial connects the real client to a host.
func dial(t testing.TB, host, namespace string) *pinecone.IndexConnection {
	t.Helper()
	client, err := pinecone.NewClient(pinecone.NewClientParams{ApiKey: "any"})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := client.Index(pinecone.NewIndexConnParams{Host: host, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close the connection: %v", err)
		}
	})
	return conn
}

// connect is a client of a new server, in the default namespace.
func connect(t testing.TB, opts pineconelocal.Options) *pinecone.IndexConnection {
	t.Helper()
	return dial(t, serve(t, build(t, opts)), "")
}

func object(t testing.TB, fields map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func vector(id string, values ...float32) *pinecone.Vector {
	return &pinecone.Vector{Id: id, Values: &values}
}

func upsert(t testing.TB, conn *pinecone.IndexConnection, vectors ...*pinecone.Vector) {
	t.Helper()
	n, err := conn.UpsertVectors(context.Background(), vectors)
	if err != nil {
		t.Fatalf("upsert: %v", err)
	}
	if int(n) != len(vectors) {
		t.Fatalf("upserted %d vectors, want %d", n, len(vectors))
	}
}

// fetched are the records of those of the ids that exist.
func fetched(t testing.TB, conn *pinecone.IndexConnection, ids ...string) map[string]*pinecone.Vector {
	t.Helper()
	res, err := conn.FetchVectors(context.Background(), ids)
	if err != nil {
		t.Fatalf("fetch: %v", err)
	}
	return res.Vectors
}

// existing are those of the ids that have a record, sorted.
func existing(t testing.TB, conn *pinecone.IndexConnection, ids ...string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(fetched(t, conn, ids...)))
}

// matches are the ids that a query answers, in order.
func matches(t testing.TB, conn *pinecone.IndexConnection, req pinecone.QueryByVectorValuesRequest) []string {
	t.Helper()
	res, err := conn.QueryByVectorValues(context.Background(), &req)
	if err != nil {
		t.Fatalf("query: %v", err)
	}
	return matchIDs(res)
}

func matchIDs(res *pinecone.QueryVectorsResponse) []string {
	var ids []string
	for _, m := range res.Matches {
		ids = append(ids, m.Vector.Id)
	}
	return ids
}

// refusal is the code and the text of a failed call, as in "InvalidArgument: the text".
func refusal(err error) string {
	s, _ := status.FromError(err)
	return s.Code().String() + ": " + s.Message()
}
