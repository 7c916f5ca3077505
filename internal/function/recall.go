package function

import (
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/recall"
)

// Recall wires the chain embedding, vector index, table.
func Recall(cfg config.Config, rt Runtime, store *dynamo.Store) (*recall.Service, error) {
	index, err := pinecone.New(cfg.Pinecone)
	if err != nil {
		return nil, err
	}
	return recall.New(store, openai.New(cfg.OpenAI), index, recall.Options{Log: rt.Log}), nil
}

// Indexer wires what makes records findable.
func Indexer(cfg config.Config) (*recall.Indexer, error) {
	index, err := pinecone.New(cfg.Pinecone)
	if err != nil {
		return nil, err
	}
	return recall.NewIndexer(openai.New(cfg.OpenAI), index, cfg.OpenAI.EmbeddingModel), nil
}

// Eraser wires what deletes messages, sessions and users with everything drawn from them.
func Eraser(cfg config.Config, store *dynamo.Store) (*erasure.Service, error) {
	index, err := pinecone.New(cfg.Pinecone)
	if err != nil {
		return nil, err
	}
	return erasure.New(erasure.Deps{
		Store: store, Memories: store.Memories(), Index: index, Now: time.Now, Backups: erasure.DefaultBackups,
	}), nil
}
