package httpapi_test

import (
	"context"
	"testing"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/check"
)

// fakeEraser needs several calls to erase a user.
type fakeEraser struct {
	calls int
	needs int
	until time.Time
}

func (s *fakeEraser) Erase(ctx context.Context, user conversation.UserID, until time.Time) (erasure.Receipt, error) {
	s.calls++
	s.until = until
	return s.Erasure(ctx, user)
}

func (s *fakeEraser) Erasure(context.Context, conversation.UserID) (erasure.Receipt, error) {
	if s.calls == 0 {
		return erasure.Receipt{}, fault.Missing("erasure")
	}
	if s.calls < s.needs {
		return erasure.Receipt{Progress: erasure.Progress{Counts: map[string]int{"message": s.calls}}}, nil
	}
	return erasure.Receipt{BackupsUntil: noon().AddDate(0, 0, 35), Progress: erasure.Progress{
		Done: true, Counts: map[string]int{"message": s.calls}, Vectors: 3, ErasedAt: noon(), Generation: 2,
	}}, nil
}

func TestErase(t *testing.T) {
	t.Parallel()
	b, _ := base()
	store, eraser := newMemory(t, noon), &fakeEraser{needs: 2}
	h := httpapi.Messages(
		httpapi.MessagesDeps{
			Base: b, Sessions: store, Messages: store, LongTerm: store.records, Eraser: eraser, Tokens: fakeCounter{},
			Cursors: cursorKey(t, "1"),
		},
	)
	c := call{method: "DELETE", path: "/v1/user", user: "ann", scopes: "throughline/user"}
	last := call{method: "GET", path: "/v1/user/erasure", user: "ann", scopes: "throughline/user"}
	expect(t, h, 404, last)
	for _, more := range []reply{expect(t, h, 202, c), expect(t, h, 202, last)} {
		check.Same(t, object{
			"erasing": true, "progress": object{"counts": object{"message": number("1")}, "vectors": number("0")},
		}, decodeObject(t, more), "202")
		if more.header.Get("Retry-After") != "1" {
			t.Error("202 without Retry-After")
		}
	}
	want := object{
		"erasedAt": "2026-02-05T12:00:00.000Z", "generation": number("2"), "counts": object{"message": number("2")},
		"vectors":   number("3"),
		"remaining": number("0"), "backupsUntil": "2026-03-12T12:00:00.000Z",
	}
	check.Same(t, want, answer(t, h, 200, c), "receipt")
	check.Same(t, want, answer(t, h, 200, last), "the last receipt")
	check.Equal(t, 20*time.Second, eraser.until.Sub(noon()), "an erasing")
}
