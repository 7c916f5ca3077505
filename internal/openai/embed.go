package openai

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/sashabaranov/go-openai"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/internal/fault"
)

// Limits of one embeddings request: 2,048 inputs and 300,000 tokens together, 8,192 tokens each. A token is at least
// one byte, so that counting bytes is safe for every text and needs no tokenizer.
const (
	maxInputs       = 2048
	maxRequestBytes = 300_000
	maxInputBytes   = 8_000
	parallelBatches = 4
)

// Embed returns one normalised vector for each text, in their order, in as few requests as the service's limits
// allow. A text of more than 8,000 bytes is embedded by its beginning. Its errors are RateLimited, Unavailable or
// Internal; one that fails leaves none.
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

// input is the text as the service takes it: not empty, and not too long.
func input(text string) string {
	if len(text) > maxInputBytes {
		text = strings.ToValidUTF8(text[:maxInputBytes], "")
	}
	if text == "" {
		return " "
	}
	return text
}

// batches yields the bounds of each request's share of the inputs.
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
	err := c.retry.do(ctx, "embed texts", func(ctx context.Context) (err error) {
		answer, err = c.embeddings.CreateEmbeddings(ctx, request)
		return err
	})
	if err != nil {
		return err
	}
	return c.place(answer.Data, vectors)
}

// place puts each vector where its index says, and holds the service to the number and the width that were asked for.
func (c *Client) place(data []openai.Embedding, vectors [][]float32) error {
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

// normalise scales a vector to length 1, so that a product is a cosine; the index's metric is the product.
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
