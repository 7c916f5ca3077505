package chat

import (
	"context"

	"github.com/throughline/throughline/internal/prompt"
	"github.com/throughline/throughline/internal/recall"
)

// embedding is the embedding of the user's message. It is made beside the storing of the message, so that the prompt
// need not wait for it.
type embedding struct {
	cancel context.CancelFunc
	// done is closed when made is set.
	done chan struct{}
	made *recall.Embedding
}

// embed begins to embed what the turn's prompt will search for. The caller stops it when nobody needs it any more: when
// the message is refused, or answered already. It goes on when the client goes away, because the turn does.
func (s *Service) embed(ctx context.Context, r Request) *embedding {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), embedTimeout)
	e := &embedding{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		if text := prompt.SearchText(r.Recipe, r.Message); text != "" {
			e.made = s.Embed.Embed(ctx, text)
		}
	}()
	return e
}

// wait returns the embedding, nil where the prompt has to make its own.
func (e *embedding) wait() *recall.Embedding {
	<-e.done
	return e.made
}

// stop ends the embedding and waits for its end.
func (e *embedding) stop() {
	e.cancel()
	<-e.done
}
