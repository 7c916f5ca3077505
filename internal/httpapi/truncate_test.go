package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

// fakeCutter deletes one message of any session.
type fakeCutter struct{}

var _ httpapi.SessionCutter = fakeCutter{}

func (fakeCutter) ClearSession(context.Context, conversation.UserID, string) (int, error) {
	return 1, nil
}

func (fakeCutter) Truncate(_ context.Context, _ conversation.UserID, in conversation.Truncation,
) (conversation.Truncated, error) {
	in, err := in.Prepare(noon())
	if err != nil {
		return conversation.Truncated{}, err
	}
	if in.Expected != nil {
		return conversation.Truncated{}, fault.New(fault.Conflict, "not these")
	}
	s := conversation.Session{ID: in.SessionID, Context: "coach_conversation", CoachID: "c", Status: conversation.Active}
	out := conversation.Truncated{Deleted: []string{"msg_1"}, Session: s}
	if len(in.Replacement) > 0 {
		out.Messages, out.Session = s.Extend(in.Replacement, noon())
	}
	return out, nil
}

// TestTruncate asks for truncations that are refused and one that is carried out.
func TestTruncate(t *testing.T) {
	t.Parallel()
	h := allFunctions(t, newMemory(t, noon).stores(&fakeEraser{}))
	post := func(body any, status int) reply {
		t.Helper()
		return expect(t, h, status, as("ann", http.MethodPost, "/v1/sessions/s/messages/truncate", body))
	}
	type object = map[string]any
	post(object{}, 422)
	post(object{"lastN": 1, "afterSeq": 1}, 422)
	post(object{"lastN": 81}, 422)
	if r := post(object{"afterSeq": 1 << 53}, 422); !strings.Contains(string(r.body), "at most 9007199254740991") {
		t.Errorf("a seq that is too large: %s", r.body)
	}
	expectProblem(t, h, 422, "invalid", "replacement[1].content", as(
		"ann", http.MethodPost, "/v1/sessions/s/messages/truncate",
		object{"lastN": 1, "replacement": []any{
			object{"role": "user", "content": "x"}, object{"role": "user", "content": ""},
		}},
	))
	post(object{"lastN": 1, "expected": []any{"msg_2"}}, 409)
	var out struct {
		Deleted  []string
		Messages []struct{ Content string }
	}
	post(object{"afterSeq": 0, "replacement": []any{object{"role": "user", "content": "x"}}}, 200).decode(t, &out)
	if len(out.Deleted) != 1 || len(out.Messages) != 1 || out.Messages[0].Content != "x" {
		t.Errorf("%+v", out)
	}
}
