package pineconelocal_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/infra/local/pineconelocal"
)

// clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestLag(t *testing.T) {
	c := &clock{now: time.Unix(1_000, 0)}
	conn := connect(t, pineconelocal.Options{Lag: time.Minute, Clock: c.Now})
	query := pinecone.QueryByVectorValuesRequest{Vector: []float32{1}, TopK: 10}

	upsert(t, conn, vector("a", 1))
	c.move(30 * time.Second)
	upsert(t, conn, vector("b", 1))
	if err := conn.UpdateVector(t.Context(), &pinecone.UpdateVectorRequest{Id: "a", Values: []float32{9}}); err != nil {
		t.Errorf("a write must see the writes before it: %v", err)
	}
	c.move(29 * time.Second)
	if got := matches(t, conn, query); got != nil {
		t.Errorf("after 59 s: %v", got)
	}
	if stats := describe(t, conn); stats.TotalVectorCount != 0 {
		t.Errorf("after 59 s: %+v", stats)
	}
	c.move(time.Second)
	if diff := cmp.Diff([]string{"a"}, matches(t, conn, query)); diff != "" {
		t.Errorf("after 60 s (-want +got):\n%s", diff)
	}
	if got := *fetched(t, conn, "a")["a"].Values; got[0] != 1 {
		t.Errorf("the update shows too early: %v", got)
	}
	c.move(30 * time.Second)
	if diff := cmp.Diff([]string{"a", "b"}, existing(t, conn, "a", "b")); diff != "" {
		t.Errorf("after 90 s (-want +got):\n%s", diff)
	}
	if got := *fetched(t, conn, "a")["a"].Values; got[0] != 9 {
		t.Errorf("the update does not show: %v", got)
	}
	if err := conn.DeleteNamespace(t.Context(), "__default__"); err != nil {
		t.Fatal(err)
	}
	if got := existing(t, conn, "a", "b"); len(got) != 2 {
		t.Errorf("the deletion shows at once: %v", got)
	}
	if err := conn.DeleteAllVectorsInNamespace(t.Context()); status.Code(err) != codes.NotFound {
		t.Errorf("a write must see the deletion: %v", err)
	}
	c.move(time.Minute)
	if got := existing(t, conn, "a", "b"); got != nil {
		t.Errorf("a minute after the deletion: %v", got)
	}
}
