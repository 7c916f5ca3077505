// Package evidence measures through the public HTTP API how much of what questions ask for is found: by recall, and by
// the prompt that a coach would get. The evidence of a question are the messages that hold its answer. BM25 ranks the
// same messages beside recall.
package evidence

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/bench/dataset"
	"github.com/throughline/throughline/infra/bench/recall/cutoff"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/internal/delay"
)

const (
	// atOnce is how many users and questions are worked on at once.
	atOnce = 2
	// most is how many messages recall is asked for.
	most = 100
	// attempts is how often a question is asked when its answer is without the index, or when there is none because the
	// stack is too busy. The waits between them grow by retryWait.
	attempts  = 8
	retryWait = time.Second
)

// Case is a question about an imported conversation.
type Case struct {
	Conversation *dataset.Conversation
	Question     dataset.Question
	// Evidence has the ids that the messages of the question's evidence have in the stack.
	Evidence map[string]bool
}

// Bench asks questions about conversations that it has imported into a stack.
type Bench struct {
	Cases []Case

	api *client.Client
	// ids are the ids of the stack's messages by those of the file, for each conversation.
	ids map[string]map[string]string
}

// indexTimeout is how long a stack may take until all is summarised and indexed.
const indexTimeout = 30 * time.Minute

// Load imports data sets into a stack and waits until all is summarised and indexed.
func Load(ctx context.Context, api *client.Client, sets []dataset.Set) (*Bench, error) {
	b := &Bench{api: api, ids: map[string]map[string]string{}}
	var mu sync.Mutex
	work, workCtx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for _, s := range sets {
		for _, c := range s.Conversations {
			work.Go(func() error {
				ids, err := dataset.Import(workCtx, api, c)
				mu.Lock()
				defer mu.Unlock()
				b.ids[c.ID] = ids
				return err
			})
		}
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	for _, s := range sets {
		for i := range s.Conversations {
			b.addCases(&s.Conversations[i])
		}
	}
	return b, dataset.Settle(ctx, api, indexTimeout)
}

func (b *Bench) addCases(c *dataset.Conversation) {
	for _, q := range c.Questions {
		evidence := map[string]bool{}
		for _, id := range q.Evidence {
			evidence[b.ids[c.ID][id]] = true
		}
		b.Cases = append(b.Cases, Case{c, q, evidence})
	}
}

// On returns the same bench on another stack that holds the same data, with the cases of the conversations that the
// function keeps.
func (b *Bench) On(api *client.Client, keeps func(c *dataset.Conversation) bool) *Bench {
	return &Bench{
		api: api, ids: b.ids,
		Cases: slices.DeleteFunc(slices.Clone(b.Cases), func(c Case) bool { return !keeps(c.Conversation) }),
	}
}

// Each calls a function for each case, some at a time, with a client of the case's user.
func (b *Bench) Each(
	ctx context.Context, atOnce int, do func(ctx context.Context, api *client.Client, i int) error,
) error {
	users := map[string]*client.Client{}
	for _, c := range b.conversations() {
		var err error
		if users[c.ID], err = b.api.As(ctx, c.ID); err != nil {
			return err
		}
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for i, c := range b.Cases {
		work.Go(func() error { return do(ctx, users[c.Conversation.ID], i) })
	}
	return work.Wait()
}

// Recall asks recall every question, and returns what it finds.
func (b *Bench) Recall(ctx context.Context) ([]Found, error) {
	lists := make([][]ranked, len(b.Cases))
	err := b.Each(ctx, atOnce, func(ctx context.Context, api *client.Client, i int) error {
		body := map[string]any{"query": b.Cases[i].Question.Text, "limit": most}
		return insist(ctx, "recall", func() ([]degraded, error) {
			var answer struct {
				Messages []ranked
				Degraded []degraded
			}
			err := api.Do(ctx, http.MethodPost, "/v1/recall", body, &answer)
			lists[i] = answer.Messages
			return answer.Degraded, err
		})
	})
	return b.score(lists, cutoff.ByValue), err
}

// insist asks until the answer has all its sources. An answer without the index, as a busy machine may give, is no
// measurement.
func insist(ctx context.Context, what string, ask func() (missing []degraded, err error)) error {
	for attempt := 1; ; attempt++ {
		missing, err := ask()
		switch {
		case err != nil && (!isBusy(err) || attempt == attempts):
			return fmt.Errorf("%s: %w", what, err)
		case err == nil && len(missing) == 0:
			return nil
		case attempt == attempts:
			return fmt.Errorf("%s is degraded: %v", what, missing)
		}
		_ = delay.Sleep(ctx, time.Duration(attempt)*retryWait) // the next call looks at ctx
	}
}

// isBusy reports whether an error is that of a stack that cannot answer now.
func isBusy(err error) bool {
	var problem *client.Problem
	return errors.As(err, &problem) && problem.Status == http.StatusServiceUnavailable
}

// degraded is a source that an answer is without.
type degraded struct{ Source, Reason string }

// conversations returns the conversations of the cases, each once.
func (b *Bench) conversations() (out []*dataset.Conversation) {
	for _, c := range b.Cases {
		if n := len(out); n == 0 || out[n-1] != c.Conversation {
			out = append(out, c.Conversation)
		}
	}
	return out
}
