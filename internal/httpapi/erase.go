package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
)

// Eraser deletes everything that is stored about a user.
type Eraser interface {
	// Erase continues to erase the user until it is done or the deadline is reached. It may be called repeatedly.
	Erase(ctx context.Context, user conversation.UserID, until time.Time) (erasure.Receipt, error)
	// Erasure returns the receipt of the user's last erasure, or how far it is. It is NotFound when there was none.
	Erasure(ctx context.Context, user conversation.UserID) (erasure.Receipt, error)
}

const (
	// eraseWithin is how long one request erases before it answers that there is more to do.
	eraseWithin = 20 * time.Second
	// eraseRetryAfter is the Retry-After of that answer, in seconds.
	eraseRetryAfter = "1"
)

// receipt is the receipt of a complete erasure.
type receipt struct {
	ErasedAt     timestamp      `json:"erasedAt"`
	Generation   int64          `json:"generation" doc:"How often the user has been erased."`
	Counts       map[string]int `json:"counts" doc:"The deleted records by their kind."`
	Vectors      int            `json:"vectors" doc:"The deleted vectors."`
	Remaining    int            `json:"remaining" from:"-" doc:"The remaining records."`
	Left         map[string]int `json:"left,omitempty" doc:"The records in the user's partition that stay, by the part of their keys up to the first \"#\": the app's own, and under control# how often the user was erased and what counts against limits. Absent when there are too many to count."`
	Files        []string       `json:"files,omitempty" doc:"Where the app keeps the files of the deleted messages (dataRef, or else url), which the app has to delete."`
	BackupsUntil timestamp      `json:"backupsUntil" doc:"When the last backup with the data expires."`
}

// erasing is the progress of an erasure that is not complete.
type erasing struct {
	Erasing  bool            `json:"erasing" doc:"Always true: the erasure goes on."`
	Progress erasureProgress `json:"progress"`
}

type erasureProgress struct {
	Counts  map[string]int `json:"counts" doc:"The deleted records by their kind."`
	Vectors int            `json:"vectors" doc:"The deleted vectors."`
}

// registerUser serves /v1/user.
func registerUser(s *server, eraser Eraser) {
	responses := []statusResponse{
		bodyOf[receipt](http.StatusOK),
		bodyOf[erasing](http.StatusAccepted, retryAfter("The seconds to wait before the next call.")),
	}
	register(s, op("DELETE /v1/user", "eraseUser", longTermTag, "Erase the user",
		"Deletes everything that is stored about the user. If that takes more than 20 s, the answer is 202: "+
			"repeat the request until it is 200.",
	).responds(responses...), func(ctx context.Context, c Caller, _ *noInput) (*varied, error) {
		return newErasureOutput(eraser.Erase(ctx, c.User, s.Now().Add(eraseWithin)))
	})
	register(s, op("GET /v1/user/erasure", "getErasure", longTermTag, "Get the receipt of the last erasure",
		"Returns the receipt of the user's last erasure. While it goes on, the answer is 202. It goes on also when "+
			"nobody repeats the request to erase.",
	).or(http.StatusNotFound).responds(responses...), func(ctx context.Context, c Caller, _ *noInput) (*varied, error) {
		return newErasureOutput(eraser.Erasure(ctx, c.User))
	})
}

// newErasureOutput answers with the receipt, or with the progress of an erasure that is not complete.
func newErasureOutput(e erasure.Receipt, err error) (*varied, error) {
	if err != nil {
		return nil, err
	}
	if e.Counts == nil {
		e.Counts = map[string]int{}
	}
	if !e.Done {
		return &varied{
			Status: http.StatusAccepted, RetryAfter: eraseRetryAfter, Body: erasing{true, shown[erasureProgress](e)},
		}, nil
	}
	return &varied{Status: http.StatusOK, Body: shown[receipt](e)}, nil
}
