package pinecone

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// isQuota reports whether the service refused a call because of a limit of the plan. The service answers 403
// QUOTA_EXCEEDED, and for the limits of a month 429. The status alone does not tell these from a forbidden key and from
// throttling, but the documented messages do: "You've reached the max namespaces allowed in serverless index …", "the
// max storage allowed for project …", "your write unit limit for the current month …" ("Pinecone Database limits").
func isQuota(s *status.Status) bool {
	switch s.Code() {
	case codes.PermissionDenied, codes.ResourceExhausted, codes.FailedPrecondition:
	default:
		return false
	}
	message := strings.ToLower(s.Message())
	_, rest, isMax := strings.Cut(message, "reached the max ")
	return isMax && strings.Contains(rest, " allowed ") || strings.Contains(message, "for the current month") ||
		strings.Contains(message, "quota_exceeded")
}

// errNamespaces is the quota of an index's namespaces: only vectors in a further namespace are refused.
var errNamespaces = fmt.Errorf("%w: no further namespace", vector.ErrQuota)

// quotaOf returns the error of the quota that a refusal is about.
func quotaOf(s *status.Status) error {
	if strings.Contains(s.Message(), "namespaces allowed") {
		return errNamespaces
	}
	return vector.ErrQuota
}

// fullFor is how long an index counts as full after it has refused vectors for a quota.
const fullFor = 5 * time.Minute

// refusals knows whether an index has lately refused vectors for a quota. It is safe for concurrent use.
type refusals struct {
	now   func() time.Time
	mu    sync.Mutex
	at    time.Time
	quota error
}

// note takes the outcome of an upsert.
func (r *refusals) note(err error) {
	quota := vector.ErrQuota
	switch {
	case errors.Is(err, errNamespaces):
		quota = errNamespaces
	case !errors.Is(err, vector.ErrQuota):
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at, r.quota = r.now(), quota
}

// last returns the quota for which the index has lately refused vectors, or nil.
func (r *refusals) last() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now().Sub(r.at) > fullFor {
		return nil
	}
	return r.quota
}

// Room returns an error with vector.ErrQuota in its chain when the index has lately refused vectors for a quota that
// the user's next ones would reach, too: where namespaces are what the plan limits, users who have one go on. It asks
// the service only after a refusal for namespaces.
func (x *Index) Room(ctx context.Context, user conversation.UserID, generation int64) error {
	quota := x.refused.last()
	if quota == nil {
		return nil
	}
	s, err := x.space(user, generation)
	if err != nil {
		return err
	}
	if errors.Is(quota, errNamespaces) {
		_, err := s.index.DescribeNamespace(ctx, s.namespace)
		if !missing(failure("describe namespace", err)) {
			return nil
		}
	}
	return fault.Wrap(fault.Unavailable, "find room for vectors", quota)
}
