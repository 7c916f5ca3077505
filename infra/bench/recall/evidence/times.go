package evidence

import (
	"context"
	"time"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/openai"
)

// timed is how many questions are timed.
const timed = 100

// Times are the milliseconds of a query of recall, and of a request for the embedding of the same text alone, which no
// search by meaning can do without. The queries are made one after the other.
type Times struct {
	Queries                    int
	Recall50, Recall99         float64
	Embedding50, Embedding99   float64
	Difference50, Difference99 float64
}

// Times measures queries. The embedding service is asked directly, at a base URL, for a model's vectors.
func (b *Bench) Times(ctx context.Context, embeddings, model string) (Times, error) {
	var recall, embedding, difference []time.Duration
	cases := b.Cases[:min(timed, len(b.Cases))]
	embedder := openai.New(config.OpenAI{BaseURL: embeddings, APIKey: "any", EmbeddingModel: model})
	for _, c := range cases {
		api, err := b.api.As(ctx, c.Conversation.ID)
		if err != nil {
			return Times{}, err
		}
		began := time.Now()
		if _, err := embedder.Embed(ctx, []string{c.Question.Text}); err != nil {
			return Times{}, err
		}
		floor := time.Since(began)
		began = time.Now()
		if _, err := askRecall(ctx, api, c.Question.Text); err != nil {
			return Times{}, err
		}
		took := time.Since(began)
		recall, embedding = append(recall, took), append(embedding, floor)
		difference = append(difference, took-floor)
	}
	ms := func(samples []time.Duration, q float64) float64 {
		return float64(report.Quantile(samples, q)) / float64(time.Millisecond)
	}
	return Times{
		Queries:  len(cases),
		Recall50: ms(recall, 0.5), Recall99: ms(recall, 0.99), Embedding50: ms(embedding, 0.5),
		Embedding99: ms(embedding, 0.99), Difference50: ms(difference, 0.5), Difference99: ms(difference, 0.99),
	}, nil
}
