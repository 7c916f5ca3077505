package adopt

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/migration"
)

// ScanAPI lists the DynamoDB calls that only the migration makes. *dynamodb.Client implements it.
type ScanAPI interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options),
	) (*dynamodb.DescribeTableOutput, error)
}

// MigrationStore is the table as the migration works on it. It is safe for concurrent use.
type MigrationStore struct {
	*StageStore
	client ScanAPI
}

// NewMigrationStore returns the migration of a DB's table.
func NewMigrationStore(db *dynamo.DB, client ScanAPI) *MigrationStore {
	return &MigrationStore{NewStageStore(db), client}
}

// Items returns how many records the table has. DynamoDB's count is up to six hours old.
func (s *MigrationStore) Items(ctx context.Context) (int, error) {
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(s.db.Name)})
	if err != nil {
		return 0, table.Failed("describe table", err)
	}
	return int(aws.ToInt64(out.Table.ItemCount)), nil
}

// Scan reads a part of a segment, consistently: sessions of all placements, or for a cleanup the parked arrays.
func (s *MigrationStore) Scan(ctx context.Context, a migration.Action, segment migration.Segment, after string,
) (migration.Page, error) {
	const op = "scan table"
	e, err := expression.NewBuilder().WithFilter(filterOf(a)).Build()
	if err != nil {
		return migration.Page{}, table.Failed(op, err)
	}
	in := &dynamodb.ScanInput{
		TableName: aws.String(s.db.Name), ConsistentRead: aws.Bool(true), FilterExpression: e.Filter(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		Segment: aws.Int32(int32(segment.Number)), TotalSegments: aws.Int32(int32(segment.Total)),
		Limit: aws.Int32(table.ScanItems),
	}
	if after != "" {
		k, ok := table.ParsePosition(after)
		if !ok {
			return migration.Page{}, fault.InvalidField("checkpoint", "must be one that this action returned")
		}
		in.ExclusiveStartKey = k.Attributes()
	}
	out, err := s.client.Scan(ctx, in)
	if err != nil {
		return migration.Page{}, table.Failed(op, err)
	}
	page := migration.Page{Items: int(out.ScannedCount)}
	for _, it := range out.Items {
		if r, ok := s.recordOf(it); ok {
			page.Records = append(page.Records, r)
		}
	}
	if len(out.LastEvaluatedKey) > 0 {
		page.After = table.KeyOf(out.LastEvaluatedKey).Position()
	}
	return page, nil
}

// filterOf selects the records that an action may have to do with.
func filterOf(a migration.Action) table.Condition {
	inUser := table.Field(table.AttrPK).BeginsWith(table.UserPrefix)
	if a == migration.Cleanup {
		return inUser.And(table.Field(table.AttrSK).BeginsWith(table.ParkedPrefix))
	}
	var isSession table.Condition
	for i, s := range conversation.AppContexts() {
		if c := table.Field(table.AttrSK).BeginsWith(s.Prefix); i == 0 {
			isSession = c
		} else {
			isSession = isSession.Or(c)
		}
	}
	return inUser.And(isSession)
}

// recordOf returns a record of a scan. It reports false for one that is no conversation: an app may keep others beside
// it, such as conversation#<id>#draft, which have no messages.
func (a *Adopter) recordOf(it table.Item) (r migration.Record, ok bool) {
	k := table.KeyOf(it)
	user, _ := table.ParsePartition(k.PK)
	r = migration.Record{User: user, Key: k.SK, Bytes: it.Size()}
	if sk, isParked := strings.CutPrefix(k.SK, table.ParkedPrefix); isParked {
		_, r.SessionID, _ = table.ParseSessionSK(sk)
		r.Parked = true
		return r, true
	}
	session, isSession := a.db.DecodeSession(it)
	if !isSession || user.Validate() != nil {
		var context string
		context, r.SessionID, _ = table.ParseSessionSK(k.SK)
		// The reason is logged, so it has no id.
		r.Problem = "its user or its session, in " + context + ", has an id that the API cannot name"
		return r, it.Nested(table.AttrAttributes).Has(attrMessages)
	}
	array := arrayOf(session)
	if isEmbedded(session) {
		r.Check = func() error {
			_, err := a.mover(user, session.ID).readable(it, session)
			return err
		}
	}
	r.SessionID, r.Placement, r.Messages = session.ID, array.Placement, max(0, array.Entries)
	if array.Placement == migration.InBoth {
		r.Messages = min(array.EmbeddedSeq, array.Entries)
	}
	r.IsUncovered = session.IsMigrated() && session.Uncovered() &&
		(session.DueAt.IsZero() || it.Has(table.AttrOrigin))
	return r, true
}

// PositionOf returns the position after a record.
func (s *MigrationStore) PositionOf(r migration.Record) string {
	return table.UserKey(r.User, r.Key).Position()
}

// SaveRun stores how far an action is in its segment.
func (s *MigrationStore) SaveRun(ctx context.Context, r migration.Run) error {
	text, err := json.Marshal(r)
	if err != nil {
		return table.Failed("save checkpoint", err)
	}
	u := table.Set(string(r.Action), string(text))
	_, err = s.db.UpdateItem(ctx, segmentKey(r.Number), u, table.Always())
	return table.Failed("save checkpoint", err)
}

// Runs returns how far an action is in all segments.
func (s *MigrationStore) Runs(ctx context.Context, a migration.Action) ([]migration.Run, error) {
	where := expression.Key(table.AttrPK).Equal(table.Value(migrationPK)).
		And(expression.Key(table.AttrSK).BeginsWith(segmentPrefix))
	var runs []migration.Run
	for it, err := range s.db.Query(ctx, "read checkpoints", table.Query{Where: where}) {
		if err != nil {
			return nil, err
		}
		var r migration.Run
		if text := it.String(string(a)); text != "" && json.Unmarshal([]byte(text), &r) == nil {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// Do carries out an action for one record.
func (s *MigrationStore) Do(ctx context.Context, a migration.Action, r migration.Record, to migration.Placement,
) (work migration.Work, err error) {
	m := s.mover(r.User, r.SessionID)
	m.byJob = true
	switch a {
	case migration.Verify:
		work.Messages, err = verifier{m}.verify(ctx)
	case migration.Index:
		work, err = makeDue(ctx, s.db, r)
	case migration.Cleanup:
		work.Writes = 1
		err = s.db.DeleteWhere(ctx, "delete parked array", table.UserKey(r.User, r.Key), table.Exists())
	default:
		err = m.move(ctx, to)
		work = m.work
	}
	return work, err
}

// makeDue lets the sweep work on a session that the job has moved.
func makeDue(ctx context.Context, db *dynamo.DB, r migration.Record) (migration.Work, error) {
	k := table.UserKey(r.User, r.Key)
	u := table.Remove(table.AttrOrigin).SetDueIfNone(k, db.Now())
	cond := table.Field(table.AttrPlacement).In(table.Value(migration.InBoth),
		table.Value(migration.InStore))
	_, err := db.UpdateItem(ctx, k, u, cond)
	if _, moved := table.ConditionFailed(err); moved {
		return migration.Work{}, nil
	}
	return migration.Work{Writes: 1}, table.Failed("make session due", err)
}
