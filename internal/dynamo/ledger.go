package dynamo

import (
	"context"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/erasure"
)

// LedgerStore is the ledger of erasures, in a table of its own, which a restore of the other one does not touch. It is
// safe for concurrent use.
type LedgerStore struct{ db *DB }

// NewLedgerStore returns the ledger in a DB's table.
func NewLedgerStore(db *DB) *LedgerStore { return &LedgerStore{db} }

// CreateLedgerInput describes the table of the ledger. It has no stream and no index.
func CreateLedgerInput(name string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		KeySchema: table.Schema(table.AttrPK, table.AttrSK),
		AttributeDefinitions: []types.AttributeDefinition{
			table.Attribute(table.AttrPK, types.ScalarAttributeTypeS), table.Attribute(table.AttrSK, types.ScalarAttributeTypeS),
		},
	}
}

// RecordErased stores an entry, unless the ledger has one of a later erasure of the user.
func (s *LedgerStore) RecordErased(ctx context.Context, e erasure.Erased) error {
	u := table.Set(table.TTLAttribute, e.At.Add(erasure.LedgerTime).Unix()).
		Apply(table.Encode(e), table.NamesOf[erasure.Erased]()...)
	isNewest := table.NotExists().Or(table.IsAtMost(table.AttrGeneration, e.Generation))
	return s.db.UpdateWhere(ctx, "record erasure", table.UserKey(e.User, table.LedgerSK(e)), u, isNewest)
}

// Entries reads the whole ledger, without what has expired. Only an operator's command may scan.
func (s *LedgerStore) Entries(ctx context.Context, scanner dynamodb.ScanAPIClient) iter.Seq2[erasure.Erased, error] {
	return func(yield func(erasure.Erased, error) bool) {
		pages := dynamodb.NewScanPaginator(scanner, &dynamodb.ScanInput{
			TableName: aws.String(s.db.Name), ConsistentRead: aws.Bool(true),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(erasure.Erased{}, fmt.Errorf("read the ledger of erasures: %w", err))
				return
			}
			for _, it := range page.Items {
				if e, ok := decodeErased(it); ok && !table.Item(it).Expired(s.db.Now()) && !yield(e, nil) {
					return
				}
			}
		}
	}
}

func decodeErased(it table.Item) (erasure.Erased, bool) {
	user, ok := table.ParsePartition(it.String(table.AttrPK))
	e := table.Decode[erasure.Erased](it)
	e.User = user
	return e, ok
}
