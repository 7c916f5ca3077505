package openai

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sashabaranov/go-openai"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/truncate"
)

// The service's limits of one embeddings request are 2,048 inputs, 300,000 tokens together and 8,192 tokens each. No
// token is shorter than one byte, so counting bytes stays within them and needs no tokenizer.
const (
	maxInputs       = 2048
	maxRequestBytes = 300_000
	maxInputBytes   = 8_000
	parallelBatches = 4
)

// Embed returns one vector of length 1 for each text, in their order, in as few requests as the service's limits
// allow. Of a text of more than 8,000 bytes only the beginning is embedded. Its errors are RateLimited, Unavailable or
// Internal. When one request fails, Embed returns no vectors.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	inputs := make([]string, len(texts))
	for i, text := range texts {
		inputs[i] = input(text)
	}
	vectors := make([][]float32, len(texts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelBatches)
	for from, to := range batches(inputs) {
		group.Go(func() error { return c.embedBatch(ctx, inputs[from:to], vectors[from:to]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return vectors, nil
}

// input returns the beginning of a text that the service accepts. The service refuses an empty input, so a space
// replaces it.
func input(text string) string {
	return cmp.Or(truncate.Bytes(text, maxInputBytes), " ")
}

// batches yields the bounds of the inputs of each request.
func batches(inputs []string) func(yield func(from, to int) bool) {
	return func(yield func(from, to int) bool) {
		from, bytes := 0, 0
		for i, text := range inputs {
			if i > from && (i-from == maxInputs || bytes+len(text) > maxRequestBytes) {
				if !yield(from, i) {
					return
				}
				from, bytes = i, 0
			}
			bytes += len(text)
		}
		if from < len(inputs) {
			yield(from, len(inputs))
		}
	}
}

func (c *Client) embedBatch(ctx context.Context, inputs []string, vectors [][]float32) error {
	request := openai.EmbeddingRequestStrings{Input: inputs, Model: c.embedModel, Dimensions: c.dimensions}
	var answer openai.EmbeddingResponse
	limit := embedLimit + time.Duration(len(inputs))*embedTextLimit
	err := c.embedRetry.do(ctx, "embed texts", limit, func(ctx context.Context) (err error) {
		answer, err = c.embeddings.CreateEmbeddings(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	return c.fill(vectors, answer.Data)
}

// fill stores each vector of an answer at its index. It returns an error when the answer has another number of vectors
// than the request has texts, or another number of dimensions than is configured.
func (c *Client) fill(vectors [][]float32, data []openai.Embedding) error {
	for _, e := range data {
		if e.Index < 0 || e.Index >= len(vectors) || vectors[e.Index] != nil {
			return fault.Wrap(fault.Unavailable, "embed texts", fmt.Errorf("unexpected index %d of %d", e.Index, len(vectors)))
		}
		if c.dimensions > 0 && len(e.Embedding) != c.dimensions {
			return fault.Wrap(fault.Internal, "embed texts",
				fmt.Errorf("model %s gives %d dimensions, %d are configured", c.embedModel, len(e.Embedding), c.dimensions))
		}
		vectors[e.Index] = normalise(e.Embedding)
	}
	if len(data) != len(vectors) {
		return fault.Wrap(fault.Unavailable, "embed texts", fmt.Errorf("%d vectors for %d texts", len(data), len(vectors)))
	}
	return nil
}

// normalise scales a vector to length 1. The index's metric is the dot product, which is then the cosine.
func normalise(v []float32) []float32 {
	var squares float64
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return v
	}
	scale := 1 / math.Sqrt(squares)
	for i := range v {
		v[i] = float32(float64(v[i]) * scale)
	}
	return v
}
