package streams_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// handleFunc is a function's code. It answers with JSON, or with a value that is encoded as JSON.
type handleFunc func(events.DynamoDBEvent) (any, error)

// subscription is a running poller whose function records what it gets.
type subscription struct {
	poller *streams.Poller
	arn    string
	handle handleFunc
	stop   func()

	mu      sync.Mutex
	seen    [][]events.DynamoDBEventRecord
	largest int // bytes of the largest event
}

func subscribe(
	t *testing.T, table string, mapping template.Stream, handle handleFunc, options ...func(*streams.Options),
) *subscription {
	t.Helper()
	if mapping.MaxAge == 0 {
		mapping.MaxAge = template.Unlimited
	}
	mapping.TrimHorizon = true
	s := &subscription{handle: handle}
	out, err := dynamodbtest.Client(t).DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	check.OK(t, err)
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

// Invoke is the function: it records the batch and answers as the test's handler does.
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
	return check.Got(strconv.Atoi(r.Change.NewImage["n"].Number()))(t)
}

// failures returns a partial batch response.
func failures(sequences ...string) any {
	var list []map[string]string
	for _, s := range sequences {
		list = append(list, map[string]string{"itemIdentifier": s})
	}
	return map[string]any{"batchItemFailures": list}
}

// encode returns each attribute as JSON.
func encode(t *testing.T, image map[string]events.DynamoDBAttributeValue) map[string]string {
	t.Helper()
	out := map[string]string{}
	for name, v := range image {
		raw := check.Got(json.Marshal(v))(t)
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
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	})
}

// numbered returns the n-th state of an item.
func numbered(item, n int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": str("u"), "sk": str(fmt.Sprintf("item#%02d", item)), "n": num(strconv.Itoa(n)),
	}
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

func listOf(values ...types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberL{Value: values}
}

func mapOf(fields map[string]types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: fields}
}

func put(t *testing.T, table string, item map[string]types.AttributeValue) {
	t.Helper()
	input := &dynamodb.PutItemInput{TableName: &table, Item: item}
	check.Got(dynamodbtest.Client(t).PutItem(t.Context(), input))(t)
}

func remove(t *testing.T, table, pk, sk string) {
	t.Helper()
	key := map[string]types.AttributeValue{"pk": str(pk), "sk": str(sk)}
	input := &dynamodb.DeleteItemInput{TableName: &table, Key: key}
	check.Got(dynamodbtest.Client(t).DeleteItem(t.Context(), input))(t)
}
