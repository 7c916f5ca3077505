package streams_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestRecordsAreLambdaEvents(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	s := subscribe(t, table, template.Stream{BatchSize: 10}, nil)
	item := map[string]types.AttributeValue{
		"pk": str("user#ü"), "sk": str("msg#1"), "s": str("a\x00b"), "n": num("1.5"),
		"b":    &types.AttributeValueMemberB{Value: []byte{0, 255}},
		"bool": &types.AttributeValueMemberBOOL{Value: true}, "null": &types.AttributeValueMemberNULL{Value: true},
		"ss": &types.AttributeValueMemberSS{Value: []string{"x", "y"}},
		"ns": &types.AttributeValueMemberNS{Value: []string{"1"}},
		"bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}}}, "empty": str(""),
		"none": listOf(), "bare": mapOf(map[string]types.AttributeValue{}),
		"m": mapOf(map[string]types.AttributeValue{"l": listOf(str("deep"))}),
	}
	put(t, table, item)
	remove(t, table, "user#ü", "msg#1")
	s.wait(t)
	records := s.records()
	if len(records) != 2 || records[0].EventName != "INSERT" || records[1].EventName != "REMOVE" {
		t.Fatalf("records: %+v", records)
	}
	inserted, removed := records[0], records[1]
	if inserted.EventSource != "aws:dynamodb" || inserted.EventSourceArn != s.arn || inserted.AWSRegion == "" ||
		inserted.Change.StreamViewType != "NEW_AND_OLD_IMAGES" || inserted.Change.SequenceNumber == "" ||
		time.Since(inserted.Change.ApproximateCreationDateTime.Time) > 2*time.Minute { // the engine cuts it to minutes
		t.Errorf("envelope: %+v", inserted)
	}
	want := map[string]string{
		"pk": `{"S":"user#ü"}`, "sk": `{"S":"msg#1"}`, "s": `{"S":"a\u0000b"}`, "n": `{"N":"1.5"}`,
		"b": `{"B":"AP8="}`, "bool": `{"BOOL":true}`, "null": `{"NULL":true}`,
		"ss": `{"SS":["x","y"]}`, "ns": `{"NS":["1"]}`, "bs": `{"BS":["AQ=="]}`,
		"empty": `{"S":""}`, "none": `{"L":[]}`, "bare": `{"M":{}}`, "m": `{"M":{"l":{"L":[{"S":"deep"}]}}}`,
	}
	for name, images := range map[string]map[string]events.DynamoDBAttributeValue{
		"new image of the insert": inserted.Change.NewImage, "old image of the removal": removed.Change.OldImage,
	} {
		check.Same(t, want, encode(t, images), "%s", name)
	}
	if inserted.Change.OldImage != nil || removed.Change.NewImage != nil || len(removed.Change.Keys) != 2 {
		t.Errorf("images that the change does not have: %+v %+v", inserted.Change.OldImage, removed.Change)
	}
}

func TestItemsKeepTheirOrderAndInterleave(t *testing.T) {
	t.Parallel()
	const items, writes = 12, 15
	table := newTable(t)
	for n := range writes {
		for item := range items {
			put(t, table, numbered(item, n))
		}
	}
	s := subscribe(t, table, template.Stream{BatchSize: 7, Parallel: 10}, nil)
	s.wait(t)
	var all []string
	last := map[string]int{}
	for _, r := range s.records() {
		item, n := r.Change.Keys["sk"].String(), number(t, r)
		if n != last[item] {
			t.Fatalf("%s: write %d came after %d", item, n, last[item]-1)
		}
		last[item] = n + 1
		all = append(all, r.Change.SequenceNumber)
	}
	if len(all) != items*writes {
		t.Errorf("%d records, want %d", len(all), items*writes)
	}
	if slices.IsSorted(all) {
		t.Error("records of different items came in the order they were written: nothing is interleaved")
	}
	for _, size := range s.batches() {
		if size > 7 {
			t.Errorf("a batch of %d", size)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for i, sk := range []string{"msg#1", "summary#1", "msg#2"} {
		put(t, table, map[string]types.AttributeValue{"pk": str("u"), "sk": str(sk), "n": num(strconv.Itoa(i))})
	}
	s := subscribe(t, table, template.Stream{BatchSize: 10, Filters: []string{
		`{"eventName":["INSERT"],"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"msg#"}]}}}}`,
	}}, nil)
	s.wait(t)
	got := s.keys()
	slices.Sort(got)
	check.Same(t, []string{"msg#1", "msg#2"}, got, "delivered")
	if stats := s.poller.Stats(); stats.Handled != 2 || stats.Pending != 0 {
		t.Errorf("stats %+v", stats)
	}
}

// TestBatchWindowGathers is not parallel, because the writes have to be made within the window.
func TestBatchWindowGathers(t *testing.T) {
	table := newTable(t)
	s := subscribe(t, table, template.Stream{BatchSize: 100, BatchWindow: time.Second}, nil)
	for n := range 10 {
		put(t, table, numbered(0, n)) // one item, so one worker
	}
	s.wait(t)
	if got := s.batches(); len(got) > 2 {
		t.Errorf("10 records within the window came in %d batches", len(got))
	}
}

// TestPayloadLimit writes one item so large and so often that the records do not fit into one event.
func TestPayloadLimit(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	for n := range 10 { // each record but the first has the item twice, as it was and as it is
		item := numbered(0, n)
		item["text"] = str(strings.Repeat("x", 350<<10))
		put(t, table, item)
	}
	s := subscribe(t, table, template.Stream{BatchSize: 100, BatchWindow: 2 * time.Second}, nil)
	s.wait(t)
	if got := s.batches(); len(got) < 2 || len(s.records()) != 10 {
		t.Errorf("batches %v", got)
	}
	if s.largest > 6<<20 {
		t.Errorf("an event of %d bytes", s.largest)
	}
}

func TestCheckpointOutlivesThePoller(t *testing.T) {
	t.Parallel()
	table := newTable(t)
	file := filepath.Join(t.TempDir(), "checkpoint")
	in := func(o *streams.Options) { o.CheckpointFile = file }
	put(t, table, numbered(0, 0))
	first := subscribe(t, table, template.Stream{BatchSize: 2}, nil, in)
	first.wait(t)
	first.stop()
	put(t, table, numbered(0, 1))
	second := subscribe(t, table, template.Stream{BatchSize: 2}, nil, in)
	second.wait(t)
	check.Same(t, []int{1}, second.numbers(t), "the second poller got")
	other := newTable(t)
	put(t, other, numbered(0, 7))
	third := subscribe(t, other, template.Stream{BatchSize: 2}, nil, in)
	third.wait(t)
	check.Same(t, []int{7}, third.numbers(t), "another stream's poller got")
}

// TestLatestSkipsEarlierRecords is not parallel. While other tables are written, DynamoDB Local refuses iterators that
// begin at LATEST with a TrimmedDataAccessException.
func TestLatestSkipsEarlierRecords(t *testing.T) {
	table := newTable(t)
	put(t, table, numbered(0, 0))
	latest := func(o *streams.Options) { o.Mapping.TrimHorizon = false }
	s := subscribe(t, table, template.Stream{BatchSize: 2}, nil, latest)
	s.wait(t)
	put(t, table, numbered(0, 1))
	s.wait(t)
	check.Same(t, []int{1}, s.numbers(t), "delivered")
}
