package adopt_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration"
	"github.com/throughline/throughline/internal/migration/adopt"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamotest"
)

// meter adds up what the calls of a client consume.
type meter struct {
	*dynamodb.Client
	mu            sync.Mutex
	reads, writes float64
	transactions  int
}

func newMeter(client *dynamodb.Client) *meter {
	m := &meter{}
	m.Client = dynamodb.New(client.Options(), func(o *dynamodb.Options) {
		o.APIOptions = append(slices.Clip(o.APIOptions), func(s *middleware.Stack) error {
			return s.Initialize.Add(middleware.InitializeMiddlewareFunc("meter", m.call), middleware.Before)
		})
	})
	return m
}

// take returns what was consumed since the last take.
func (m *meter) take() (reads, writes float64, transactions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	reads, writes, transactions = m.reads, m.writes, m.transactions
	m.reads, m.writes, m.transactions = 0, 0, 0
	return reads, writes, transactions
}

func (m *meter) call(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	out middleware.InitializeOutput, metadata middleware.Metadata, err error,
) {
	if asked := reflect.ValueOf(in.Parameters).Elem().FieldByName("ReturnConsumedCapacity"); asked.IsValid() {
		asked.Set(reflect.ValueOf(types.ReturnConsumedCapacityTotal))
	}
	if out, metadata, err = next.HandleInitialize(ctx, in); err != nil {
		return out, metadata, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch out := out.Result.(type) {
	case *dynamodb.TransactWriteItemsOutput:
		m.transactions++
		m.writes += units(out.ConsumedCapacity...)
	case *dynamodb.UpdateItemOutput:
		m.writes += units(*out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		m.reads += units(out.ConsumedCapacity...)
	case *dynamodb.QueryOutput:
		m.reads += units(*out.ConsumedCapacity)
	case *dynamodb.ScanOutput:
		m.reads += units(*out.ConsumedCapacity)
	}
	return out, metadata, nil
}

func units(consumed ...types.ConsumedCapacity) (sum float64) {
	for _, c := range consumed {
		sum += aws.ToFloat64(c.CapacityUnits)
	}
	return sum
}

// TestAppendToAMovedArray appends to a session that came with an array of 390 KB and to a small one, when both are
// shared: both cost the same. In dual the large record is written again.
func TestAppendToAMovedArray(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	units := func(stage migration.Stage, s *arraySession) float64 {
		t.Helper()
		m := newMeter(a.client)
		db := open(m, a.table, dynamotest.FixedClock(), adopt.WithInitialStage(stage))
		more := dynamotest.OneMessage("c", "one more")
		check.Got(dynamotest.StoresOf(db).Messages.Append(t.Context(), s.user, more))(t)
		_, writes, _ := m.take()
		return writes
	}
	small := a.newArraySession(t, "small", 1, 10, migration.InStore)
	large := a.newArraySession(t, "large", 39, 10_000, migration.InStore)
	want, got := units(migration.Shared, small), units(migration.Shared, large)
	if want == 0 || got != want {
		t.Errorf("the append takes %g units, and %g to a small session", got, want)
	}
	dual := a.newArraySession(t, "dual", 38, 10_000, migration.InBoth)
	if got := units(migration.Dual, dual); got < 700 {
		t.Errorf("in dual the append takes %g units, want those of a record of 390 KB", got)
	}
}

// service returns the actions of the migration on the table, in a stage that was entered long ago.
func (a *appTable) service(t *testing.T, api table.API, scans adopt.ScanAPI, stage migration.Stage,
) *migration.Service {
	t.Helper()
	now := time.Now()
	db := open(api, a.table, adopt.WithInitialStage(migration.Dual))
	store := adopt.NewMigrationStore(db, scans)
	before := check.Got(store.State(t.Context()))(t)
	after := before
	after.Stage, after.Percent, after.ChangedAt = stage, 100, conversation.Milliseconds(now.Add(-time.Hour))
	after.Version++
	check.OK(t, store.Save(t.Context(), before, after))
	return &migration.Service{
		Table: store, Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil },
		Report: func(context.Context, migration.Action, migration.Mismatch) {},
	}
}

func run(t *testing.T, s *migration.Service, action migration.Action, more ...func(*migration.Request),
) migration.Answer {
	t.Helper()
	r := migration.Request{Action: string(action), Percent: 100, TotalSegments: 1}
	for _, f := range more {
		f(&r)
	}
	out, err := s.Run(t.Context(), r)
	if err != nil || !out.Done {
		t.Fatalf("%s: %+v, %v", action, out, err)
	}
	return out
}

// TestOutgrownInDual appends to a dual session until its array has no room. It goes on in the shared store, marked, and
// the rollback names it with the reason and moves the others.
func TestOutgrownInDual(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	s := a.newArraySession(t, "large", 39, 10_000, migration.InBoth)
	other := a.newArraySession(t, "small", 3, 10, migration.InStore)
	stores := dynamotest.StoresOf(a.db)
	for i := range 3 {
		content := fmt.Sprint(i, strings.Repeat("y", 10_000))
		check.Got(stores.Messages.Append(t.Context(), s.user, dynamotest.OneMessage("c", content)))(t)
		s.want = append(s.want, content)
	}
	placement := func(s *arraySession, want migration.Placement) appRecord {
		t.Helper()
		r := a.get(t, "user#"+string(s.user), arraySK)
		if text(r["placement"]) != string(want) {
			t.Errorf("%s is %s, want %s", s.user, text(r["placement"]), want)
		}
		return r
	}
	if r := placement(s, migration.InStore); r["outgrown"] == nil {
		t.Error("the session is not marked")
	}
	service := a.service(t, a.client, a.client, migration.SharedRead)
	toDual := func(r *migration.Request) { r.To = string(migration.Dual) }
	out := run(t, service, migration.Rollback, toDual)
	if len(out.Mismatches) != 1 || out.Mismatches[0].UserID != s.user ||
		!strings.Contains(out.Mismatches[0].Reason, "400 KB") {
		t.Errorf("the rollback names %+v", out.Mismatches)
	}
	placement(s, migration.InStore)
	placement(other, migration.InBoth)
	s.checkOnTheWay(t, a.db)
}

// contentsOf returns all records but those of the migration itself.
func (a *appTable) contentsOf(t *testing.T) map[string]appRecord {
	t.Helper()
	all := map[string]appRecord{}
	pages := dynamodb.NewScanPaginator(a.client, &dynamodb.ScanInput{TableName: &a.table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page := check.Got(pages.NextPage(t.Context()))(t)
		for _, it := range page.Items {
			if text(it["pk"]) != "migration" {
				all[text(it["pk"])+" "+text(it["sk"])] = it
			}
		}
	}
	return all
}

// TestBackfillTwice runs each backfill twice. The second one changes nothing. In dual it compares arrays and store, as
// verify does. In shared it reads no more than the first, apart from the attributes that the first gave to the records.
func TestBackfillTwice(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	table := legacy.Table{Users: 4, Sessions: 26, Messages: 300, Large: 1, Seed: 5}
	check.OK(t, table.Load(t.Context(), a.client, a.table))
	most := map[migration.Stage]float64{migration.Dual: 2, migration.Shared: 1.02}
	for _, stage := range []migration.Stage{migration.Dual, migration.Shared} {
		m := newMeter(a.client)
		service := a.service(t, m, m, stage)
		m.take()
		run(t, service, migration.Backfill)
		firstReads, _, transactions := m.take()
		if transactions == 0 {
			t.Errorf("the backfill of %s does nothing", stage)
		}
		before := a.contentsOf(t)
		out := run(t, service, migration.Backfill)
		reads, writes, transactions := m.take()
		if transactions > 0 || writes > 3 || reads > most[stage]*firstReads || out.Progress.Changed > 0 {
			t.Errorf("the second backfill of %s read %g units and the first %g, and it wrote %g in %d transactions",
				stage, reads, firstReads, writes, transactions)
		}
		if diff := diffRecords(before, a.contentsOf(t)); diff != "" {
			t.Errorf("the second backfill of %s changed (-before +after):\n%s", stage, diff)
		}
	}
}

// TestRollbackWithoutEntityType checks that an app's record without entityType has none after the way back, and that a
// session which Throughline created keeps its own.
func TestRollbackWithoutEntityType(t *testing.T) {
	t.Parallel()
	a := newAppTable(t)
	a.newArraySession(t, "app", 2, 5, migration.InBoth, migration.InStore, migration.InArray)
	if r := a.get(t, "user#app", arraySK); r["entityType"] != nil {
		t.Errorf("the app's record has the entityType %s", text(r["entityType"]))
	}
	for _, stage := range []migration.Stage{migration.Embedded, migration.Dual, migration.Shared} {
		user := conversation.UserID("own-" + string(stage))
		db := open(a.client, a.table, dynamotest.FixedClock(), adopt.WithInitialStage(stage))
		dynamotest.NewSession(t, dynamotest.StoresOf(db), user, "coach_conversation", "c", "hi")
		want := a.get(t, "user#"+string(user), arraySK)["entityType"]
		for range 2 {
			for _, to := range []migration.Placement{migration.InStore, migration.InArray} {
				check.Got(adopt.Move(t.Context(), a.db, user, "c", to))(t)
				r := a.get(t, "user#"+string(user), arraySK)
				if text(r["entityType"]) != text(want) || text(want) == "" {
					t.Errorf("created in %s, then %s: the entityType is %q, was %q", stage, to, text(r["entityType"]), text(want))
				}
			}
		}
	}
}

// TestAppChangesItsAttribute moves a record whose top has other values than Throughline's of the same names, while the
// app changes one of them between the read and the switch.
func TestAppChangesItsAttribute(t *testing.T) {
	t.Parallel()
	s := legacy.Table{Users: 1, Sessions: 1, Messages: 4, Seed: 1}.Session(0)
	a := newAppTable(t, s.Item)
	var once sync.Once
	db := open(dynamotest.Intercept(a.client, dynamotest.Interceptor{Call: func(op string, run func() error) error {
		if op == "TransactWriteItems" {
			once.Do(func() {
				changed := maps.Clone(s.Item)
				changed["status"] = str("closed")
				a.put(t, changed)
			})
		}
		return run()
	}}), a.table, dynamotest.FixedClock())
	for _, to := range []migration.Placement{migration.InStore, migration.InArray} {
		check.Got(adopt.Move(t.Context(), db, conversation.UserID(s.User), s.ID, to))(t)
	}
	if r := a.get(t, "user#"+s.User, s.Key()); text(r["status"]) != "closed" {
		t.Errorf("the app's status is %q, want closed", text(r["status"]))
	}
}
