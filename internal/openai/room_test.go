package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/llm"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/testing/check"
)

// thinker is a service whose model spends a number of tokens on reasoning before it answers, in both APIs. It records
// the limit of each request.
func thinker(t *testing.T, model string, reasoning float64) (*openai.Client, *[]float64) {
	t.Helper()
	var limits []float64
	client, _ := serviceOf(t, config.OpenAI{ChatModel: model}, func(w http.ResponseWriter, r *http.Request) {
		var sent map[string]any
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		limit := 0.0
		for _, name := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens"} {
			if n, ok := sent[name].(float64); ok {
				limit = n
			}
		}
		limits = append(limits, limit)
		used := min(limit, reasoning)
		if r.URL.Path == "/v1/responses" {
			answerResponse(w, sent["stream"] == true, limit > reasoning, used)
			return
		}
		text, finish := "", "length"
		if limit > reasoning {
			text, finish = "{}", "stop"
		}
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%q},"finish_reason":%q}],
			"usage":{"prompt_tokens":10,"completion_tokens":%v,"total_tokens":%v}}`, text, finish, used, used+10)
	})
	return client, &limits
}

func answerResponse(w io.Writer, stream, enough bool, used float64) {
	status, output := `"incomplete","incomplete_details":{"reason":"max_output_tokens"}`, ""
	if enough {
		status = `"completed"`
		output = `{"type":"message","content":[{"type":"output_text","text":"{}"}]}`
	}
	answer := fmt.Sprintf(`{"status":%s,"output":[%s],
		"usage":{"input_tokens":10,"output_tokens":%v,"total_tokens":%v}}`, status, output, used, used+10)
	if !stream {
		io.WriteString(w, answer)
		return
	}
	if enough {
		io.WriteString(w, events(`{"type":"response.output_text.delta","delta":"{}"}`))
	}
	io.WriteString(w, events(`{"type":"response.completed","response":`+strings.ReplaceAll(answer, "\n", "")+`}`))
}

func TestReasoningDoesNotSpendTheAnswersTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model     string
		reasoning float64
		limits    []float64
	}{
		{"gpt-6-luna", 400, []float64{4_400}},           // all that the answer may have
		{"gpt-6-luna", 9_000, []float64{4_400, 16_400}}, // more than its effort has room for
		{"o4-mini", 9_000, []float64{4_400, 16_400}},
		{"qwen3:8b", 2_000, []float64{400, 4_400}}, // nothing says that it reasons
		{"gpt-4o-mini", 2_000, []float64{400, 4_400}},
	} {
		t.Run(fmt.Sprint(tt.model, " ", tt.reasoning), func(t *testing.T) {
			t.Parallel()
			client, limits := thinker(t, tt.model, tt.reasoning)
			got, err := client.Complete(t.Context(), llm.Request{MaxTokens: 400})
			if err != nil || got.Text != "{}" || got.FinishReason != llm.FinishStop {
				t.Errorf("%+v, %v", got, err)
			}
			check.Same(t, tt.limits, *limits, "limits")
			spent := 0.0
			for _, limit := range tt.limits {
				spent += 10 + min(limit, tt.reasoning)
			}
			if float64(got.Usage.TotalTokens) != spent {
				t.Errorf("usage of %d tokens, want that of both answers, %v", got.Usage.TotalTokens, spent)
			}
		})
	}
}

func TestAStreamGetsMoreRoomBeforeItsFirstWord(t *testing.T) {
	t.Parallel()
	client, limits := thinker(t, "gpt-6-luna", 9_000)
	var emitted strings.Builder
	got, err := client.Stream(t.Context(), llm.Request{MaxTokens: 400}, func(delta string) error {
		emitted.WriteString(delta)
		return nil
	})
	if err != nil || got.Text != "{}" || emitted.String() != "{}" || len(*limits) != 2 {
		t.Errorf("%+v after %v, %v", got, *limits, err)
	}
	if got.Usage.TotalTokens != 10+4_400+10+9_000 {
		t.Errorf("usage %+v", got.Usage)
	}
}

func TestSpentTokensAreAnErrorAfterTheSecondAttempt(t *testing.T) {
	t.Parallel()
	client, limits := thinker(t, "gpt-6-luna", 1e9)
	got, err := client.Complete(t.Context(), llm.Request{MaxTokens: 400})
	if !fault.Is(err, fault.Unavailable) || len(*limits) != 2 || got.Usage.TotalTokens != 20+4_400+16_400 {
		t.Errorf("%+v, %v after %v", got, err, *limits)
	}
}

func TestCutAnswers(t *testing.T) {
	t.Parallel()
	const cut = `{"choices":[{"message":{"content":"{\"no"},"finish_reason":"length"}]}`
	for name, tt := range map[string]struct {
		request llm.Request
		want    int
	}{
		"text is an answer":    {llm.Request{MaxTokens: 400}, 1},
		"JSON is none":         {llm.Request{MaxTokens: 400, Schema: &llm.Schema{JSON: json.RawMessage("{}")}}, 2},
		"no limit, no attempt": {llm.Request{Schema: &llm.Schema{JSON: json.RawMessage("{}")}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			client, _ := service(t, func(w http.ResponseWriter, _ *http.Request) {
				requests++
				io.WriteString(w, cut)
			})
			if _, err := client.Complete(t.Context(), tt.request); requests != tt.want || (err != nil) != (tt.want > 1) {
				t.Errorf("%d requests, %v, want %d", requests, err, tt.want)
			}
		})
	}
}
