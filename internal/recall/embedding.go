package recall

import (
	"context"
	"errors"
	"time"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// Embedding is the vector of a search's text, made before the search.
type Embedding struct {
	// Model is the version of the model that made the vector. A search in an index of another model does not use it.
	Model string `json:"model"`
	// Vector is empty if the model did not answer. The search then does without it and does not ask the model again.
	Vector vector.Dense `json:"vector,omitempty"`
	// Took is how long the model was waited for.
	Took time.Duration `json:"tookNs"`
}

// Embed embeds the text of a search that is still to come.
func (s *Service) Embed(ctx context.Context, text string) *Embedding {
	started := time.Now()
	dense, err := s.embed(ctx, text)
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		s.Log.WarnContext(ctx, "source degraded", "source", EmbeddingSource, "error", err.Error())
	}
	return &Embedding{Model: s.Version, Vector: dense, Took: time.Since(started)}
}

func (s *Service) embed(ctx context.Context, text string) ([]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, s.EmbedTimeout)
	defer cancel()
	vectors, err := s.embedder.Embed(ctx, []string{truncate.Bytes(text, vector.MaxEmbeddedBytes)})
	if err != nil {
		return nil, late(ctx, err)
	}
	return vectors[0], nil
}

// errNoVector is the error of an embedding whose model did not answer.
var errNoVector = errors.New("the model did not answer the caller")

// queryVector is the vector of a search's text: the one that the caller has made with the same model, or else a new
// one. ok is false when the model did not answer.
func (s *Service) queryVector(ctx context.Context, q Search, found *Found) (dense []float32, ok bool) {
	var err error
	if made := q.Embedding; made != nil && made.Model == s.Version {
		dense, found.Timings[EmbeddingSource] = made.Vector, made.Took
		if len(dense) == 0 {
			err = errNoVector
		}
	} else {
		started := time.Now()
		dense, err = s.embed(ctx, q.Text)
		found.Timings[EmbeddingSource] = time.Since(started)
	}
	if err != nil {
		s.degrade(ctx, found, EmbeddingSource, err)
		return nil, false
	}
	return dense, true
}
