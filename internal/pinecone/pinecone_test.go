package pinecone_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/pineconetest"
	"github.com/throughline/throughline/internal/vector"
)

func record(id string, dense ...float32) vector.Record {
	return vector.Record{ID: id, Dense: dense, Metadata: map[string]any{"recordType": "message"}}
}

func ids(matches []vector.Match) []string {
	out := make([]string, len(matches))
	for i, m := range matches {
		out[i] = m.ID
	}
	return out
}

var east = vector.Query{Dense: []float32{1, 0}, TopK: 10}

func query(t *testing.T, c *pinecone.Index, user conversation.UserID, generation int64, q vector.Query) []string {
	t.Helper()
	matches := check.Got(c.Query(t.Context(), user, generation, q))(t)
	return ids(matches)
}

func upsert(t *testing.T, c *pinecone.Index, user conversation.UserID, generation int64, records ...vector.Record) {
	t.Helper()
	check.OK(t, c.Upsert(t.Context(), user, generation, records))
}

// TestMatchesBringFields asks for fields. Where 400 matches with their metadata pass the 4 MB of an answer, it gets
// those of fewer matches.
func TestMatchesBringFields(t *testing.T) {
	t.Parallel()
	c := pineconetest.Client(t, 2)
	many := make([]vector.Record, 400)
	for i := range many {
		many[i] = record(fmt.Sprint("m", i), 1, 0)
		many[i].Metadata["text"], many[i].Metadata["other"] = "short", strings.Repeat("x", 15<<10)
	}
	upsert(t, c, "anna", 0, many[:200]...)
	for _, n := range []int{200, 100} {
		matches, err := c.Query(t.Context(), "anna", 0,
			vector.Query{Dense: []float32{1, 0}, TopK: 400, Fields: []string{"text", "none"}})
		if err != nil || len(matches) != n {
			t.Fatalf("%d matches, %v, want %d", len(matches), err, n)
		}
		check.Same(t, map[string]any{"text": "short"}, matches[0].Metadata, "metadata")
		upsert(t, c, "anna", 0, many[200:]...)
	}
}

func TestIDsThatTheServiceRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 600)
	for _, user := range []conversation.UserID{"anna", "änna"} {
		c := pineconetest.Client(t, 2)
		want := []string{"a", "msg_änna_1", "~a", long}
		for i, id := range want {
			upsert(t, c, user, 0, record(id, 1, float32(-i)/10))
		}
		upsert(t, c, user, 0, record("far", -1, 0))
		q := vector.Query{Dense: []float32{1, 1}, TopK: 4}
		check.Same(t, want, query(t, c, user, 0, q), "%s: ids", user)
		check.OK(t, c.Delete(t.Context(), user, 0, []string{"~a", long, "msg_änna_1", "not there"}))
		check.Same(t, []string{"a", "far"}, query(t, c, user, 0, q), "%s: after delete", user)
	}
}

func TestUpsertKeepsTheServiceLimits(t *testing.T) {
	t.Parallel()
	for name, textLength := range map[string]int{"by count": 1, "by size": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := pineconetest.Client(t, 2)
			records := make([]vector.Record, 2500)
			for i := range records {
				records[i] = record(fmt.Sprintf("m%04d", i), 1, 0)
				records[i].Metadata["text"] = strings.Repeat("é", textLength)
				records[i].Sparse = vector.Encode(fmt.Sprintf("word%d", i))
			}
			upsert(t, c, "anna", 0, records...)
			all := make([]string, len(records))
			for i := range all {
				all[i] = records[i].ID
			}
			check.OK(t, c.Delete(t.Context(), "anna", 0, all[:2400]))
			held, err := c.Drop(t.Context(), "anna", 0)
			if err != nil || held != 100 {
				t.Errorf("the namespace held %d (%v), want 100", held, err)
			}
		})
	}
}

func TestDropAndDeleteOfNothing(t *testing.T) {
	t.Parallel()
	c := pineconetest.Client(t, 2)
	if held, err := c.Drop(t.Context(), "anna", 7); held != 0 || err != nil {
		t.Errorf("drop: %d, %v", held, err)
	}
	if err := c.Delete(t.Context(), "anna", 7, []string{"m1"}); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := c.Delete(t.Context(), "anna", 7, nil); err != nil {
		t.Errorf("delete of no ids: %v", err)
	}
	if err := c.Upsert(t.Context(), "anna", 7, nil); err != nil {
		t.Errorf("upsert of no records: %v", err)
	}
}

func TestErrorsHaveCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[codes.Code]struct {
		code     fault.Code
		attempts int32
	}{
		codes.Unavailable:       {fault.Unavailable, 3},
		codes.ResourceExhausted: {fault.RateLimited, 3},
		codes.DeadlineExceeded:  {fault.Unavailable, 3},
		codes.Internal:          {fault.Unavailable, 1},
		codes.Unauthenticated:   {fault.Internal, 1},
		codes.InvalidArgument:   {fault.Internal, 1},
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			var attempts atomic.Int32
			c := pineconetest.Client(t, 2, func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
				attempts.Add(1)
				return nil, status.Error(code, "x"+strings.Repeat("é", 300))
			})
			_, err := c.Query(t.Context(), "anna", 0, east)
			if fault.CodeOf(err) != want.code || attempts.Load() != want.attempts {
				t.Errorf("error %v after %d attempts, want %s after %d", err, attempts.Load(), want.code, want.attempts)
			}
			if errors.Is(err, fault.ErrSetup) != (code == codes.Unauthenticated) {
				t.Errorf("the key is at fault: %v", err)
			}
			if len(err.Error()) > 400 {
				t.Errorf("the service's message was not shortened: %d bytes", len(err.Error()))
			}
			if after := fault.From(err).RetryAfter; (after > 0) != (want.code == fault.RateLimited) {
				t.Errorf("retry after %s, want a delay only when throttled", after)
			}
			if text := err.Error(); !strings.Contains(text, "xéé") || !strings.Contains(text, `é…"`) {
				t.Errorf("the service's message was not shortened between two characters: %s", text)
			}
		})
	}
}

// TestPlanLimitsAreDistinguished has the messages of "Pinecone Database limits".
func TestPlanLimitsAreDistinguished(t *testing.T) {
	t.Parallel()
	const namespaces = "Request failed. You've reached the max namespaces allowed in serverless index x. " +
		"To add more namespaces, upgrade your plan."
	for message, want := range map[string]struct {
		code  codes.Code
		quota bool
	}{
		namespaces:       {codes.PermissionDenied, true},
		namespaces + " ": {codes.ResourceExhausted, true},
		"Request failed. You've reached the max storage allowed for project x. To update or upsert new data, delete " +
			"records or upgrade your plan.": {codes.PermissionDenied, true},
		"Request failed. You've reached your write unit limit for the current month (2000000). To continue writing data, " +
			"upgrade your plan.": {codes.ResourceExhausted, true},
		"Request failed. You've reached the max upsert size limit per second for namespace x. Pace your upserts or " +
			"contact Pinecone Support to request a higher limit.": {codes.ResourceExhausted, false},
		"forbidden":      {codes.PermissionDenied, false},
		namespaces + "x": {codes.Internal, false},
	} {
		var attempts atomic.Int32
		c := pineconetest.Client(t, 2, func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
			attempts.Add(1)
			return nil, status.Error(want.code, message)
		})
		err := c.Upsert(t.Context(), "anna", 0, []vector.Record{record("m", 1, 0)})
		if errors.Is(err, vector.ErrQuota) != want.quota {
			t.Errorf("%s, %q: error %v", want.code, message, err)
		}
		if want.quota && (fault.CodeOf(err) != fault.Unavailable || attempts.Load() != 1) {
			t.Errorf("%q: code %s after %d attempts", message, fault.CodeOf(err), attempts.Load())
		}
	}
}

func TestUpsertIsRetried(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	firstFails := func(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if attempts.Add(1) == 1 {
			return nil, status.Error(codes.Unavailable, "busy")
		}
		return next(ctx, r)
	}
	c := pineconetest.Client(t, 2, firstFails)
	large := record("m1", 1, 0)
	large.Metadata["text"] = strings.Repeat("x", 30_000)
	records := make([]vector.Record, 60)
	for i := range records {
		records[i] = large
		records[i].ID = fmt.Sprintf("m%d", i)
	}
	upsert(t, c, "anna", 0, records...)
	check.Equal(t, 2, attempts.Load(), "attempts, want 2")
}

func TestInvalidValuesAreInternalErrors(t *testing.T) {
	t.Parallel()
	c := pineconetest.Client(t, 2)
	odd := record("m1", 1, 0)
	odd.Metadata["seq"] = []int{7}
	check.Fault(t, c.Upsert(t.Context(), "anna", 0, []vector.Record{odd}), fault.Internal,
		"a field of a type that the service does not have")
	check.Fault(t, check.ErrorOf(c.Query(t.Context(), "anna", -1, east)), fault.Internal, "a negative generation")
	for _, host := range []string{"", "http://", "ftp://index", "http://a b", "http://index/path", "::"} {
		if _, err := pinecone.New(host, "any", 0); err == nil {
			t.Errorf("host %q was accepted", host)
		}
	}
}
