package function

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/adopt"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/metric"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/ratelimit"
	"github.com/throughline/throughline/internal/recall"
	"github.com/throughline/throughline/internal/recall/rank"
	"github.com/throughline/throughline/internal/trace"
	"github.com/throughline/throughline/internal/vector"
)

// Table returns the table of a configuration, in the initial stage of its migration.
func Table(cfg config.Config, options ...dynamo.Option) *dynamo.DB {
	stage := adopt.WithInitialStage(migration.Stage(cfg.InitialStage))
	return dynamo.New(DynamoDB(cfg), cfg.TableName, append(options, stage)...)
}

// VectorIndex returns the vector indexes of a configuration. Those of another vendor are built here
// (docs/extending.md).
func VectorIndex(cfg config.Config, rt Runtime, db *dynamo.DB) (*vector.Router, error) {
	return pinecone.New(cfg.Pinecone, dynamo.NewIndexDirectory(db), rt.Spans.Dial()...)
}

// Models returns the client of the models of a configuration.
func Models(cfg config.OpenAI, rt Runtime) *openai.Client {
	if rt.Spans == nil {
		return openai.New(cfg)
	}
	return openai.New(cfg, openai.WithWrapper(trace.Transport))
}

// Recall builds the service that searches with the embedding, the vector index and the table.
func Recall(cfg config.Config, rt Runtime, db *dynamo.DB) (*recall.Service, error) {
	index, err := VectorIndex(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	options := recall.Options{
		Log: rt.Log, Version: cfg.OpenAI.Embedding().Version(), Models: models(cfg, rt),
		SeveralIndexes: len(cfg.Pinecone.MoreIndexes) > 0,
	}
	if cfg.RecallWeights != "" {
		text, err := os.ReadFile(cfg.RecallWeights)
		if err != nil {
			return nil, fmt.Errorf("read the weights of the ranking: %w", err)
		}
		if options.Weights, err = rank.Parse(text); err != nil {
			return nil, err
		}
	}
	return recall.New(dynamo.NewRecallSource(db), Models(cfg.OpenAI, rt), index, options), nil
}

// Indexer builds what writes records to the vector index.
func Indexer(cfg config.Config, rt Runtime, db *dynamo.DB) (*indexing.Indexer, error) {
	index, err := VectorIndex(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	version := cfg.OpenAI.Embedding().Version()
	return indexing.NewIndexer(Models(cfg.OpenAI, rt), index, version).WithModels(models(cfg, rt)), nil
}

// models returns the embedding models of the indexes that have one of their own. It is empty where all have the usual
// one.
func models(cfg config.Config, rt Runtime) vector.Models {
	models := vector.Models{}
	for name, e := range cfg.Pinecone.Embeddings {
		if e != cfg.OpenAI.Embedding() {
			models[name] = vector.Model{Embedder: Models(cfg.OpenAI.WithEmbedding(e), rt), Version: e.Version()}
		}
	}
	return models
}

// Eraser builds the service that deletes messages, sessions and users, with everything derived from them.
func Eraser(cfg config.Config, rt Runtime, db *dynamo.DB) (*erasure.Service, error) {
	index, err := VectorIndex(cfg, rt, db)
	if err != nil {
		return nil, err
	}
	deletion := dynamo.NewDeletionStore(db)
	d := erasure.Deps{
		Messages: deletion, Sessions: deletion, Cuts: deletion, Sources: deletion, Forgetting: deletion,
		Prompts:    dynamo.NewPromptStore(db),
		Timeline:   dynamo.NewMessageStore(db),
		Tombstones: dynamo.NewTombstoneStore(db), Users: dynamo.NewErasureStore(db),
		Memories: dynamo.NewMemoryStore(db).WithoutTrace(), Todos: dynamo.NewTodoStore(db).WithoutTrace(),
		Index: index, Now: time.Now, Backups: erasure.DefaultBackups,
	}
	if cfg.ErasuresTable != "" {
		d.Ledger = dynamo.NewLedgerStore(dynamo.New(DynamoDB(cfg), cfg.ErasuresTable))
	}
	return erasure.New(d), nil
}

// limiter builds the bound of what users ask for, over all functions.
func limiter(cfg config.Config, rt Runtime, db *dynamo.DB) *ratelimit.Limiter {
	return ratelimit.New(ratelimit.Config{
		PerMinute: cfg.RequestsPerMinute, Counter: dynamo.NewRequestCounter(db), Now: time.Now,
		Report: func(ctx context.Context, err error) {
			metric.Add(ctx, "RequestsNotCounted", 1, metric.Count)
			Report(rt.Log)(ctx, "count requests", err)
		},
	})
}

// Base returns what all servers of HTTP need.
func Base(cfg config.Config, rt Runtime, db *dynamo.DB) httpapi.Base {
	base := httpapi.Base{Log: rt.Log, Limiter: limiter(cfg, rt, db)}
	if rt.Spans != nil {
		base.Observe = trace.Requested
	}
	return base
}

// LongTerm returns the stores of the user's long-term records.
func LongTerm(rt Runtime, db *dynamo.DB) httpapi.LongTerm {
	return httpapi.LongTerm{
		Profile: dynamo.NewProfileStore(db), Seed: dynamo.NewSeedStore(db),
		UserSummary: dynamo.NewUserSummaryStore(db), Preferences: dynamo.NewPreferencesStore(db),
		Coaches: dynamo.NewCoachStore(db), Goals: dynamo.NewGoalStore(db), CheckIns: dynamo.NewCheckInStore(db),
		Memories: dynamo.NewMemoryStore(db), Todos: dynamo.NewTodoStore(db),
	}
}
