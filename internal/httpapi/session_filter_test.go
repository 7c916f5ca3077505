package httpapi_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestSessionsByAttributes lists sessions by their attributes, in pages of every size, among many others.
func TestSessionsByAttributes(t *testing.T) {
	t.Parallel()
	b, _ := base()
	h := httpapi.Messages(httpapi.MessagesDeps{Base: b, Sessions: newMemory(t, noon), Cursors: cursorKey(t, "1")})
	for i := range 60 {
		id := fmt.Sprintf("s%02d", i)
		attributes := object{"n": i, "even": i%2 == 0, "thread": object{"id": fmt.Sprint(i % 20)}}
		expect(t, h, 201, as("ann", "POST", "/v1/sessions", object{
			"context": "coach_conversation", "coachId": "c1", "sessionId": id, "attributes": attributes,
		}))
	}
	list := func(attributes string, limit int) []string {
		t.Helper()
		pages := walk(t, h, "ann", fmt.Sprintf("/v1/sessions?limit=%d&attributes=%s", limit, url.QueryEscape(attributes)))
		for page := range strings.SplitSeq(pages, " | ") {
			if n := len(strings.Fields(page)); n > limit {
				t.Errorf("%d items on a page of %d", n, limit)
			}
		}
		return slices.Sorted(slices.Values(strings.Fields(strings.ReplaceAll(pages, " | ", " "))))
	}
	for _, limit := range []int{1, 2, 50, 200} {
		check.Same(t, []string{"s03", "s23", "s43"}, list(`{"thread":{"id":"3"}}`, limit), "%d a page", limit)
	}
	for attributes, n := range map[string]int{
		`{"even":true}`: 30, `{"n":{"$lt":10},"even":false}`: 5, `{"gone":null}`: 60, `{"n":"3"}`: 0, `{"n":3}`: 1,
	} {
		got := list(attributes, 7)
		if distinct := slices.Compact(slices.Clone(got)); len(got) != n || len(distinct) != n {
			t.Errorf("%s: %d sessions, want %d", attributes, len(got), n)
		}
	}
	for _, wrong := range []string{"3", "{"} {
		expectProblem(t, h, 422, "invalid", "attributes", as("ann", "GET", "/v1/sessions?attributes="+url.QueryEscape(wrong)))
	}
}
