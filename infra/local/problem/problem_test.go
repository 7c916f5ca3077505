package problem_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/local/problem"
)

func TestReadSaysWhatIsWrong(t *testing.T) {
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
		`{"n":1} {"n":2}`:      "the body is not one JSON value",
		`{"n":`:                "the body is not one JSON value",
		`x`:                    "the body is not one JSON value",
		`{"name":"` + strings.Repeat("x", 64<<10) + `"}`: "the body is too large",
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
		err := problem.Read(httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(body)), &in)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", body, err)
			}
			continue
		}
		w := httptest.NewRecorder()
		problem.Write(w, err)
		var got struct{ Detail string }
		if decodeErr := json.Unmarshal(w.Body.Bytes(), &got); decodeErr != nil || got.Detail != want {
			t.Errorf("%.40s: %q, want %q", body, got.Detail, want)
		}
	}
}
