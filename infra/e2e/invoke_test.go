package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/testing/check"
)

// invocation is the answer to a direct invocation: the function's answer, or its error's type and message.
type invocation struct {
	body                    string
	failed                  bool
	ErrorType, ErrorMessage string
}

// invoke calls a function as a client of the Lambda API does.
func invoke(t *testing.T, name, payload string) invocation {
	t.Helper()
	var info struct {
		LambdaEndpoint string
		Functions      map[string]string
	}
	do(t, client.New(shared.Base), http.MethodGet, "/dev/info", nil, &info)
	url := info.LambdaEndpoint + "/2015-03-31/functions/" + info.Functions[name] + "/invocations"
	r := check.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(payload)))(t)
	res := check.Got(http.DefaultClient.Do(r))(t)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("invoke %s: %d %s, %v", name, res.StatusCode, body, err)
	}
	out := invocation{body: string(body), failed: res.Header.Get("X-Amz-Function-Error") != ""}
	if out.failed {
		if err := json.NewDecoder(bytes.NewReader(body)).Decode(&out); err != nil {
			t.Fatalf("invoke %s: the error is no JSON: %s", name, body)
		}
	}
	return out
}

// TestDirectInvocation invokes prompt and context directly, also with requests that they have to refuse.
func TestDirectInvocation(t *testing.T) {
	const content = "My knee hurts when I run."
	api := newUser(t)
	open(t, api, "coach_conversation", "s")
	var stored appended
	do(t, api, http.MethodPost, "/v1/sessions/s/messages", userMessage(content), &stored)
	settle(t)
	user, _, _ := strings.Cut(strings.TrimPrefix(stored.Messages[0].MessageID, "msg_"), "_")
	request := fmt.Sprintf(`"userId":%q,"context":"coach_conversation","sessionId":"s"`, user)
	found := fmt.Sprintf(`{"messages":[{"messageId":%q,"seq":1,"sessionId":"s","context":"coach_conversation","coachId":`,
		stored.Messages[0].MessageID)
	for _, tt := range []struct{ function, payload, want string }{
		{"prompt", `{` + request + `,"message":"What about my knee?"}`, content},
		{"context", `{"operation":"recall","userId":"` + user + `","query":"knee","limit":1}`, found},
		{"context", `{"operation":"query",` + request + `}`, `"summaries":[]`},
	} {
		if got := invoke(t, tt.function, tt.payload); got.failed || !strings.Contains(got.body, tt.want) {
			t.Errorf("%s %s: %s", tt.function, tt.payload, got.body)
		}
	}
	for _, tt := range []struct{ function, payload, code, says string }{
		{"prompt", `{` + request + `}`, "invalid", "message"},
		{"context", `{"operation":"forget","userId":"ann"}`, "invalid", "operation"},
	} {
		got := invoke(t, tt.function, tt.payload)
		if !got.failed || got.ErrorType != tt.code || !strings.Contains(got.ErrorMessage, tt.says) {
			t.Errorf("%s %s: %s", tt.function, tt.payload, got.body)
		}
	}
}
