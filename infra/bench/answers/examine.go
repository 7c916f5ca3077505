package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/bench/recall/evidence"
	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/llm"
)

//go:embed answer.txt
var answerRules string

//go:embed judge.txt
var judgeRules string

const (
	// answerTokens and judgeTokens limit the answers of the two models. judgedTokens is about what a judge reads.
	answerTokens, judgeTokens, judgedTokens = 400, 200, 600
	// answersEach is how many answers a question has: from the prompt, and from what BM25 finds.
	answersEach = 2
	// appContext is where the questions are asked.
	appContext = "coach_conversation"
	// atOnce is how many questions are worked on at once.
	atOnce = 4
)

// verdictForm is the form of what a judge answers.
var verdictForm = &llm.Schema{Name: "verdict", JSON: []byte(`{"type":"object","properties":{` +
	`"correct":{"type":"boolean"}},"required":["correct"],"additionalProperties":false}`)}

// plan says what the questions of the sets take at most.
func (o options) plan(sets []dataset.Set) string {
	n := 0
	for _, s := range sets {
		for _, c := range s.Conversations {
			n += len(c.Questions)
		}
	}
	calls := answersEach * n
	text := fmt.Sprintf("%d questions (seed %d): %d answers of %s and as many verdicts of %s, "+
		"at most %d tokens in and %d out, and %d in and %d out", n, o.seed, calls, o.model, o.judge,
		calls*cutoff.PromptTokens, calls*answerTokens, calls*judgedTokens, calls*judgeTokens)
	var in, out, judgeIn, judgeOut float64
	if _, err := fmt.Sscan(o.price, &in, &out, &judgeIn, &judgeOut); err != nil {
		return text + "; -price would say what they cost"
	}
	dollars := float64(calls) / 1e6 *
		(in*cutoff.PromptTokens + out*answerTokens + judgeIn*judgedTokens + judgeOut*judgeTokens)
	return fmt.Sprintf("%s: at most %.2f dollars", text, dollars)
}

// completer is a model.
type completer interface {
	Complete(ctx context.Context, r llm.Request) (llm.Completion, error)
}

// examiner asks questions and has the answers judged.
type examiner struct {
	answers, judges completer
}

// mark says which answers to a question are right.
type mark struct{ prompt, words bool }

// examine asks the questions of a bench.
func (x examiner) examine(ctx context.Context, b *evidence.Bench) ([]mark, error) {
	marks, words := make([]mark, len(b.Cases)), b.WordPrompts()
	return marks, b.Each(ctx, atOnce, func(ctx context.Context, api *client.Client, i int) error {
		q := b.Cases[i].Question
		told, err := x.prompt(ctx, api, q.Text, i)
		if err != nil {
			return err
		}
		if marks[i].prompt, err = x.mark(ctx, q, told); err != nil {
			return err
		}
		marks[i].words, err = x.mark(ctx, q, []llm.Message{
			{Role: "system", Content: answerRules + "\n" + words[i]}, {Role: "user", Content: q.Text},
		})
		return err
	})
}

// prompt builds the prompt of a question, in a session of its own.
func (x examiner) prompt(ctx context.Context, api *client.Client, question string, n int) ([]llm.Message, error) {
	session := fmt.Sprintf("bench-answers-%d", n)
	if err := dataset.Open(ctx, api, appContext, session); err != nil {
		return nil, err
	}
	var built struct {
		System   string
		Messages []llm.Message
	}
	err := api.Do(ctx, http.MethodPost, "/v1/prompts", map[string]any{
		"context": appContext, "coachId": dataset.Coach, "sessionId": session, "message": question,
		"budget": map[string]any{"tokens": cutoff.PromptTokens}, "systemRole": strings.TrimSpace(answerRules),
	}, &built)
	if err != nil {
		return nil, fmt.Errorf("build prompt: %w", err)
	}
	return append([]llm.Message{{Role: "system", Content: built.System}}, built.Messages...), nil
}

// mark has a question answered and the answer judged.
func (x examiner) mark(ctx context.Context, q dataset.Question, told []llm.Message) (right bool, err error) {
	answer, err := x.answers.Complete(ctx, llm.Request{Messages: told, MaxTokens: answerTokens})
	if err != nil {
		return false, fmt.Errorf("answer: %w", err)
	}
	material := fmt.Sprintf("Question: %s\n\nRight answer: %s\n\nAnswer: %s", q.Text, q.Answer, answer.Text)
	verdict, err := x.judges.Complete(ctx, llm.Request{
		Messages:  []llm.Message{{Role: "system", Content: judgeRules}, {Role: "user", Content: material}},
		MaxTokens: judgeTokens, Schema: verdictForm,
	})
	if err != nil {
		return false, fmt.Errorf("judge: %w", err)
	}
	var v struct{ Correct bool }
	if err := json.Unmarshal([]byte(verdict.Text), &v); err != nil {
		return false, fmt.Errorf("read the verdict: %w", err)
	}
	return v.Correct, nil
}

// table is the share of right answers of each data set, in Markdown.
func table(sets []dataset.Set, cases []evidence.Case, marks []mark) string {
	t := report.NewTable("", "data", "questions", "right, from the prompt", "right, from BM25")
	for _, s := range sets {
		n, prompt, words := 0, 0, 0
		for i, c := range cases {
			if !s.Has(c.Conversation) {
				continue
			}
			n++
			prompt, words = prompt+count(marks[i].prompt), words+count(marks[i].words)
		}
		if n > 0 {
			t.Add(s.Name, fmt.Sprint(n), report.Percent(float64(prompt)/float64(n)), report.Percent(float64(words)/float64(n)))
		}
	}
	return t.Markdown()
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
