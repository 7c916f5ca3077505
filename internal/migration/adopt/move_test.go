package adopt_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

type appRecord = map[string]types.AttributeValue

// appTable is a table with an app's own records.
type appTable struct {
	client *dynamodb.Client
	table  string
	db     *dynamo.DB
	// state is the one of setStage.
	state migration.State
}

func newAppTable(t testing.TB, records ...appRecord) *appTable {
	t.Helper()
	a := &appTable{client: dynamodbtest.Client(t), table: dynamotest.Table(t)}
	a.db = open(a.client, a.table, dynamotest.FixedClock(), adopt.WithInitialStage(migration.Dual),
		adopt.WithTokens(func(text string) int { return len(strings.Fields(text)) }))
	for _, r := range records {
		a.put(t, r)
	}
	return a
}

func (a *appTable) put(t testing.TB, r appRecord) {
	t.Helper()
	check.Got(a.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &a.table, Item: r}))(t)
}

// setStage changes the stage, whatever a migration would allow. Nothing else changes it.
func (a *appTable) setStage(t testing.TB, stage migration.Stage, clock *dynamotest.Clock) {
	t.Helper()
	after := migration.State{Stage: stage, Percent: 100, Version: a.state.Version + 1, ChangedAt: clock.Time()}
	operator := adopt.NewStageStore(open(a.client, a.table, clock.Option()))
	check.OK(t, operator.Save(t.Context(), a.state, after))
	a.state = after
}

// get returns a record, nil if there is none.
func (a *appTable) get(t testing.TB, pk, sk string) appRecord {
	t.Helper()
	out := check.Got(a.client.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &a.table, ConsistentRead: aws.Bool(true),
		Key: appRecord{"pk": str(pk), "sk": str(sk)},
	}))(t)
	return out.Item
}

// stored returns the messages of a session in the shared store, by seq.
func (a *appTable) stored(t testing.TB, user, sessionSK string) []legacy.Message {
	t.Helper()
	pages := dynamodb.NewQueryPaginator(a.client, &dynamodb.QueryInput{
		TableName: &a.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :msg)"),
		ExpressionAttributeValues: appRecord{
			":pk": str("user#" + user), ":msg": str("msg#"),
		},
	})
	var out []legacy.Message
	for pages.HasMorePages() {
		page := check.Got(pages.NextPage(t.Context()))(t)
		for _, it := range page.Items {
			if text(it["sourceId"]) == user+"#"+sessionSK {
				out = append(out, legacy.Message{Role: text(it["role"]), Content: text(it["content"])})
			}
		}
	}
	return out
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func text(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

func (a *appTable) move(t testing.TB, s legacy.Session, to migration.Placement) migration.Work {
	t.Helper()
	work, err := adopt.Move(t.Context(), a.db, conversation.UserID(s.User), s.ID, to)
	if err != nil {
		t.Fatalf("move %s, %s, to %s: %v", s.ID, s.Shape, to, err)
	}
	return work
}

// diffRecords compares records. What differs is looked for only where they are not equal, which is far faster.
func diffRecords(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, sameRecord)
}

var recordOptions = cmpopts.IgnoreUnexported(
	types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberL{},
	types.AttributeValueMemberM{}, types.AttributeValueMemberBOOL{}, types.AttributeValueMemberNULL{},
	types.AttributeValueMemberB{}, types.AttributeValueMemberSS{}, types.AttributeValueMemberNS{},
	types.AttributeValueMemberBS{},
)

var sameRecord = cmp.Options{recordOptions, cmpopts.EquateEmpty()}

// apps returns what a record has of the app's.
func apps(r appRecord) appRecord {
	r = maps.Clone(r)
	for _, name := range []string{"placement", "generation", "throughline", "entityType"} {
		delete(r, name)
	}
	return r
}

// TestMoveThereAndBack moves sessions of every shape through all placements and back. Their messages are in the store
// in the order and with the contents of the array, and the app's record is as it was. The second half of the sessions,
// which has all shapes, goes twice.
func TestMoveThereAndBack(t *testing.T) {
	t.Parallel()
	source := legacy.Table{Users: 7, Sessions: 28, Messages: 250, Large: 1, Seed: 3}
	a := newAppTable(t)
	for n := range source.Sessions {
		s := source.Session(n)
		t.Run(s.Shape, func(t *testing.T) {
			t.Parallel()
			a.put(t, s.Item)
			before := a.get(t, "user#"+s.User, s.Key())
			for round := range 1 + n/(source.Sessions/2) {
				if work := a.move(t, s, migration.InBoth); round > 0 && work.Messages > 0 {
					t.Errorf("the way there again copied %d messages, which are there", work.Messages)
				}
				work := a.move(t, s, migration.InBoth)
				if work.Writes > 0 {
					t.Errorf("a second move wrote %+v", work)
				}
				a.wantStored(t, s)
				a.move(t, s, migration.InStore)
				a.wantStored(t, s)
				r := a.get(t, "user#"+s.User, s.Key())
				if attributes := r["attributes"].(*types.AttributeValueMemberM); attributes.Value["messages"] != nil {
					t.Error("the shared session's record has the array still")
				}
				a.move(t, s, migration.InArray)
				r = a.get(t, "user#"+s.User, s.Key())
				if diff := diffRecords(apps(before), apps(r)); diff != "" {
					t.Errorf("the app's record after the way back (-before +after):\n%s", diff)
				}
				if parked := a.get(t, "user#"+s.User, "legacy#"+s.Key()); parked != nil {
					t.Error("the array is parked still")
				}
			}
		})
	}
}

func (a *appTable) wantStored(t *testing.T, s legacy.Session) {
	t.Helper()
	got := a.stored(t, s.User, s.Key())
	if diff := cmp.Diff(s.Messages, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s, %s: the store differs (-array +store):\n%s", s.ID, s.Shape, diff)
	}
}

// TestAppValues checks that an app's attributes of names that Throughline writes survive, whatever is done meanwhile.
func TestAppValues(t *testing.T) {
	t.Parallel()
	s := legacy.Table{Users: 1, Sessions: 1, Messages: 4, Seed: 1}.Session(0)
	maps.Copy(s.Item, appRecord{
		"status": str("active"), "version": str("v7"),
		"summary": str("the app's"), "dueAt": str("soon"),
		"messageCount": num("77"), "origin": &types.AttributeValueMemberBOOL{Value: true},
		"tags": &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
		"big":  num("12345678901234567890123"),
	})
	a := newAppTable(t, s.Item)
	before := a.get(t, "user#"+s.User, s.Key())
	a.move(t, s, migration.InStore)
	stores := dynamotest.StoresOf(a.db)
	status := conversation.Completed
	check.Got(stores.Sessions.UpdateSession(t.Context(), conversation.UserID(s.User), s.ID,
		conversation.SessionChange{Status: &status}))(t)
	a.move(t, s, migration.InArray)
	after := a.get(t, "user#"+s.User, s.Key())
	if diff := diffRecords(apps(before), apps(after)); diff != "" {
		t.Errorf("the app's record (-before +after):\n%s", diff)
	}
	own := after["throughline"].(*types.AttributeValueMemberM).Value
	if text(own["status"]) != "completed" {
		t.Errorf("the status is %v", own["status"])
	}
}

// TestForgottenAfterTheWayBack checks that a session still names a message that the user asked to forget when its array
// has the messages again, and that the app's record is as it was.
func TestForgottenAfterTheWayBack(t *testing.T) {
	t.Parallel()
	s := legacy.Table{Users: 1, Sessions: 1, Messages: 4, Seed: 1}.Session(0)
	a := newAppTable(t, s.Item)
	user, stores := conversation.UserID(s.User), dynamotest.StoresOf(a.db)
	before := a.get(t, "user#"+s.User, s.Key())
	a.move(t, s, migration.InStore)
	session := check.Got(stores.Sessions.Session(t.Context(), user, s.ID))(t)
	messages := check.Got(stores.Messages.MessagesBefore(t.Context(), user, session, conversation.Message{}, 1))(t)
	check.Got(stores.Deletion.ForgetMessage(t.Context(), user, messages[0].ID))(t)
	a.move(t, s, migration.InArray)
	session = check.Got(stores.Sessions.Session(t.Context(), user, s.ID))(t)
	check.Equal(t, fmt.Sprint(messages[0].Seq), session.Forgotten.String(), "the forgotten messages")
	if diff := diffRecords(apps(before), apps(a.get(t, "user#"+s.User, s.Key()))); diff != "" {
		t.Errorf("the app's record (-before +after):\n%s", diff)
	}
}

// TestFullRecord moves a session whose record has no room for what dual adds to it. It goes to the shared store at
// once, for the job and for an append, and its messages do not fit back.
func TestFullRecord(t *testing.T) {
	t.Parallel()
	s := legacy.Table{Users: 1, Sessions: 1, Messages: 39, Large: 1, Seed: 1}.Session(0)
	fillRecord(t, newAppTable(t), s.Item)
	for _, appends := range []bool{false, true} {
		a := newAppTable(t, s.Item)
		want, user := slices.Clone(s.Messages), conversation.UserID(s.User)
		if appends {
			check.Got(dynamotest.StoresOf(a.db).Messages.Append(t.Context(), user, dynamotest.OneMessage(s.ID, "one more")))(t)
			want = append(want, legacy.Message{Role: "user", Content: "one more"})
		} else {
			a.move(t, s, migration.InBoth)
		}
		check.Same(t, want, a.stored(t, s.User, s.Key()), "stored")
		r := a.get(t, "user#"+s.User, s.Key())
		if text(r["placement"]) != string(migration.InStore) || r["outgrown"] == nil {
			t.Errorf("placement %s, outgrown %v", text(r["placement"]), r["outgrown"])
		}
		_, err := adopt.Move(t.Context(), a.db, user, s.ID, migration.InBoth)
		if reason, ok := migration.ReasonOf(err); !ok || !strings.Contains(reason, "400 KB") {
			t.Errorf("the way back: %v", err)
		}
	}
}

// fillRecord pads a session's record until there is no room for another 16 bytes. What dual adds takes more. The units
// that a write consumes say how large the record is to a KB.
func fillRecord(t *testing.T, a *appTable, record appRecord) {
	t.Helper()
	attributes := record["attributes"].(*types.AttributeValueMemberM).Value
	put := func(bytes int) (*dynamodb.PutItemOutput, error) {
		attributes["padding"] = str(strings.Repeat("x", bytes))
		return a.client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: &a.table, Item: record, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
	}
	out, err := put(0)
	check.OK(t, err)
	room := 400<<10 - int(*out.ConsumedCapacity.CapacityUnits)<<10
	for step := 512; step >= 16; step /= 2 {
		if _, err := put(room + step); err == nil {
			room += step
		}
	}
	if _, err = put(room + 16); err == nil {
		t.Fatal("the record is not full")
	}
	attributes["padding"] = str(strings.Repeat("x", room))
}

// TestThrottlesOfAMove moves a session while the table throttles a transaction, and while the answer to one is lost.
// The job slows down because of either.
func TestThrottlesOfAMove(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{
		&types.ThrottlingException{Message: aws.String("slow down")}, dynamotest.ErrNoAnswer,
	} {
		s := legacy.Table{Users: 1, Sessions: 1, Messages: 4, Seed: 1}.Session(0)
		a := newAppTable(t, s.Item)
		f := &dynamotest.FailingCalls{Op: "TransactWriteItems", Errs: []error{failure, failure}}
		api := dynamotest.Intercept(a.client, dynamotest.Interceptor{Call: f.Call})
		db := open(api, a.table, adopt.WithInitialStage(migration.Dual))
		work, err := adopt.Move(t.Context(), db, conversation.UserID(s.User), s.ID, migration.InBoth)
		if err != nil || work.Throttles != 2 || f.Failed != 2 {
			t.Errorf("%d throttles, %v, after %d failures, want 2", work.Throttles, err, f.Failed)
		}
		a.wantStored(t, s)
	}
}
