package dynamo

import (
	"context"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/extraction"
)

// pastRecords is how many of the memories that have ended can be forgotten by a request in words, and how many settled
// todos are known.
const pastRecords = 100

// Known reads the user's memories and todos that are among the live records, also those that are too old by now. One
// query reads both, and the few small records between them. Two others read the newest past ones, if asked for.
func (s *ExtractionStore) Known(ctx context.Context, user conversation.UserID, generation int64, withPast bool,
) (extraction.Known, error) {
	known := extraction.Known{Versions: map[string]int64{}}
	low := table.RecordSK(table.LivePrefix, table.MemoryKind, "")
	high := table.AfterPrefix(table.RecordSK(table.LivePrefix, table.TodoKind, ""))
	for it, err := range s.db.Query(ctx, "read what is known", table.Query{Where: table.Between(user, low, high)}) {
		if err != nil {
			return known, err
		}
		if it.Int64(table.AttrGeneration) != generation {
			continue
		}
		sk := it.String(table.AttrSK)
		if id, _, ok := table.ParseRecordSK(sk, table.MemoryKind); ok {
			known.Memories = append(known.Memories, decodeMemory(it))
			known.Versions[id] = it.Int64(table.AttrVersion)
		}
		if id, _, ok := table.ParseRecordSK(sk, table.TodoKind); ok {
			known.Todos = append(known.Todos, decodeTodo(it))
			known.Versions[id] = it.Int64(table.AttrVersion)
		}
	}
	if withPast {
		if err := s.addPast(ctx, user, generation, &known); err != nil {
			return known, err
		}
	}
	traces, err := s.traces(ctx, user, generation, table.MemoryKind)
	for _, it := range traces {
		known.Forgotten = append(known.Forgotten, forgottenOf(it))
	}
	if err != nil || !withPast {
		return known, err
	}
	others, err := s.traces(ctx, user, generation, messageTrace)
	for _, it := range slices.Concat(traces, others) {
		known.ForgottenMessages = append(known.ForgottenMessages, it.Strings(table.AttrMessageIDs)...)
	}
	return known, err
}

// addPast reads the newest past memories and todos.
func (s *ExtractionStore) addPast(ctx context.Context, user conversation.UserID, generation int64,
	known *extraction.Known,
) error {
	memories, err := s.memories.listPrefix(ctx, user, table.PastPrefix, "", pastRecords)
	if err != nil {
		return err
	}
	for _, it := range memories {
		if it.Int64(table.AttrGeneration) == generation {
			known.Past = append(known.Past, decodeMemory(it))
			known.Versions[recordID(it)] = it.Int64(table.AttrVersion)
		}
	}
	todos, err := s.todos.listPrefix(ctx, user, table.PastPrefix, "", pastRecords)
	for _, it := range todos {
		if it.Int64(table.AttrGeneration) == generation {
			known.PastTodos = append(known.PastTodos, decodeTodo(it))
		}
	}
	return err
}

// traces reads what the memories or messages that the user has forgotten have left.
func (s *ExtractionStore) traces(ctx context.Context, user conversation.UserID, generation int64, kind string,
) (out []table.Item, err error) {
	prefix := table.ForgottenPrefix + kind + "#"
	q := table.Query{Where: table.Between(user, prefix, table.AfterPrefix(prefix))}
	for it, err := range s.db.Query(ctx, "read what is forgotten", q) {
		if err != nil {
			return nil, err
		}
		if it.Int64(table.AttrGeneration) == generation {
			out = append(out, it)
		}
	}
	return out, nil
}
