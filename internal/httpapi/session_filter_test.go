package httpapi_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/throughline/throughline/internal/httpapi"
)

// TestSessionsByAttributes lists sessions by their attributes, in pages of every size, among many others.
func TestSessionsByAttributes(t *testing.T) {
	t.Parallel()
	b, _ := base()
	h := httpapi.Messages(httpapi.MessagesDeps{Base: b, Sessions: newMemory(t, noon), Cursors: cursorKey(t, "1")})
	want := map[string]bool{}
	for i := range 60 {
		id := fmt.Sprintf("s%02d", i)
		attributes := object{"n": i, "even": i%2 == 0, "thread": object{"id": fmt.Sprint(i % 20)}}
		if i%20 == 3 {
			want[id] = true
		}
		expect(t, h, 201, as("ann", "POST", "/v1/sessions", object{
			"context": "coach_conversation", "coachId": "c1", "sessionId": id, "attributes": attributes,
		}))
	}
	list := func(attributes string, limit int) map[string]bool {
		t.Helper()
		found := map[string]bool{}
		path := fmt.Sprintf("/v1/sessions?limit=%d&attributes=%s", limit, url.QueryEscape(attributes))
		for cursor := ""; ; {
			out := answer(t, h, 200, as("ann", "GET", path+"&cursor="+cursor))
			items := out["items"].([]any)
			if len(items) > limit {
				t.Errorf("%d items on a page of %d", len(items), limit)
			}
			for _, item := range items {
				id := item.(object)["sessionId"].(string)
				if found[id] {
					t.Errorf("%s is listed twice", id)
				}
				found[id] = true
			}
			next, more := out["nextCursor"].(string)
			if !more {
				return found
			}
			cursor = url.QueryEscape(next)
		}
	}
	for _, limit := range []int{1, 2, 50, 200} {
		if got := list(`{"thread":{"id":"3"}}`, limit); len(got) != 3 || !got["s03"] || !got["s23"] || !got["s43"] {
			t.Errorf("%d a page: %v, want %v", limit, got, want)
		}
	}
	for attributes, n := range map[string]int{
		`{"even":true}`: 30, `{"n":{"$lt":10},"even":false}`: 5, `{"gone":null}`: 60, `{"n":"3"}`: 0, `{"n":3}`: 1,
	} {
		if got := list(attributes, 7); len(got) != n {
			t.Errorf("%s: %d sessions, want %d", attributes, len(got), n)
		}
	}
	for _, wrong := range []string{"3", "{"} {
		expectProblem(t, h, 422, "invalid", "attributes", as("ann", "GET", "/v1/sessions?attributes="+url.QueryEscape(wrong)))
	}
}
