package summary_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/throughline/throughline/internal/llm"
)

// says is a model whose summary is a text.
type says string

func (s says) Complete(context.Context, llm.Request) (llm.Completion, error) {
	text, err := json.Marshal(map[string]any{"summary": string(s), "tags": []string{}})
	return llm.Completion{Text: string(text), Model: "m"}, err
}

// TestSummariesInAnyLanguage has summaries of 800 characters and more in scripts whose characters take several bytes.
// The limit is in characters, and a longer text ends after a sentence.
func TestSummariesInAnyLanguage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ filler, last string }{
		"Russian":  {"Тренировка прошла хорошо. ", "Анафилаксия на арахис!"},
		"Japanese": {"今日の練習は順調でした。", "ピーナッツでアナフィラキシーを起こす。"},
		"Hindi":    {"आज का अभ्यास अच्छा रहा। ", "मूंगफली से एनाफिलेक्सिस होता है।"},
		"Arabic":   {"كان التدريب جيدا اليوم. ", "لديه حساسية مفرطة من الفول السوداني."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fits := (800 - utf8.RuneCountInString(c.last)) / utf8.RuneCountInString(c.filler)
			for _, fillers := range []int{fits, fits + 1} {
				f := newFake(t)
				s := f.service()
				s.Model = says(strings.Repeat(c.filler, fillers) + c.last)
				f.say("s", "hi")
				consume(t, s, f.complete("s"))
				want := strings.TrimSpace(strings.Repeat(c.filler, fillers))
				if fillers == fits {
					want = strings.Repeat(c.filler, fillers) + c.last
				}
				if got := f.session("s").Summary; got == nil || got.Text != want {
					t.Errorf("%d sentences: %+v", fillers+1, got)
				}
			}
		})
	}
}

// TestASummaryOfNoWords has a weak model that answers with a date or a label. The fallback summary has what was said.
func TestASummaryOfNoWords(t *testing.T) {
	t.Parallel()
	for _, junk := range []says{"2026-11-28 09:04", "New MESSAGES", "PREVIOUS SUMMARY: user"} {
		f := newFake(t)
		s := f.service()
		s.Model = junk
		f.say("s", "My left knee hurts.")
		consume(t, s, f.complete("s"))
		if got := f.session("s").Summary; got == nil || !strings.Contains(got.Text, "left knee") {
			t.Errorf("%s: %+v", junk, got)
		}
	}
}
