package evidence

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/client"
)

// TestBusyStack asks again where a stack is too busy, or answers without the index, and gives up on other errors.
func TestBusyStack(t *testing.T) {
	t.Parallel()
	answers := map[string][]string{
		"/v1/recall":  {`503 {}`, `200 {"messages": [{"messageId": "m1"}], "degraded": []}`},
		"/v1/prompts": {`200 {"manifest": {"degraded": [{"source": "pinecone"}]}}`, `200 {"manifest": {"blocks": [{}]}}`},
		"/wrong":      {`422 {"code": "invalid"}`},
	}
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/wrong")
		if path != r.URL.Path {
			path = "/wrong"
		}
		status, body, _ := strings.Cut(answers[path][asked[path]], " ")
		asked[path]++
		w.WriteHeader(map[string]int{"503": 503, "200": 200, "422": 422}[status])
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	api := client.New(server.URL)
	if found, err := askRecall(t.Context(), api, "x"); err != nil || len(found) != 1 {
		t.Errorf("recall: %v, %v", found, err)
	}
	if blocks, err := buildPrompt(t.Context(), api, nil); err != nil || len(blocks) != 1 {
		t.Errorf("prompt: %v, %v", blocks, err)
	}
	if _, err := askRecall(t.Context(), client.New(server.URL+"/wrong"), "x"); err == nil || asked["/wrong"] != 1 {
		t.Errorf("another error: %v after %d calls", err, asked["/wrong"])
	}
}
