// Package rememberfn builds the handler of the remember function: it indexes messages from the table's stream.
package rememberfn

import (
	"context"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/eventbus"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/stream"
)

// Handler takes the stream's batches.
type Handler func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)

// New builds the handler.
func New(ctx context.Context, cfg config.Config, rt function.Runtime) (Handler, error) {
	cfg, rt, err := function.Prepare(ctx, cfg, rt, "remember", config.EmbeddingKey, config.PineconeKey)
	if err != nil {
		return nil, err
	}
	db := function.Table(cfg)
	index, err := function.Indexer(cfg, rt)
	if err != nil {
		return nil, err
	}
	service := indexing.New(dynamo.NewIndexingSource(db), index, time.Now)
	batch := stream.Handler(db.DecodeChange, service, rt.Log)
	return function.Measured(rt, "remember", eventbus.Publishing(rt, db, eventbus.Publisher(cfg, rt, db), batch)), nil
}
