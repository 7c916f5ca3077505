package e2e_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// refused returns how long a request that is past a limit has to wait. It fails unless err says that it is.
func refused(t *testing.T, what string, err error) time.Duration {
	t.Helper()
	problem, ok := errors.AsType[*client.Problem](err)
	if !ok || problem.Status != 429 || problem.Code != "rate_limited" || problem.RetryAfter <= 0 {
		t.Errorf("%s: %v, want 429 with Retry-After", what, err)
		return 0
	}
	return problem.RetryAfter
}

// TestLimitsOfAUser has a user with one answer under way, and one who asks for too much in a minute. Both are refused
// at every door. Another user is not.
func TestLimitsOfAUser(t *testing.T) {
	t.Parallel()
	stack := startStack(t, "REQUESTS_PER_MINUTE=100", "ANSWERS_AT_ONCE=1")
	users := map[string]*client.Client{}
	for _, user := range []string{"ann", "bob"} {
		api := check.Got(client.New(stack.Base).As(t.Context(), user))(t)
		open(t, api, "coach_conversation", "s")
		open(t, api, "coach_conversation", "other")
		users[user] = api
	}
	ann, bob := users["ann"], users["bob"]
	chat := func(api *client.Client, session string, each func(client.Event) error) error {
		return api.Chat(t.Context(), map[string]any{"sessionId": session, "message": swap}, each)
	}
	slow := func(ms int) {
		faults := map[string]any{"openai": map[string]any{"latencyMs": ms}}
		do(t, client.New(stack.Base), http.MethodPost, "/dev/faults", faults, nil)
	}
	slow(5_000)
	var first answer
	var once sync.Once
	err := chat(ann, "s", func(e client.Event) error {
		once.Do(func() { // the prompt is built, and the model takes its time
			var a answer
			refused(t, "a second answer", chat(ann, "other", a.read))
			slow(0)
			if err := chat(bob, "s", a.read); err != nil {
				t.Errorf("another user's answer: %v", err)
			}
		})
		return first.read(e)
	})
	if err != nil || first.Last != "done" {
		t.Fatalf("the first answer ended in %q, %v", first.Last, err)
	}
	talk(t, ann, "other", swap)

	get := func(path string) error { return ann.Do(t.Context(), http.MethodGet, path, nil, nil) }
	spend := func() (err error) {
		for n := 0; n < 200 && err == nil; n++ {
			err = get("/v1/goals")
		}
		return err
	}
	if wait := refused(t, "the hundredth request", spend()); wait < 10*time.Second {
		time.Sleep(wait) // the minute would end before the doors are tried
		refused(t, "the hundredth request of the next minute", spend())
	}
	refused(t, "messages", get("/v1/sessions/s/messages"))
	for range 6 { // a function adds what it has counted when that is a twentieth of the limit
		err = get("/v1/export")
	}
	refused(t, "export", err)
	refused(t, "chat", chat(ann, "s", func(client.Event) error { return nil }))
	for path, body := range map[string]map[string]any{
		"/v1/recall": {"query": "knee"}, "/v1/context/query": {"context": "coach_conversation"},
		"/v1/prompts": {"context": "coach_conversation", "sessionId": "s", "message": "hi"},
	} {
		for range 6 {
			err = ann.Do(t.Context(), http.MethodPost, path, body, nil)
		}
		refused(t, path, err)
	}
	talk(t, bob, "s", swap)
}
