package pinecone_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/pineconetest"
	"github.com/throughline/throughline/internal/vector"
)

// limited is an index that refuses upserts with a message while it is full, and counts its calls.
type limited struct {
	message string
	allowed string // the namespace that it never refuses
	full    atomic.Bool
	calls   atomic.Int32
}

func (l *limited) intercept(
	ctx context.Context, r any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	l.calls.Add(1)
	namespace := r.(interface{ GetNamespace() string }).GetNamespace()
	if info.FullMethod == "/VectorService/Upsert" && l.full.Load() && namespace != l.allowed {
		return nil, status.Error(codes.PermissionDenied, l.message)
	}
	return next(ctx, r)
}

func wantRoom(t *testing.T, c *pinecone.Index, user conversation.UserID, want bool) {
	t.Helper()
	if err := c.Room(t.Context(), user, 0); errors.Is(err, vector.ErrQuota) == want || want && err != nil {
		t.Errorf("room for %s: %v, want room: %v", user, err, want)
	}
}

func TestRoomIsKnownAfterARefusal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		message string
		allowed string
	}{
		"namespaces": {"Request failed. You've reached the max namespaces allowed in serverless index x.", "anna"},
		"storage":    {"Request failed. You've reached the max storage allowed for project x.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &limited{message: test.message, allowed: test.allowed}
			c := pineconetest.Client(t, 2, l.intercept)
			now := time.Now()
			c.SetClock(func() time.Time { return now })
			upsert(t, c, "anna", 0, record("m1", 1, 0))
			wantRoom(t, c, "bela", true)
			check.Equal(t, 1, l.calls.Load(), "calls, want the upsert: room costs none before a refusal")
			l.full.Store(true)
			m1 := []vector.Record{record("m1", 1, 0)}
			if err := c.Upsert(t.Context(), "bela", 0, m1); !errors.Is(err, vector.ErrQuota) {
				t.Fatal(err)
			}
			wantRoom(t, c, "bela", false)
			wantRoom(t, c, "cleo", false)
			wantRoom(t, c, "anna", test.allowed != "") // who has a namespace already
			now = now.Add(6 * time.Minute)
			wantRoom(t, c, "bela", true)
			l.full.Store(false)
			upsert(t, c, "bela", 0, record("m1", 1, 0))
		})
	}
}
