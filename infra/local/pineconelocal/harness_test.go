package pineconelocal_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/internal/testing/check"
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

// serve serves s on a listener of its own and returns the host as the client takes it.
func serve(t testing.TB, s *pineconelocal.Server, interceptors ...grpc.UnaryServerInterceptor) string {
	t.Helper()
	l := check.Got(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
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
func dial(t testing.TB, host string) *pinecone.IndexConnection {
	t.Helper()
	client := check.Got(pinecone.NewClient(pinecone.NewClientParams{ApiKey: "any"}))(t)
	conn := check.Got(client.Index(pinecone.NewIndexConnParams{Host: host}))(t)
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close the connection: %v", err)
		}
	})
	return conn
}

// connect returns a client of a new server, in the default namespace.
func connect(t testing.TB, opts pineconelocal.Options) *pinecone.IndexConnection {
	t.Helper()
	return dial(t, serve(t, build(t, opts)))
}

func object(t testing.TB, fields map[string]any) *structpb.Struct {
	t.Helper()
	return check.Got(structpb.NewStruct(fields))(t)
}

func dense(id string, values ...float32) *pinecone.Vector {
	return &pinecone.Vector{Id: id, Values: &values}
}

func hybrid(id string, values []float32, indices []uint32, sparse []float32) *pinecone.Vector {
	return &pinecone.Vector{
		Id: id, Values: &values, SparseValues: &pinecone.SparseValues{Indices: indices, Values: sparse},
	}
}

// ids returns n ids: "id-0", "id-1" and so on. They are not in the order of the index, except below eleven.
func ids(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "id-" + strconv.Itoa(i)
	}
	return out
}

// copies returns n vectors of the same values, with the ids that ids returns.
func copies(n int, values ...float32) []*pinecone.Vector {
	out := make([]*pinecone.Vector, n)
	for i, id := range ids(n) {
		out[i] = dense(id, values...)
	}
	return out
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

// fetch returns the records of those ids that exist.
func fetch(t testing.TB, conn *pinecone.IndexConnection, ids ...string) map[string]*pinecone.Vector {
	t.Helper()
	res, err := conn.FetchVectors(context.Background(), ids)
	if err != nil {
		t.Fatalf("fetch: %v", err)
	}
	return res.Vectors
}

// existing returns those ids that have a record, sorted.
func existing(t testing.TB, conn *pinecone.IndexConnection, ids ...string) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(fetch(t, conn, ids...)))
}

// query returns the ids of the matches, in their order.
func query(t testing.TB, conn *pinecone.IndexConnection, req pinecone.QueryByVectorValuesRequest) []string {
	t.Helper()
	res, err := conn.QueryByVectorValues(context.Background(), &req)
	if err != nil {
		t.Fatalf("query: %v", err)
	}
	var found []string
	for _, m := range res.Matches {
		found = append(found, m.Vector.Id)
	}
	return found
}

func stats(t testing.TB, conn *pinecone.IndexConnection) *pinecone.DescribeIndexStatsResponse {
	t.Helper()
	out, err := conn.DescribeIndexStats(context.Background())
	if err != nil {
		t.Fatalf("describe index stats: %v", err)
	}
	return out
}

// statusOf returns the code and the text of an error, as in "InvalidArgument: the text", and "OK: " without one.
func statusOf(err error) string {
	s, _ := status.FromError(err)
	return s.Code().String() + ": " + s.Message()
}

// wantStatus compares an error with a code and a text.
func wantStatus(t testing.TB, err error, want string) {
	t.Helper()
	if got := statusOf(err); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// wantInvalid compares an error with the text of an InvalidArgument, or with no error when the text is empty.
func wantInvalid(t testing.TB, err error, text string) {
	t.Helper()
	if text == "" {
		wantStatus(t, err, "OK: ")
		return
	}
	wantStatus(t, err, "InvalidArgument: "+text)
}
