package chat_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/chat"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestTheMessageIsEmbeddedWhileItIsStored lets each of the two wait for the other's beginning. The prompt gets the
// embedding and the generation of the session.
func TestTheMessageIsEmbeddedWhileItIsStored(t *testing.T) {
	t.Parallel()
	f := newFake()
	storing, embedding := make(chan struct{}), make(chan struct{})
	made := &recall.Embedding{Model: "small@2", Vector: []float32{1, 0}}
	f.begin = func() (conversation.Turn, error) {
		close(storing)
		<-embedding
		return f.turn, nil
	}
	f.embed = func(_ context.Context, text string) *recall.Embedding {
		close(embedding)
		<-storing
		if text != request.Message {
			t.Errorf("embedded %q", text)
		}
		return made
	}
	run(t, t.Context(), f)
	want := &prompt.Ahead{Embedding: made, Generation: 3}
	if len(f.built) != 1 || !cmp.Equal(want, f.built[0].Ahead) {
		t.Errorf("built %+v, want %+v", f.built, want)
	}
}

// TestATurnThatNeedsNoPromptEndsTheEmbedding has turns that are refused, or answered already.
func TestATurnThatNeedsNoPromptEndsTheEmbedding(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.RateLimited, "the day's tokens are spent")
	for name, begin := range map[string]func() (conversation.Turn, error){
		"refused":  func() (conversation.Turn, error) { return conversation.Turn{}, refused },
		"replayed": func() (conversation.Turn, error) { return conversation.Turn{Answer: &conversation.Message{}}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake()
				f.begin = begin
				var ended error
				f.embed = func(ctx context.Context, _ string) *recall.Embedding {
					<-ctx.Done()
					ended = ctx.Err()
					return &recall.Embedding{}
				}
				began := time.Now()
				_, err := f.service().Start(t.Context(), "ann", request)
				if fault.Is(err, fault.RateLimited) != (name == "refused") || len(f.built) > 0 {
					t.Errorf("built %+v, %v", f.built, err)
				}
				if ended == nil || time.Since(began) > 0 {
					t.Errorf("the embedding ended with %v after %v", ended, time.Since(began))
				}
			})
		})
	}
}

// TestALateEmbeddingIsNotWaitedFor has a model that never answers. The client goes away meanwhile, which changes
// nothing.
func TestALateEmbeddingIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		ctx, leave := context.WithCancel(t.Context())
		f.embed = func(ctx context.Context, _ string) *recall.Embedding {
			leave()
			<-ctx.Done()
			return &recall.Embedding{Model: "small@2"}
		}
		began := time.Now()
		names, _, _ := run(t, ctx, f)
		if took := time.Since(began); took != 1500*time.Millisecond || names[len(names)-1] != "done" {
			t.Errorf("%v after %v", names, took)
		}
		if e := f.built[0].Ahead.Embedding; e == nil || len(e.Vector) > 0 {
			t.Errorf("the prompt got %+v", e)
		}
	})
}

func TestARecipeWithoutASearchEmbedsNothing(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.embed = func(context.Context, string) *recall.Embedding {
		t.Error("embedded")
		return nil
	}
	r := request
	r.Recipe = prompt.TieredHistory
	answer := check.Got(f.service().Start(t.Context(), "ann", r))(t)
	answer.Events(func(chat.Event) bool { return true })
	if len(f.built) != 1 || f.built[0].Ahead.Embedding != nil {
		t.Errorf("built %+v", f.built)
	}
}
