package dynamo

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/throughline/throughline/internal/conversation"
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

var _ migration.Table = (*MigrationStore)(nil)

// NewMigrationStore returns the migration of a DB's table.
func NewMigrationStore(db *DB, client ScanAPI) *MigrationStore {
	return &MigrationStore{NewStageStore(db), client}
}

// ScanItems is how many records a call of a scan reads at most. DynamoDB ends a page at 1 MB in any case, which is
// about as many messages. Without a limit DynamoDB Local reads the whole rest of a segment for each page.
const ScanItems = 2000

// Scan reads a part of a segment, consistently: sessions of all placements, or for a cleanup the parked arrays.
func (s *MigrationStore) Scan(ctx context.Context, a migration.Action, segment migration.Segment, after string,
) (migration.Page, error) {
	const op = "scan table"
	e, err := expression.NewBuilder().WithFilter(filterOf(a)).Build()
	if err != nil {
		return migration.Page{}, failed(op, err)
	}
	in := &dynamodb.ScanInput{
		TableName: aws.String(s.db.table), ConsistentRead: aws.Bool(true), FilterExpression: e.Filter(),
		ExpressionAttributeNames: e.Names(), ExpressionAttributeValues: e.Values(),
		Segment: aws.Int32(int32(segment.Number)), TotalSegments: aws.Int32(int32(segment.Total)),
		Limit: aws.Int32(ScanItems), ReturnConsumedCapacity: byIndex,
	}
	if after != "" {
		k, err := parsePosition(after)
		if err != nil {
			return migration.Page{}, err
		}
		in.ExclusiveStartKey = k.attributes()
	}
	out, err := s.client.Scan(ctx, in)
	if err != nil {
		return migration.Page{}, failed(op, err)
	}
	page := migration.Page{Items: int(out.ScannedCount), Units: migration.Units{}}
	for _, r := range consumed(out.ConsumedCapacity) {
		page.Units.Add(unitsOf(false, r))
	}
	for _, it := range out.Items {
		if r, ok := recordOf(it); ok {
			page.Records = append(page.Records, r)
		}
	}
	if len(out.LastEvaluatedKey) > 0 {
		page.After = position(keyOf(out.LastEvaluatedKey))
	}
	return page, nil
}

// filterOf selects the records that an action may have to do with.
func filterOf(a migration.Action) expression.ConditionBuilder {
	inUser := field(attrPK).BeginsWith(userPrefix)
	if a == migration.Cleanup {
		return inUser.And(field(attrSK).BeginsWith(parkedPrefix))
	}
	var isSession expression.ConditionBuilder
	for i, s := range conversation.Surfaces() {
		if c := field(attrSK).BeginsWith(s.Prefix); i == 0 {
			isSession = c
		} else {
			isSession = isSession.Or(c)
		}
	}
	return inUser.And(isSession)
}

// recordOf returns a record of a scan. It reports false for one that is no conversation: an app may keep others beside
// it, such as conversation#<id>#draft, which have no messages.
func recordOf(it item) (r migration.Record, ok bool) {
	k := keyOf(it)
	user, _ := parsePartition(k.pk)
	r = migration.Record{User: user, Key: k.sk, Bytes: it.size()}
	if sk, isParked := cutParked(k.sk); isParked {
		_, r.SessionID, _ = parseSessionSK(sk)
		r.Parked = true
		return r, true
	}
	session, isSession := decodeSession(it)
	if !isSession || user.Validate() != nil {
		var context string
		context, r.SessionID, _ = parseSessionSK(k.sk)
		// The reason is logged, so it has no id.
		r.Problem = "its user or its session, in " + context + ", has an id that the API cannot name"
		return r, it.nested(attrAttributes).has(attrMessages)
	}
	r.SessionID, r.Placement, r.Messages = session.ID, session.Placement, max(0, session.Entries)
	if session.Placement == conversation.Dual {
		r.IsAdopted = session.Entries == session.MessageCount
		r.Messages = min(session.EmbeddedSeq, session.Entries)
	}
	r.IsUncovered = session.Placement != conversation.Embedded && session.Uncovered() &&
		(session.DueAt.IsZero() || it.has(attrOrigin))
	return r, true
}

// A position is a key as JSON.

func position(k key) string {
	text, _ := json.Marshal([]string{k.pk, k.sk}) // texts can always be encoded
	return string(text)
}

func parsePosition(text string) (key, error) {
	var parts []string
	if err := json.Unmarshal([]byte(text), &parts); err != nil || len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return key{}, fault.InvalidField("checkpoint", "must be one that this action returned")
	}
	return key{parts[0], parts[1]}, nil
}

// PositionOf returns the position after a record.
func (s *MigrationStore) PositionOf(r migration.Record) string {
	return position(key{partition(r.User), r.Key})
}

// segmentKey is the key of what is known of a segment: one attribute for each action, with its run as JSON.
func segmentKey(n int) key { return key{migrationPK, segmentPrefix + strconv.Itoa(n)} }

const segmentPrefix = "segment#"

// SaveRun stores how far an action is in its segment.
func (s *MigrationStore) SaveRun(ctx context.Context, r migration.Run) error {
	text, err := json.Marshal(r)
	if err != nil {
		return failed("save checkpoint", err)
	}
	u := expression.Set(field(string(r.Action)), value(stringAttr(string(text))))
	_, err = s.db.updateItem(ctx, segmentKey(r.Number), u, exists().Or(notExists()))
	return failed("save checkpoint", err)
}

// Runs returns how far an action is in all segments.
func (s *MigrationStore) Runs(ctx context.Context, a migration.Action) ([]migration.Run, error) {
	where := expression.Key(attrPK).Equal(value(stringAttr(migrationPK))).
		And(expression.Key(attrSK).BeginsWith(segmentPrefix))
	var runs []migration.Run
	for it, err := range s.db.query(ctx, "read checkpoints", query{where: where}) {
		if err != nil {
			return nil, err
		}
		var r migration.Run
		if text := it.string(string(a)); text != "" && json.Unmarshal([]byte(text), &r) == nil {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

// Do carries out an action for one record.
func (s *MigrationStore) Do(ctx context.Context, a migration.Action, r migration.Record, to conversation.Placement,
) (work migration.Work, err error) {
	db, meter := metered(s.db)
	switch a {
	case migration.Verify:
		v := verifier{db, r.User, r.SessionID}
		work.Messages, err = v.verify(ctx)
	case migration.Index:
		work, err = makeDue(ctx, db, r)
	case migration.Cleanup:
		work.Writes = 1
		err = db.deleteItem(ctx, key{partition(r.User), r.Key}, exists())
		err = failed("delete parked array", ignoreConditionFailed(err))
	default:
		m := &mover{db: db, user: r.User, id: r.SessionID, byJob: true, backoff: db.backoff()}
		err = m.move(ctx, to)
		work = m.work
	}
	work.Units = meter.used
	return work, err
}

// makeDue lets the sweep work on a session that the job has moved.
func makeDue(ctx context.Context, db *DB, r migration.Record) (migration.Work, error) {
	k := key{partition(r.User), r.Key}
	u := setDueIfNone(expression.Remove(field(attrOrigin)), k, db.now())
	cond := field(attrPlacement).In(value(stringAttr(string(conversation.Dual))),
		value(stringAttr(string(conversation.Shared))))
	_, err := db.updateItem(ctx, k, u, cond)
	if _, moved := conditionFailed(err); moved {
		return migration.Work{}, nil
	}
	return migration.Work{Writes: 1}, failed("make session due", err)
}
