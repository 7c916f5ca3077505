package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
)

// Eraser deletes everything held about a user (design 4.7).
type Eraser interface {
	// Erase goes on with erasing the user until it is done or the time has come. It may be called again and again.
	Erase(ctx context.Context, user conversation.UserID, until time.Time) (erasure.Receipt, error)
}

const (
	// eraseWithin is how long one call erases before it answers that there is more to do (api 3).
	eraseWithin = 20 * time.Second
	// eraseAgain is when to call again.
	eraseAgain = "1"
)

// receipt shows that an erasing is complete.
type receipt struct {
	ErasedAt     stamp          `json:"erasedAt"`
	Generation   int64          `json:"generation" doc:"How often the user has been erased."`
	Counts       map[string]int `json:"counts" doc:"The deleted records by their kind."`
	Vectors      int            `json:"vectors" doc:"The deleted vectors."`
	Remaining    int            `json:"remaining" doc:"What is left: nothing."`
	BackupsUntil stamp          `json:"backupsUntil" doc:"Until when backups hold the data."`
}

// erasing says that there is more to erase.
type erasing struct {
	Erasing  bool        `json:"erasing"`
	Progress erasedSoFar `json:"progress"`
}

type erasedSoFar struct {
	Counts  map[string]int `json:"counts" doc:"The deleted records by their kind."`
	Vectors int            `json:"vectors" doc:"The deleted vectors."`
}

type erasureOutput struct {
	Status     int
	RetryAfter string `header:"Retry-After" hidden:"true"`
	Body       any
}

// users serves /v1/user.
type users struct {
	*server
	eraser Eraser
}

func (s users) register() {
	register(s.server, operation{
		method: http.MethodDelete, path: "/v1/user", id: "eraseUser", tag: recordTag, summary: "Erase the user",
		detail: "Deletes everything held about the user. A receipt comes when that is done within 20 s; otherwise 202: repeat until 200.",
		answers: []answerOf{
			{status: http.StatusOK, body: typeOf[receipt]()},
			{http.StatusAccepted, typeOf[erasing](), retryHeader("After how many seconds to call again.")},
		},
	}, s.erase)
}

func (s users) erase(ctx context.Context, c Caller, _ *nothing) (*erasureOutput, error) {
	e, err := s.eraser.Erase(ctx, c.User, s.now().Add(eraseWithin))
	if err != nil {
		return nil, err
	}
	if e.Counts == nil {
		e.Counts = map[string]int{}
	}
	if !e.Done {
		return &erasureOutput{
			Status: http.StatusAccepted, RetryAfter: eraseAgain, Body: erasing{true, erasedSoFar{e.Counts, e.Vectors}},
		}, nil
	}
	return &erasureOutput{Status: http.StatusOK, Body: receipt{
		ErasedAt: stamp(e.ErasedAt), Generation: e.Generation, Counts: e.Counts, Vectors: e.Vectors,
		BackupsUntil: stamp(e.BackupsUntil),
	}}, nil
}
