package reindex

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
)

// Table lists users and what of theirs has vectors, and records how far a reindex is. It is safe for concurrent
// use.
type Table struct {
	*dynamo.HitStore
	*dynamo.DeletionStore
	db      *dynamo.DB
	scanner dynamodb.ScanAPIClient
}

// NewTable returns the table of a DB. The scanner reads the whole table, which nothing else does.
func NewTable(db *dynamo.DB, scanner dynamodb.ScanAPIClient) *Table {
	return &Table{dynamo.NewHitStore(db), dynamo.NewDeletionStore(db), db, scanner}
}

// Users reads one page of a segment of the table and returns the users that it has records of.
func (s *Table) Users(ctx context.Context, segment, segments int, after string,
) (users []conversation.UserID, next string, err error) {
	const op = "scan users"
	in := &dynamodb.ScanInput{
		TableName: aws.String(s.db.Name), Segment: aws.Int32(int32(segment)), TotalSegments: aws.Int32(int32(segments)),
		ProjectionExpression: aws.String(table.AttrPK), Limit: aws.Int32(table.ScanItems),
	}
	if after != "" {
		k, ok := table.ParsePosition(after)
		if !ok {
			return nil, "", fault.Wrap(fault.Internal, "read checkpoint", errors.New("it is not the position of a scan"))
		}
		in.ExclusiveStartKey = k.Attributes()
	}
	out, err := s.scanner.Scan(ctx, in)
	if err != nil {
		return nil, "", table.Failed(op, err)
	}
	for _, it := range out.Items {
		if user, ok := table.ParsePartition(table.Item(it).String(table.AttrPK)); ok {
			users = append(users, user)
		}
	}
	if len(out.LastEvaluatedKey) > 0 {
		next = table.KeyOf(out.LastEvaluatedKey).Position()
	}
	return slices.Compact(users), next, nil
}

// reindexPage is how many records one page has at most.
const reindexPage = 100

// reindexPrefixes are those of the records that have vectors, besides messages.
func reindexPrefixes() []string {
	prefixes := make([]string, 0, len(conversation.AppContexts())+6)
	for _, appContext := range conversation.AppContexts() {
		prefixes = append(prefixes, appContext.Prefix)
	}
	prefixes = append(prefixes, table.SummaryPrefix)
	for _, kind := range []string{table.MemoryKind, table.CheckInKind} {
		prefixes = append(prefixes, table.RecordSK(table.LivePrefix, kind, ""), table.RecordSK(table.PastPrefix, kind, ""))
	}
	return append(prefixes, table.DocumentPrefix)
}

// Records reads one page of a user's sessions and of the ids of the summaries, memories, check-ins and documents, of
// the user's current generation, consistently.
func (s *Table) Records(ctx context.Context, user conversation.UserID, after string) (Page, error) {
	const op = "list records"
	current, err := s.db.ReadCurrent(ctx, op, user)
	if err != nil {
		return Page{}, err
	}
	page := Page{Generation: current.Generation(user)}
	prefixes := reindexPrefixes()
	start := slices.IndexFunc(prefixes, func(p string) bool { return strings.HasPrefix(after, p) })
	for i, prefix := range prefixes[max(start, 0):] {
		q := table.Query{Where: table.WithPrefix(user, prefix), Page: reindexPage}
		if i == 0 && start >= 0 {
			q.After = table.UserKey(user, after).Attributes()
		}
		for it, err := range s.db.Query(ctx, op, q) {
			if err != nil {
				return page, err
			}
			if it.Int64(table.AttrGeneration) != page.Generation {
				continue
			}
			sk := it.String(table.AttrSK)
			if session, ok := s.db.DecodeSession(it); ok {
				page.Sessions = append(page.Sessions, session)
			} else if id, ok := vectorID(sk); ok {
				page.IDs = append(page.IDs, id)
			}
			if len(page.Sessions)+len(page.IDs) == reindexPage {
				page.Next = sk
				return page, nil
			}
		}
	}
	return page, nil
}

// vectorID returns the id of the vector of a summary, memory, check-in or document.
func vectorID(sk string) (string, bool) {
	if id, ok := strings.CutPrefix(sk, table.SummaryPrefix); ok {
		return id, true
	}
	for _, kind := range []string{table.MemoryKind, table.CheckInKind} {
		if id, _, ok := table.ParseRecordSK(sk, kind); ok {
			return id, true
		}
	}
	return sk, table.IsDocumentSK(sk)
}

// checkpointKey is the key of the progress of a segment, which belongs to no user.
func checkpointKey(to string, segment int) table.Key {
	return table.NewKey("reindex", fmt.Sprintf("%s#segment#%04d", to, segment))
}

// Checkpoint reads the progress of a segment. It is the beginning where there is none with as many segments.
func (s *Table) Checkpoint(ctx context.Context, to string, segment, segments int) (Checkpoint, error) {
	k := checkpointKey(to, segment)
	records, err := s.db.Read(ctx, "read checkpoint", k)
	c := table.Decode[Checkpoint](records[k])
	if c.Segments != segments {
		c = Checkpoint{Segments: segments}
	}
	c.Segment = segment
	return c, err
}

// SaveCheckpoint stores the progress of a segment.
func (s *Table) SaveCheckpoint(ctx context.Context, to string, c Checkpoint) error {
	tx := s.db.Transaction()
	tx.Replace(table.Encode(c).With(checkpointKey(to, c.Segment).Attributes()))
	_, err := s.db.Commit(ctx, "save checkpoint", tx, s.db.Backoff())
	return err
}
