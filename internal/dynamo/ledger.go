package dynamo

import (
	"context"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/erasure"
)

// LedgerStore is the ledger of erasures, in a table of its own, which a restore of the other one does not touch. It is
// safe for concurrent use.
type LedgerStore struct{ db *DB }

var _ erasure.Ledger = (*LedgerStore)(nil)

// NewLedgerStore returns the ledger in a DB's table.
func NewLedgerStore(db *DB) *LedgerStore { return &LedgerStore{db} }

// CreateLedgerInput describes the table of the ledger. It has no stream and no index.
func CreateLedgerInput(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest, KeySchema: schema(attrPK, attrSK),
		AttributeDefinitions: []types.AttributeDefinition{
			attribute(attrPK, types.ScalarAttributeTypeS), attribute(attrSK, types.ScalarAttributeTypeS),
		},
	}
}

// RecordErased stores an entry, unless the ledger has one of a later erasure of the user.
func (s *LedgerStore) RecordErased(ctx context.Context, e erasure.Erased) error {
	u := expression.Set(field(attrGeneration), value(intAttr(e.Generation))).
		Set(field(attrErasedAt), value(timeAttr(e.At))).
		Set(field(TTLAttribute), value(intAttr(e.At.Add(erasure.LedgerTime).Unix())))
	if e.SessionID != "" {
		u = u.Set(field(attrSessionID), value(stringAttr(e.SessionID)))
	}
	if e.MessageID != "" {
		u = u.Set(field(attrMessageID), value(stringAttr(e.MessageID)))
	}
	if !e.CreatedAt.IsZero() {
		u = u.Set(field(attrCreatedAt), value(timeAttr(e.CreatedAt)))
	}
	isNewest := notExists().Or(field(attrGeneration).LessThanEqual(value(intAttr(e.Generation))))
	_, err := s.db.updateItem(ctx, key{partition(e.User), ledgerSK(e)}, u, isNewest)
	return failed("record erasure", ignoreConditionFailed(err))
}

// Entries reads the whole ledger, without what has expired. Only an operator's command may scan.
func (s *LedgerStore) Entries(ctx context.Context, scanner dynamodb.ScanAPIClient) iter.Seq2[erasure.Erased, error] {
	return func(yield func(erasure.Erased, error) bool) {
		pages := dynamodb.NewScanPaginator(scanner, &dynamodb.ScanInput{
			TableName: aws.String(s.db.table), ConsistentRead: aws.Bool(true),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(erasure.Erased{}, fmt.Errorf("read the ledger of erasures: %w", err))
				return
			}
			for _, it := range page.Items {
				if e, ok := decodeErased(it); ok && !item(it).expired(s.db.now()) && !yield(e, nil) {
					return
				}
			}
		}
	}
}

func decodeErased(it item) (erasure.Erased, bool) {
	user, ok := parsePartition(it.string(attrPK))
	return erasure.Erased{
		User: user, Generation: it.int64(attrGeneration), SessionID: it.string(attrSessionID),
		CreatedAt: it.time(attrCreatedAt), MessageID: it.string(attrMessageID), At: it.time(attrErasedAt),
	}, ok
}
