package vector

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
)

// Index is the port of one vector index: the package of a vendor implements it.
// It keeps the vectors of each user and generation apart, so that no call reaches another user's. Writes can be
// repeated. Refusals for a plan's limits have ErrQuota in their chain, and those of the key fault.ErrSetup. It is safe
// for concurrent use. vectortest.Run tests an implementation.
type Index interface {
	Querier
	Writer
	Deleter
}

// Querier finds vectors.
type Querier interface {
	// Source is what answers and metrics call the index when it does not answer: the name of its vendor.
	Source() string
	// Query returns the user's records nearest to the query, the best first. A user without vectors has none.
	Query(ctx context.Context, user conversation.UserID, generation int64, q Query) ([]Match, error)
}

// Writer stores vectors.
type Writer interface {
	// Dimension returns the dimension of the dense vectors. It is 0 where the index does not say.
	Dimension(ctx context.Context) (int, error)
	// Room returns an error when the index has lately refused what the user's next vectors would need. Whoever asks first
	// need not embed what the index would refuse. It returns nil where it cannot tell.
	Room(ctx context.Context, user conversation.UserID, generation int64) error
	// Upsert stores records. A record replaces the one of its id.
	Upsert(ctx context.Context, user conversation.UserID, generation int64, records []Record) error
}

// Deleter deletes vectors.
type Deleter interface {
	// Delete deletes records. It ignores ids without a record.
	Delete(ctx context.Context, user conversation.UserID, generation int64, ids []string) error
	// Drop deletes all vectors of the generation and returns how many there were. With an error, it returns how many it
	// has deleted.
	Drop(ctx context.Context, user conversation.UserID, generation int64) (int, error)
}

// Embedder turns texts into dense, normalised vectors: one for each text, in the same order.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Model is an embedding model. Its version is stored with each vector, so that vectors of another one can be
// recognised.
type Model struct {
	Embedder
	Version string
}
