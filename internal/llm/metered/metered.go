// Package metered asks a language model for answers in JSON, and counts against a user's quota what each one cost.
package metered

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/llm"
)

// Completer asks a model for one whole answer.
type Completer interface {
	Complete(ctx context.Context, r llm.Request) (llm.Completion, error)
}

// Judge is a Completer that learns which of its answers were of use.
type Judge interface{ Judge(useful bool) }

// Quota limits how many tokens of the model a user spends in a day.
type Quota interface {
	// Reset returns when the user has tokens again, the zero time while the user has some.
	Reset(ctx context.Context, user conversation.UserID) (time.Time, error)
	// Spend counts tokens of a user of that generation.
	Spend(ctx context.Context, user conversation.UserID, generation int64, tokens int) error
}

// Model is a model that users pay for with their quota. It may be used concurrently.
type Model struct {
	Completer Completer
	Quota     Quota
	// Report is called when tokens could not be counted. The answer is used all the same.
	Report func(ctx context.Context, op string, err error)
}

// Question is what one answer is asked with: the rules as the system's message and the material as the user's.
type Question struct {
	User       conversation.UserID
	Generation int64
	Rules      string
	Material   string
	// Schema is the form of the answer. Its name is in errors.
	Schema    *llm.Schema
	MaxTokens int
	// Patient says that nobody waits for the answer, LeastEffort that it retells the material.
	Patient, LeastEffort bool
}

// Within limits how long an answer may take, which is longer for a patient question.
func (q Question) Within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if q.Patient {
		limit += llm.Patience
	}
	return context.WithTimeout(ctx, limit)
}

// Ask asks the model once and reads its answer into a value. It returns the name of the model. An answer of no use is
// llm.ErrRefused, llm.ErrTruncated or llm.ErrMalformed. No error quotes the answer.
//
// The rules and the form have nothing of a user and come first, so that the requests of all users with the same ones
// share a cache of the vendor.
func (m Model) Ask(ctx context.Context, q Question, into any) (model string, err error) {
	out, err := m.Completer.Complete(ctx, llm.Request{
		Messages: []llm.Message{{Role: "system", Content: q.Rules, Reusable: true}, {Role: "user", Content: q.Material}},
		Schema:   q.Schema, MaxTokens: q.MaxTokens, User: llm.EndUser(string(q.User)), CacheKey: q.Schema.Name,
		Patient: q.Patient, LeastEffort: q.LeastEffort,
	})
	// What an answer of no use has cost counts too, and so does one whose time is over.
	counted := m.Quota.Spend(context.WithoutCancel(ctx), q.User, q.Generation, out.Usage.TotalTokens)
	if counted != nil {
		m.Report(ctx, "count tokens", counted)
	}
	if err != nil && !llm.IsBadAnswer(err) {
		return "", fmt.Errorf("ask the model for %s: %w", q.Schema.Name, err)
	}
	if err == nil {
		err = read(out, into)
	}
	if j, ok := m.Completer.(Judge); ok {
		j.Judge(err == nil)
	}
	if err != nil {
		return "", fmt.Errorf("read a model answer of %d bytes as %s: %w", len(out.Text), q.Schema.Name, err)
	}
	return out.Model, nil
}

// read reads an answer into a value. The error of the JSON is left out, because it may quote the answer.
func read(out llm.Completion, into any) error {
	switch {
	case out.Refused || out.FinishReason == llm.FinishFilter:
		return llm.ErrRefused
	case json.Unmarshal([]byte(out.Text), into) == nil:
		return nil
	case out.FinishReason == llm.FinishLength:
		return llm.ErrTruncated
	}
	return llm.ErrMalformed
}
