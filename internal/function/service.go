package function

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/indexing"
	"github.com/throughline/throughline/internal/metric"
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
	options = append(options, dynamo.WithWaits(cfg.Triggers.Idle, cfg.Triggers.Spine), adoption(cfg))
	return dynamo.New(DynamoDB(cfg), cfg.TableName, options...)
}

// VectorIndexes returns the vector indexes of a configuration. Those of another vendor are built here
// (docs/extending.md).
func VectorIndexes(cfg config.Config, rt Runtime) (vector.Indexes, error) {
	p := cfg.Pinecone
	current, err := held(cfg, rt, p.IndexHost, cfg.OpenAI.Embedding, p.Namespaces)
	if err != nil {
		return vector.Indexes{}, fmt.Errorf("PINECONE_INDEX_HOST: %w", err)
	}
	if p.Next.Host == "" {
		return vector.Indexes{Serving: current}, nil
	}
	next, err := held(cfg, rt, p.Next.Host, p.Next.Embedding, p.Next.Namespaces)
	if err != nil {
		return vector.Indexes{}, fmt.Errorf("PINECONE_NEXT_INDEX: %w", err)
	}
	if p.ServeNext {
		return vector.Indexes{Serving: next, Besides: &current}, nil
	}
	return vector.Indexes{Serving: current, Besides: &next}, nil
}

// held returns an index with its model.
func held(
	cfg config.Config, rt Runtime, host string, e config.Embedding, layout config.Namespaces,
) (vector.Held, error) {
	index, err := pinecone.New(host, cfg.Pinecone.APIKey, int(layout), rt.Spans.Dial()...)
	if err != nil {
		return vector.Held{}, err
	}
	model := vector.Model{Embedder: Models(cfg.OpenAI.WithEmbedding(e), rt), Version: e.Version()}
	return vector.Held{Index: index, Model: model}, nil
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
	indexes, err := VectorIndexes(cfg, rt)
	if err != nil {
		return nil, err
	}
	options := recall.Options{Log: rt.Log, Version: indexes.Serving.Version}
	if cfg.RecallWeights != "" {
		text, err := os.ReadFile(cfg.RecallWeights)
		if err != nil {
			return nil, fmt.Errorf("read the weights of the ranking: %w", err)
		}
		if options.Weights, err = rank.Parse(text); err != nil {
			return nil, err
		}
	}
	return recall.New(dynamo.NewRecallSource(db), indexes.Serving, indexes, options), nil
}

// Indexer builds what writes records to the vector indexes.
func Indexer(cfg config.Config, rt Runtime) (*indexing.Indexer, error) {
	indexes, err := VectorIndexes(cfg, rt)
	if err != nil {
		return nil, err
	}
	return indexing.NewIndexer(indexes.All()...), nil
}

// Eraser builds the service that deletes messages, sessions and users, with everything derived from them.
func Eraser(cfg config.Config, rt Runtime, db *dynamo.DB) (*erasure.Service, error) {
	indexes, err := VectorIndexes(cfg, rt)
	if err != nil {
		return nil, err
	}
	deletion := dynamo.NewDeletionStore(db)
	d := erasure.Deps{
		Messages: deletion, Sessions: deletion, Cuts: deletion, Sources: deletion, Forgetting: deletion,
		Prompts:    dynamo.NewPromptStore(db),
		Timeline:   dynamo.NewMessageStore(db),
		Summaries:  dynamo.NewSummarySource(db),
		Tombstones: dynamo.NewTombstoneStore(db), Users: dynamo.NewErasureStore(db),
		Memories: dynamo.NewMemoryStore(db).WithoutTrace(), Todos: dynamo.NewTodoStore(db).WithoutTrace(),
		CheckIns: dynamo.NewCheckInStore(db),
		Index:    indexes, Now: time.Now, Backups: erasure.DefaultBackups,
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
		Memories: dynamo.NewMemoryStore(db), Todos: dynamo.NewTodoStore(db), Corrector: dynamo.NewMemoryHistory(db),
	}
}
