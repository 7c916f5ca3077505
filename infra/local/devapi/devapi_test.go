package devapi_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/devapi"
	"github.com/throughline/throughline/internal/httpapi"
)

func TestReadSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                     "",
		`{"n":1}`:              "",
		`{"n":"x"}`:            "n must be a whole number",
		`{"n":1.5}`:            "n must be a whole number",
		`{"share":"x"}`:        "share must be a number",
		`{"on":1}`:             "on must be true or false",
		`{"name":1}`:           "name must be a string",
		`{"names":{}}`:         "names must be a list",
		`{"inner":{"n":true}}`: "inner.n must be a whole number",
		`{"inner":[]}`:         "inner must be an object",
		`[]`:                   "body must be an object",
		`{"other":1}`:          "other is not a field of this call",
		`{"n":1} {"n":2}`:      "the body is not JSON: invalid character '{' after top-level value",
		`{"n":`:                "the body is not JSON: unexpected end of JSON input",
		`x`:                    "the body is not JSON: invalid character 'x' looking for beginning of value",
		`{"n":1,"n":1}`:        "n is repeated in one object",
		`{"name":"` + strings.Repeat("x", 64<<10) + `"}`: "a body has at most 65536 bytes",
	} {
		var in struct {
			N     int64    `json:"n"`
			Share float64  `json:"share"`
			On    bool     `json:"on"`
			Name  string   `json:"name"`
			Names []string `json:"names"`
			Inner struct {
				N int `json:"n"`
			} `json:"inner"`
		}
		err := devapi.Read(httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(body)), &in)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", body, err)
			}
			continue
		}
		w := httptest.NewRecorder()
		httpapi.WriteProblem(w, err)
		var got struct{ Detail string }
		if decodeErr := json.Unmarshal(w.Body.Bytes(), &got); decodeErr != nil || got.Detail != want {
			t.Errorf("%.40s: %q, want %q", body, got.Detail, want)
		}
	}
}
