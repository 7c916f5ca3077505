package dynamo

import (
	"context"
	"maps"
	"slices"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
	"github.com/throughline/throughline/internal/vector"
)

// DeleteSummaries deletes a session's summary and returns its vector ids. The summary of a later session of the same id
// has the same key and the same vector, and stays.
func (s *DeletionStore) DeleteSummaries(ctx context.Context, user conversation.UserID, session conversation.Session,
) ([]string, error) {
	k, id, ok := summaryOf(user, session)
	if !ok {
		return nil, nil
	}
	err := s.db.DeleteItem(ctx, k, table.NotExists().Or(table.IsOf(session)))
	if _, isOther := table.ConditionFailed(err); isOther {
		return nil, nil
	}
	return []string{id}, table.Failed("delete summary", err)
}

// isBeyondDocument reports whether a vector is of a part that the document of a record cannot have: a document before
// it had the same key and a longer text.
func isBeyondDocument(it table.Item, vectorID string) bool {
	sk := it.String(table.AttrSK)
	if !table.IsDocumentSK(sk) {
		return false
	}
	return !slices.Contains(vector.PartIDs(sk, 0, int(it.Int64(table.AttrVectorCount))), vectorID)
}

// WithoutRecord returns those of the vector ids that have no record of the generation.
func (s *DeletionStore) WithoutRecord(ctx context.Context, user conversation.UserID, generation int64, vectors []string,
) ([]string, error) {
	keys := map[table.Key]bool{}
	for _, id := range vectors {
		for _, k := range vectorKeys(user, id) {
			keys[k] = true
		}
	}
	records, err := s.db.Read(ctx, "read records", slices.Collect(maps.Keys(keys))...)
	if err != nil {
		return nil, err
	}
	hasRecord := func(id string) bool {
		return slices.ContainsFunc(vectorKeys(user, id), func(k table.Key) bool {
			it, ok := records[k]
			return ok && it.Int64(table.AttrGeneration) == generation && !isBeyondDocument(it, id)
		})
	}
	return slices.DeleteFunc(slices.Clone(vectors), hasRecord), nil
}

// DeleteMarks deletes the clientMessageIds of a session and the prompts that are kept of its turns.
func (s *DeletionStore) DeleteMarks(ctx context.Context, user conversation.UserID, session conversation.Session,
) error {
	const op = "delete marks of a session"
	sk, _ := table.SessionSK(session.Context, session.ID)
	var keys []table.Key
	for _, prefix := range []string{table.ClientsOf(sk, session), table.KeptPrefix + sk + "#"} {
		q := table.Query{Where: table.WithPrefix(user, prefix), Only: []string{table.AttrPK, table.AttrSK}}
		for it, err := range s.db.QueryWithExpired(ctx, op, q) {
			if err != nil {
				return err
			}
			keys = append(keys, table.KeyOf(it))
		}
	}
	return table.Failed(op, s.db.DeleteAll(ctx, keys))
}

// SessionsOf returns the sessions of the messages that exist, by message id.
func (s *DeletionStore) SessionsOf(ctx context.Context, user conversation.UserID, messageIDs []string,
) (map[string]erasure.Source, error) {
	ids := map[table.Key]string{}
	var keys []table.Key
	for _, id := range messageIDs {
		sk, ok := table.ParseMessageID(user, id)
		if k := table.UserKey(user, sk); ok && ids[k] == "" {
			ids[k] = id
			keys = append(keys, k)
		}
	}
	records, err := s.db.Read(ctx, "read messages", keys...)
	if err != nil {
		return nil, err
	}
	sessions := make(map[string]erasure.Source, len(records))
	for k, it := range records {
		if m, ok := table.DecodeMessage(it); ok {
			sessions[ids[k]] = erasure.Source{SessionID: m.SessionID, CreatedAt: table.SessionCreatedAt(it)}
		}
	}
	return sessions, nil
}
