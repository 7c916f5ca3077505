package preflight_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/internal/dynamo/preflight"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/testing/check"
)

type record = map[string]types.AttributeValue

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func n(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

// appRecord is a record of the app's with those attributes, besides its key.
func appRecord(pk, sk string, attributes record) record {
	r := record{"pk": s(pk), "sk": s(sk)}
	maps.Copy(r, attributes)
	return r
}

// bareTable is a table without Throughline's indexes, which takes every record.
func bareTable(t *testing.T) *appTable {
	t.Helper()
	a := newAppTable(t, func(in *dynamodb.CreateTableInput) {
		drop(in, table.BySource, table.Recent, table.CoachRecent, table.DueIndex)
	})
	a.expireBy(t, table.TTLAttribute)
	return a
}

// finding returns the finding of a check, or the zero one.
func finding(r preflight.Report, check string, level preflight.Level) preflight.Finding {
	for _, f := range r.Findings {
		if f.Check == check && f.Level == level {
			return f
		}
	}
	return preflight.Finding{}
}

// TestValuesThatAnIndexRefuses compares the check with the engine: a record is reported if and only if a table with the
// indexes refuses it.
func TestValuesThatAnIndexRefuses(t *testing.T) {
	t.Parallel()
	without, with := bareTable(t), newAppTable(t, nil)
	refused := map[string]int{}
	for i, c := range []struct {
		attribute string
		value     types.AttributeValue
	}{
		{"timestamp", n("1700000000")},
		{"timestamp", s("")},
		{"timestamp", s("2026-01-01T00:00:00.000Z")},
		{"timestamp", s(strings.Repeat("x", 1024))},
		{"timestamp", s(strings.Repeat("x", 1025))},
		{"timestamp", &types.AttributeValueMemberNULL{Value: true}},
		{"timestamp", &types.AttributeValueMemberM{Value: record{}}},
		{"activeAt", &types.AttributeValueMemberBOOL{Value: true}},
		{"activeAt", s("today")},
		{"sourceId", s(strings.Repeat("x", 2048))},
		{"sourceId", s(strings.Repeat("x", 2049))},
		{"sourceId", n("1")},
		{"coachKey", &types.AttributeValueMemberL{}},
		{"coachKey", s("c")},
		{"dueAt", &types.AttributeValueMemberB{Value: []byte("x")}},
		{"dueShard", s("7")},
		{"dueShard", n("7")},
		{"other", n("1")},
	} {
		r := appRecord(fmt.Sprint("app#", i), "x", record{c.attribute: c.value})
		without.mustPut(t, r)
		if with.put(t, r) != nil {
			refused[c.attribute]++
		}
	}
	report := without.run(t)
	reported := map[string]int{}
	for _, f := range report.Findings {
		if name, ok := strings.CutPrefix(f.Check, "attribute "); ok {
			reported[name] = f.Count
			if len(f.Examples) != f.Count || f.Level != preflight.Error {
				t.Errorf("got %+v, want an error with %d examples", f, f.Count)
			}
		}
	}
	check.Same(t, refused, reported, "records that the engine refuses (-) and that the check reports (+)")
	if len(refused) != 6 {
		t.Errorf("the engine refused %v, want records of all six attributes", refused)
	}
	if f := finding(report, "attribute dueShard", preflight.Error); len(f.Examples) != 1 ||
		f.Examples[0] != "app#15 / x (a text)" {
		t.Errorf("got the examples %v", f.Examples)
	}
}

func TestRecordsOfTheApp(t *testing.T) {
	t.Parallel()
	a := bareTable(t)
	for _, r := range []record{
		appRecord("user#1", "profile", nil),
		appRecord("user#1", "conversation#c1", record{"messages": &types.AttributeValueMemberL{}}),
		appRecord("user#1", "workout_session#w1", nil),
		appRecord("user#1", "summary#old", nil),
		appRecord("user#1", "ltm#goals", nil),
		appRecord("user#2", "msg#1", nil),
		appRecord("USER#3", "conversation#c3", nil),
		appRecord("USER#3", "summary#fine", nil),
		// What Throughline wrote is no finding, whatever it has.
		appRecord("user#4", "summary#conversation_summary#x", record{"generation": n("0"), "expiresAt": n("1")}),
		appRecord("user#5", "x", record{"sourceId": s("a"), "timestamp": s("b")}),
		appRecord("user#5", "y", record{"dueShard": n("1"), "dueAt": s("b")}),
	} {
		a.mustPut(t, r)
	}
	r := a.run(t)
	for check, want := range map[string]struct {
		level preflight.Level
		count int
	}{
		"keys of records": {preflight.Error, 3}, "sessions": {preflight.Warning, 2}, "partitions": {preflight.Warning, 1},
		"index sourceId-timestamp": {preflight.Warning, 1}, "index due": {preflight.Error, 1},
	} {
		if f := finding(r, check, want.level); f.Count != want.count || len(f.Examples) != want.count {
			t.Errorf("%s: got %d records, examples %v, want %d", check, f.Count, f.Examples, want.count)
		}
	}
	if f := finding(r, "keys of records", preflight.Error); !strings.Contains(strings.Join(f.Examples, "\n"),
		"user#1 / summary#old (taken for: summary)") {
		t.Errorf("got the examples %v", f.Examples)
	}
	if r.Sample.Items != 11 || !r.Sample.Complete || r.Sample.ReadUnits <= 0 {
		t.Errorf("got the sample %+v", r.Sample)
	}
}

func TestRecordsThatWouldExpire(t *testing.T) {
	t.Parallel()
	a := newAppTable(t, nil)
	a.mustPut(t, appRecord("user#1", "trial", record{"expiresAt": n("1700000000")}))
	a.mustPut(t, appRecord("user#1", "coupon", record{"expiresAt": s("2026-01-01")}))
	if f := finding(a.run(t), "ttl of records", preflight.Error); f.Count != 1 ||
		!strings.Contains(f.Examples[0], "user#1 / trial") {
		t.Errorf("got %+v, want the record with a number", f)
	}
	a.expireBy(t, table.TTLAttribute)
	if f := finding(a.run(t), "ttl of records", preflight.Error); f.Count != 0 {
		t.Errorf("got %+v, though the records expire by it today", f)
	}
}

func TestSampleIsBounded(t *testing.T) {
	t.Parallel()
	a := bareTable(t)
	var writes []types.WriteRequest
	for i := range 300 {
		writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{
			Item: appRecord(fmt.Sprint("app#", i), "x", record{"text": s(strings.Repeat("x", 2000)), "timestamp": n("1")}),
		}})
		if len(writes) == 25 {
			check.Got(a.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{a.name: writes},
			}))(t)
			writes = nil
		}
	}
	r := a.run(t, func(o *preflight.Options) { o.SampleItems = 64 })
	if r.Sample.Items > 64 || r.Sample.Items < 32 || r.Sample.Complete {
		t.Errorf("got %+v, want at most 64 records of 300", r.Sample)
	}
	f := finding(r, "attribute timestamp", preflight.Error)
	if f.Count != r.Sample.Items || len(f.Examples) != 5 {
		t.Errorf("got %d records and %d examples, want %d and 5", f.Count, len(f.Examples), r.Sample.Items)
	}
	check.Contains(t, r.Text(), "may still be there", "the text does not say that it is a sample")
	if r = a.run(t, func(o *preflight.Options) { o.SampleUnits = 3 }); r.Sample.Items >= 300 || r.Sample.Complete {
		t.Errorf("got %+v with a bound of 3 units", r.Sample)
	}
	r = a.run(t, func(o *preflight.Options) { o.SampleItems = 0 })
	if r.Sample.Items != 0 || finding(r, "records", preflight.Warning).Found == "" {
		t.Errorf("got %+v without a sample", r)
	}
}
