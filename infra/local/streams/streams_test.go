package streams_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/infra/local/template"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestRecordsAreLambdasEvents(t *testing.T) {
	table := newTable(t)
	s := subscribe(t, table, template.Stream{BatchSize: 10}, nil)
	item := map[string]types.AttributeValue{
		"pk": str("user#ü"), "sk": str("msg#1"), "s": str("a\x00b"), "n": &types.AttributeValueMemberN{Value: "1.5"},
		"b":    &types.AttributeValueMemberB{Value: []byte{0, 255}},
		"bool": &types.AttributeValueMemberBOOL{Value: true}, "null": &types.AttributeValueMemberNULL{Value: true},
		"ss": &types.AttributeValueMemberSS{Value: []string{"x", "y"}}, "ns": &types.AttributeValueMemberNS{Value: []string{"1"}},
		"bs": &types.AttributeValueMemberBS{Value: [][]byte{{1}}}, "empty": str(""),
		"none": &types.AttributeValueMemberL{Value: []types.AttributeValue{}}, "bare": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{}},
		"m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{str("deep")}}}},
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
		time.Since(inserted.Change.ApproximateCreationDateTime.Time) > time.Minute {
		t.Errorf("envelope: %+v", inserted)
	}
	want := map[string]string{
		"pk": `{"S":"user#ü"}`, "sk": `{"S":"msg#1"}`, "s": `{"S":"a\u0000b"}`, "n": `{"N":"1.5"}`, "b": `{"B":"AP8="}`,
		"bool": `{"BOOL":true}`, "null": `{"NULL":true}`, "ss": `{"SS":["x","y"]}`, "ns": `{"NS":["1"]}`, "bs": `{"BS":["AQ=="]}`,
		"empty": `{"S":""}`, "none": `{"L":[]}`, "bare": `{"M":{}}`, "m": `{"M":{"l":{"L":[{"S":"deep"}]}}}`,
	}
	for name, images := range map[string]map[string]events.DynamoDBAttributeValue{
		"new image of the insert": inserted.Change.NewImage, "old image of the removal": removed.Change.OldImage,
	} {
		if diff := cmp.Diff(want, spell(t, images)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if inserted.Change.OldImage != nil || removed.Change.NewImage != nil || len(removed.Change.Keys) != 2 {
		t.Errorf("images that the change does not have: %+v %+v", inserted.Change.OldImage, removed.Change)
	}
}

func TestOrderPerItemInterleavedItems(t *testing.T) {
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
	table := newTable(t)
	for i, sk := range []string{"msg#1", "summary#1", "msg#2"} {
		put(t, table, map[string]types.AttributeValue{"pk": str("u"), "sk": str(sk), "n": &types.AttributeValueMemberN{Value: strconv.Itoa(i)}})
	}
	s := subscribe(t, table, template.Stream{BatchSize: 10, Filters: []string{
		`{"eventName":["INSERT"],"dynamodb":{"Keys":{"sk":{"S":[{"prefix":"msg#"}]}}}}`,
	}}, nil)
	s.wait(t)
	got := s.keys()
	slices.Sort(got)
	if diff := cmp.Diff([]string{"msg#1", "msg#2"}, got); diff != "" {
		t.Errorf("delivered (-want +got):\n%s", diff)
	}
	if stats := s.poller.Stats(); stats.Read != 3 || stats.Filtered != 1 || stats.Handled != 2 {
		t.Errorf("stats %+v", stats)
	}
}

func TestBatchWindowGathers(t *testing.T) {
	table := newTable(t)
	s := subscribe(t, table, template.Stream{BatchSize: 100, BatchWindow: time.Second}, nil)
	for n := range 10 {
		put(t, table, numbered(0, n)) // one item, hence one lane
	}
	s.wait(t)
	if got := s.batches(); len(got) > 2 {
		t.Errorf("10 records within the window came in %d batches", len(got))
	}
}

// TestPayloadLimit: the records of one item, each with two large images, do not fit one event.
func TestPayloadLimit(t *testing.T) {
	table := newTable(t)
	for n := range 12 {
		it := numbered(0, n)
		it["text"] = str(strings.Repeat("x", 350<<10))
		put(t, table, it)
	}
	s := subscribe(t, table, template.Stream{BatchSize: 100, BatchWindow: 2 * time.Second}, nil)
	s.wait(t)
	if got := s.batches(); len(got) < 2 || len(s.records()) != 12 {
		t.Errorf("batches %v", got)
	}
	if s.largest > 6<<20 {
		t.Errorf("an event of %d bytes", s.largest)
	}
}

// TestPartialResponse: the handler reports two records of its first batch; the batch goes on from the lower one.
func TestPartialResponse(t *testing.T) {
	table := newTable(t)
	for n := range 6 {
		put(t, table, numbered(0, n))
	}
	var once sync.Once
	s := subscribe(t, table, template.Stream{BatchSize: 10, MaxRetries: 3, ReportsItems: true}, func(e events.DynamoDBEvent) (out any, err error) {
		once.Do(func() {
			out = failures(e.Records[4].Change.SequenceNumber, e.Records[2].Change.SequenceNumber)
		})
		return out, nil
	})
	s.wait(t)
	want := []int{0, 1, 2, 3, 4, 5, 2, 3, 4, 5}
	if got := s.numbers(t); !slices.Equal(got, want) {
		t.Errorf("delivered %v, want %v", got, want)
	}
	if stats := s.poller.Stats(); stats.Handled != 6 || stats.Pending != 0 || stats.Invocations != 2 {
		t.Errorf("stats %+v", stats)
	}
}

func TestResponsesOfTheService(t *testing.T) {
	retried := map[string]bool{
		``: false, `null`: false, `{}`: false, `{"batchItemFailures":null}`: false, `{"batchItemFailures":[]}`: false,
		`{"batchItemFailures":[{"itemIdentifier":""}]}`: true, `{"batchItemFailures":[{"itemIdentifier":null}]}`: true,
		`{"batchItemFailures":[{"other":"1"}]}`: true, `{"batchItemFailures":[{"itemIdentifier":"no such"}]}`: true,
		`{"batchItemFailures":7}`: true,
	}
	table := newTable(t)
	put(t, table, numbered(0, 0))
	for response, again := range retried {
		t.Run(response, func(t *testing.T) {
			first := true
			s := subscribe(t, table, template.Stream{BatchSize: 10, MaxRetries: 1, ReportsItems: true}, func(events.DynamoDBEvent) (any, error) {
				defer func() { first = false }()
				if first {
					return json.RawMessage(response), nil
				}
				return nil, nil
			})
			s.wait(t)
			if got := len(s.batches()) > 1; got != again {
				t.Errorf("retried %v, want %v", got, again)
			}
		})
	}
}

func TestBisectionSetsOnlyThePoisonAside(t *testing.T) {
	table := newTable(t)
	for n := range 9 {
		put(t, table, numbered(0, n))
	}
	handled := map[int]bool{}
	s := subscribe(t, table, template.Stream{BatchSize: 10, MaxRetries: 2, Bisect: true}, func(e events.DynamoDBEvent) (any, error) {
		for _, r := range e.Records {
			if r.Change.NewImage["n"].Number() == "4" {
				return nil, errors.New("poison")
			}
		}
		for _, r := range e.Records {
			n, _ := strconv.Atoi(r.Change.NewImage["n"].Number())
			handled[n] = true
		}
		return nil, nil
	})
	s.wait(t)
	if len(handled) != 8 {
		t.Errorf("handled %v, want all but 4", handled)
	}
	letters := s.poller.DeadLetters()
	if len(letters) != 1 || len(letters[0].Records) != 1 || number(t, letters[0].Records[0]) != 4 ||
		letters[0].Condition != streams.RetriesExhausted || letters[0].Invocations != 3 || letters[0].Error != "poison" {
		t.Errorf("dead letters %+v", letters)
	}
	if stats := s.poller.Stats(); stats.Dead != 1 || stats.Handled != 8 || stats.Pending != 0 {
		t.Errorf("stats %+v", stats)
	}
}

func TestRetryLimitSetsTheBatchAsideAndGoesOn(t *testing.T) {
	table := newTable(t)
	for n := range 3 {
		put(t, table, numbered(0, n))
	}
	fail := true
	s := subscribe(t, table, template.Stream{BatchSize: 10, MaxRetries: 2}, func(events.DynamoDBEvent) (any, error) {
		if fail {
			return nil, errors.New("down")
		}
		return nil, nil
	})
	s.wait(t)
	if got := s.batches(); !slices.Equal(got, []int{3, 3, 3}) {
		t.Errorf("batches %v, want one attempt and two retries", got)
	}
	fail = false
	put(t, table, numbered(0, 3))
	s.wait(t)
	if stats := s.poller.Stats(); stats.Dead != 3 || stats.Handled != 1 {
		t.Errorf("stats %+v", stats)
	}
}

func TestRecordsGrowTooOld(t *testing.T) {
	table := newTable(t)
	put(t, table, numbered(0, 0))
	s := subscribe(t, table, template.Stream{BatchSize: 10, MaxRetries: template.Unlimited, MaxAge: time.Nanosecond}, nil)
	s.wait(t)
	letters := s.poller.DeadLetters()
	if len(letters) != 1 || letters[0].Condition != streams.TooOld || len(s.batches()) != 0 {
		t.Errorf("dead letters %+v, batches %v", letters, s.batches())
	}
}

func TestConsumersAreIndependent(t *testing.T) {
	table := newTable(t)
	put(t, table, numbered(0, 0))
	failing := subscribe(t, table, template.Stream{BatchSize: 10, MaxRetries: template.Unlimited, MaxAge: template.Unlimited}, func(events.DynamoDBEvent) (any, error) {
		return nil, errors.New("down")
	})
	working := subscribe(t, table, template.Stream{BatchSize: 10}, nil)
	working.wait(t)
	if got := working.poller.Stats(); got.Handled != 1 {
		t.Errorf("stats of the working one %+v", got)
	}
	if got := failing.poller.Stats(); got.Handled != 0 || got.Dead != 0 {
		t.Errorf("stats of the failing one %+v", got)
	}
}

func TestRedeliverEverything(t *testing.T) {
	table := newTable(t)
	for n := range 5 {
		put(t, table, numbered(0, n))
	}
	s := subscribe(t, table, template.Stream{BatchSize: 2}, nil)
	s.wait(t)
	if err := s.poller.Redeliver(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wait(t)
	if got, want := s.numbers(t), []int{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("delivered %v, want %v", got, want)
	}
}

func TestRepeatDeliversSucceededBatchesAgain(t *testing.T) {
	table := newTable(t)
	put(t, table, numbered(0, 0))
	s := subscribe(t, table, template.Stream{BatchSize: 2}, nil, func(o *streams.Options) { o.Repeat = 1 })
	s.wait(t)
	s.stop()
	if got := s.numbers(t); !slices.Equal(got, []int{0, 0}) {
		t.Errorf("delivered %v, want the record twice", got)
	}
}

func TestCheckpointOutlivesThePoller(t *testing.T) {
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
	if got := second.numbers(t); !slices.Equal(got, []int{1}) {
		t.Errorf("the second poller got %v, want [1]", got)
	}
	other := newTable(t)
	put(t, other, numbered(0, 7))
	third := subscribe(t, other, template.Stream{BatchSize: 2}, nil, in)
	third.wait(t)
	if got := third.numbers(t); !slices.Equal(got, []int{7}) {
		t.Errorf("another stream's poller got %v, want [7]", got)
	}
}

func TestLatestSkipsWhatWasThere(t *testing.T) {
	table := newTable(t)
	put(t, table, numbered(0, 0))
	s := subscribe(t, table, template.Stream{BatchSize: 2}, nil, func(o *streams.Options) { o.Mapping.TrimHorizon = false })
	s.wait(t)
	put(t, table, numbered(0, 1))
	s.wait(t)
	if got := s.numbers(t); !slices.Equal(got, []int{1}) {
		t.Errorf("delivered %v, want [1]", got)
	}
}

func TestUnreadableFilterIsRefused(t *testing.T) {
	if _, err := streams.New(streams.Options{Mapping: template.Stream{Filters: []string{"{"}}}); err == nil {
		t.Error("made a poller with a filter that is not JSON")
	}
}

// subscription is a running poller whose function keeps what it gets.
type subscription struct {
	poller *streams.Poller
	arn    string
	handle func(events.DynamoDBEvent) (any, error)
	stop   func()

	mu      sync.Mutex
	seen    [][]events.DynamoDBEventRecord
	largest int // event, in bytes
}

func subscribe(t *testing.T, table string, mapping template.Stream, handle func(events.DynamoDBEvent) (any, error), options ...func(*streams.Options)) *subscription {
	t.Helper()
	if mapping.MaxAge == 0 {
		mapping.MaxAge = template.Unlimited
	}
	mapping.TrimHorizon = true
	s := &subscription{handle: handle}
	out, err := dynamodbtest.Client(t).DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	s.arn = aws.ToString(out.Table.LatestStreamArn)
	opts := streams.Options{
		Client: dynamodbstreams.New(dynamodbstreams.Options{
			Region: "us-east-1", BaseEndpoint: aws.String(dynamodbtest.Endpoint(t)),
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		}),
		StreamARN: s.arn, Function: "f", Mapping: mapping, Invoker: s, Logger: slog.New(slog.DiscardHandler),
		Backoff: time.Millisecond,
	}
	for _, o := range options {
		o(&opts)
	}
	if s.poller, err = streams.New(opts); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.poller.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

// Invoke is the function: it keeps the batch and answers what the test says.
func (s *subscription) Invoke(_ context.Context, _ string, payload []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, err
	}
	s.seen, s.largest = append(s.seen, event.Records), max(s.largest, len(payload))
	if s.handle == nil {
		return []byte("null"), nil
	}
	out, err := s.handle(event)
	if err != nil {
		return nil, err
	}
	if raw, ok := out.(json.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(out)
}

func (s *subscription) wait(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.poller.Wait(ctx, time.Now()); err != nil {
		t.Fatalf("wait: %v, stats %+v", err, s.poller.Stats())
	}
}

func (s *subscription) batches() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sizes := make([]int, len(s.seen))
	for i, batch := range s.seen {
		sizes[i] = len(batch)
	}
	return sizes
}

func (s *subscription) records() []events.DynamoDBEventRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.seen...)
}

func (s *subscription) keys() []string {
	var out []string
	for _, r := range s.records() {
		out = append(out, r.Change.Keys["sk"].String())
	}
	return out
}

func (s *subscription) numbers(t *testing.T) []int {
	t.Helper()
	var out []int
	for _, r := range s.records() {
		out = append(out, number(t, r))
	}
	return out
}

func number(t *testing.T, r events.DynamoDBEventRecord) int {
	t.Helper()
	n, err := strconv.Atoi(r.Change.NewImage["n"].Number())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func failures(sequences ...string) any {
	var list []map[string]string
	for _, s := range sequences {
		list = append(list, map[string]string{"itemIdentifier": s})
	}
	return map[string]any{"batchItemFailures": list}
}

func spell(t *testing.T, image map[string]events.DynamoDBAttributeValue) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, v := range image {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(raw)
	}
	return out
}

func newTable(t *testing.T) string {
	t.Helper()
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
	}
	attribute := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	return dynamodbtest.Table(t, &dynamodb.CreateTableInput{
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("pk"), attribute("sk")},
		KeySchema:            []types.KeySchemaElement{key("pk", types.KeyTypeHash), key("sk", types.KeyTypeRange)},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	})
}

func numbered(item, n int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": str("u"), "sk": str(fmt.Sprintf("item#%02d", item)), "n": &types.AttributeValueMemberN{Value: strconv.Itoa(n)},
	}
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func put(t *testing.T, table string, item map[string]types.AttributeValue) {
	t.Helper()
	if _, err := dynamodbtest.Client(t).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, table, pk, sk string) {
	t.Helper()
	key := map[string]types.AttributeValue{"pk": str(pk), "sk": str(sk)}
	if _, err := dynamodbtest.Client(t).DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key}); err != nil {
		t.Fatal(err)
	}
}
