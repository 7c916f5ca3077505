package function

import (
	"time"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/httpapi"
	"github.com/throughline/throughline/internal/openai"
	"github.com/throughline/throughline/internal/pinecone"
	"github.com/throughline/throughline/internal/recall"
)

// Recall builds the service that searches with the embedding, the vector index and the table.
func Recall(cfg config.Config, rt Runtime, store *dynamo.Store) (*recall.Service, error) {
	index, err := pinecone.New(cfg.Pinecone)
	if err != nil {
		return nil, err
	}
	return recall.New(store, openai.New(cfg.OpenAI), index, recall.Options{Log: rt.Log}), nil
}

// Indexer builds what writes records to the vector index.
func Indexer(cfg config.Config) (*recall.Indexer, error) {
	index, err := pinecone.New(cfg.Pinecone)
	if err != nil {
		return nil, err
	}
	return recall.NewIndexer(openai.New(cfg.OpenAI), index, cfg.OpenAI.EmbeddingModel), nil
}

// Eraser builds the service that deletes messages, sessions and users, with everything derived from them.
func Eraser(cfg config.Config, store *dynamo.Store) (*erasure.Service, error) {
	index, err := pinecone.New(cfg.Pinecone)
	if err != nil {
		return nil, err
	}
	return erasure.New(erasure.Deps{
		Store: store, Memories: store.Memories(), Index: index, Now: time.Now, Backups: erasure.DefaultBackups,
	}), nil
}

// LongTerm returns the stores of the user's long-term records.
func LongTerm(store *dynamo.Store) httpapi.LongTerm {
	return httpapi.LongTerm{
		Profile: store.Profiles(), Seed: store.Seeds(), UserSummary: store.UserSummaries(),
		Preferences: store.Preferences(), Coaches: store, Goals: store.Goals(), CheckIns: store.CheckIns(),
		Memories: store.Memories(), Todos: store.Todos(),
	}
}
