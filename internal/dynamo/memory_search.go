package dynamo

import (
	"context"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/document"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/recall"
)

// Memories returns the user's memories of that generation: the live ones, and withPast the newest of the others.
func (s *HitStore) Memories(ctx context.Context, user conversation.UserID, generation int64, withPast bool,
) ([]longterm.Memory, error) {
	prefixes := []string{table.LivePrefix}
	if withPast {
		prefixes = append(prefixes, table.PastPrefix)
	}
	var out []longterm.Memory
	for _, prefix := range prefixes {
		low, n := table.RecordSK(prefix, table.MemoryKind, ""), 0
		q := table.Query{Where: table.Between(user, low, table.AfterPrefix(low)), Descending: true}
		for it, err := range s.db.Query(ctx, "search memories", q) {
			if err != nil {
				return nil, err
			}
			if it.Int64(table.AttrGeneration) == generation {
				out = append(out, decodeMemory(it))
			}
			if n++; prefix == table.PastPrefix && n == recall.PastMemories {
				break
			}
		}
	}
	return out, nil
}

// Documents returns one page of the user's documents, as DocumentStore does.
func (s *HitStore) Documents(ctx context.Context, user conversation.UserID, under document.Namespace,
	f document.Filter, page conversation.Page,
) ([]document.Document, conversation.Position, error) {
	return NewDocumentStore(s.db).Documents(ctx, user, under, f, page)
}
