package function_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/google/go-cmp/cmp"
	sdk "github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/dynamodblocal/dynamodbtest"
	"github.com/throughline/throughline/infra/local/pineconelocal/pineconetest"
	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/adopt"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/rememberfn"
	"github.com/throughline/throughline/internal/function/summarizefn"
	"github.com/throughline/throughline/internal/longterm"
)

// instances is how many instances each function has.
const instances = 3

var streamFunctions = []string{"remember", "summarize"}

// instance is one instance of a function.
type instance struct {
	worker string
	handle func(ctx context.Context, payload json.RawMessage) (any, error)
}

// pipeline is a table with its stream, an index and a model of its own, and instances of the functions that the stream
// invokes. Its writer has a clock of its own.
type pipeline struct {
	table     string
	client    *dynamodb.Client
	endpoint  string // of DynamoDB, for the instances
	host      string
	model     *countingModel
	functions map[string][]instance

	sessions *dynamo.SessionStore
	messages *dynamo.MessageStore
	turns    *dynamo.TurnStore
	memories *dynamo.CollectionStore[longterm.Memory]
	checkIns *dynamo.CollectionStore[longterm.CheckIn]
	now      time.Time

	workers workers
	random  *rand.Rand // for kills, nil for none

	pollers []*streams.Poller
	stream  gatedClient
	mu      sync.Mutex
	read    []record // from the stream, and not taken yet

	first map[string]int // the instance of a record's first delivery
	late  []record       // second deliveries for later
}

func newPipeline(t *testing.T) *pipeline {
	t.Helper()
	p := &pipeline{
		client: dynamodbtest.Client(t),
		now:    time.Date(2026, 2, 5, 18, 0, 0, 0, time.UTC), first: map[string]int{}, functions: map[string][]instance{},
	}
	p.host, p.model = pineconetest.Host(t, dimensions, p.workers.interceptor()), newCountingModel(t, &p.workers)
	p.table = dynamodbtest.Table(t, table.CreateTableInput("any"))
	db := dynamo.New(p.client, p.table, adopt.WithLegacy(), dynamo.WithClock(func() time.Time { return p.now }))
	p.sessions, p.messages, p.turns = dynamo.NewSessionStore(db), dynamo.NewMessageStore(db), dynamo.NewTurnStore(db)
	p.memories, p.checkIns = dynamo.NewMemoryStore(db), dynamo.NewCheckInStore(db)
	p.endpoint = p.workers.dynamoDB(t)
	for range instances {
		for _, function := range streamFunctions {
			p.functions[function] = append(p.functions[function], p.newInstance(t, function))
		}
	}
	p.follow(t)
	return p
}

// dimensions is the length of the vectors.
const dimensions = 16

// newInstance starts an instance of a function.
func (p *pipeline) newInstance(t *testing.T, name string) instance {
	t.Helper()
	worker := p.workers.hire()
	cfg, err := config.Parse(map[string]string{
		"TABLE_NAME": p.table, "AWS_ENDPOINT_URL_DYNAMODB": p.endpoint, "AWS_ACCESS_KEY_ID": worker,
		"AWS_SECRET_ACCESS_KEY": "local", "PINECONE_INDEX_HOST": p.host, "PINECONE_API_KEY": worker,
		"OPENAI_BASE_URL": p.model.url, "OPENAI_API_KEY": worker, "SUMMARY_TIMEOUT_MS": "60000",
		"OPENAI_EMBEDDING_DIMENSIONS": fmt.Sprint(dimensions),
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime := function.Runtime{Log: slog.New(slog.DiscardHandler), Metrics: io.Discard}
	if name == "summarize" {
		summarize, err := summarizefn.New(t.Context(), cfg, runtime)
		if err != nil {
			t.Fatal(err)
		}
		return instance{worker, summarize}
	}
	remember, err := rememberfn.New(t.Context(), cfg, runtime)
	if err != nil {
		t.Fatal(err)
	}
	return instance{worker, func(ctx context.Context, payload json.RawMessage) (any, error) {
		var event events.DynamoDBEvent
		if err := json.Unmarshal(payload, &event); err != nil {
			return nil, err
		}
		return remember(ctx, event)
	}}
}

// follow collects the records that the template's mappings would deliver.
func (p *pipeline) follow(t *testing.T) {
	t.Helper()
	deployed, err := template.Parse(throughline.Template, nil)
	if err != nil {
		t.Fatal(err)
	}
	described, err := p.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &p.table})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	p.stream = gatedClient{BuildableClient: awshttp.NewBuildableClient(), gate: &sync.RWMutex{}}
	p.stream.gate.Lock()
	t.Cleanup(func() { cancel(); p.stream.gate.Unlock(); running.Wait() })
	for _, name := range streamFunctions {
		f, _ := deployed.Function(name)
		mapping := f.Streams[0]
		mapping.BatchWindow = 0
		poller, err := streams.New(streams.Options{
			Client: dynamodbstreams.New(dynamodbstreams.Options{
				Region: "us-east-1", BaseEndpoint: aws.String(dynamodbtest.Endpoint(t)),
				Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), HTTPClient: p.stream,
			}),
			StreamARN: aws.ToString(described.Table.LatestStreamArn), Function: name, Mapping: mapping, Invoker: p,
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		p.pollers = append(p.pollers, poller)
		running.Go(func() { _ = poller.Run(ctx) })
	}
}

// gatedClient reads records while its gate is not locked. Pollers that read all the time take a third of a test's CPU
// time.
type gatedClient struct {
	*awshttp.BuildableClient
	gate *sync.RWMutex
}

func (c gatedClient) Do(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
		c.gate.RLock()
		defer c.gate.RUnlock()
	}
	return c.BuildableClient.Do(r)
}

// Invoke collects the records of a batch. The pollers call it in a function's place.
func (p *pipeline) Invoke(_ context.Context, function string, payload []byte) ([]byte, error) {
	var batch struct{ Records []json.RawMessage }
	if err := json.Unmarshal(payload, &batch); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, raw := range batch.Records {
		r := record{function: function, raw: raw}
		if err := json.Unmarshal(raw, &r.event); err != nil {
			return nil, err
		}
		p.read = append(p.read, r)
	}
	return nil, nil
}

// take returns the records of everything that was written, in the order of the stream.
func (p *pipeline) take(t *testing.T) []record {
	t.Helper()
	p.stream.gate.Unlock()
	defer p.stream.gate.Lock()
	since := time.Now()
	for _, poller := range p.pollers {
		if err := poller.Wait(t.Context(), since); err != nil {
			t.Fatal(err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	records := p.read
	p.read = nil
	slices.SortFunc(records, func(a, b record) int {
		return strings.Compare(a.event.Change.SequenceNumber, b.event.Change.SequenceNumber)
	})
	return records
}

// deliver invokes an instance until it reports no failure.
func (p *pipeline) deliver(t *testing.T, function string, instance int, batch []record) {
	t.Helper()
	raws := make([]json.RawMessage, len(batch))
	for i, r := range batch {
		raws[i] = r.raw
	}
	payload, err := json.Marshal(map[string]any{"Records": raws})
	if err != nil {
		t.Error(err)
	}
	for range 5 {
		out, err := p.invoke(t, function, instance, payload)
		response, ok := out.(events.DynamoDBEventResponse)
		if err == nil && ok && len(response.BatchItemFailures) == 0 {
			return
		}
	}
	t.Errorf("%s does not handle a batch of %d", function, len(batch))
}

// play writes a history in steps. After each step its records are delivered, and those of what the functions write. In
// the end the sweep runs.
func (p *pipeline) play(t *testing.T, deliver func(*testing.T, []record)) {
	t.Helper()
	for _, write := range history {
		p.now = p.now.Add(20 * time.Minute)
		if err := write(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		for records := p.take(t); len(records) > 0; records = p.take(t) {
			deliver(t, records)
		}
	}
	p.sweep(t)
	p.sweep(t)
}

func (p *pipeline) sweep(t *testing.T) {
	t.Helper()
	if _, err := p.invoke(t, "summarize", 1, json.RawMessage(`{"schedule":"sweep"}`)); err != nil {
		t.Fatal(err)
	}
}

// outcome is what follows from a history: the table with its watermarks and summaries, the index, and what was paid
// for.
type outcome struct {
	items, vectors map[string]string
	paid           map[string]int
}

func (p *pipeline) outcome(t *testing.T) outcome {
	t.Helper()
	return outcome{p.items(t), p.vectors(t), p.model.paid()}
}

var (
	ordered     outcome
	playOrdered sync.Once
)

// inOrder returns the outcome of the history whose records are delivered once, in the order of the stream, to one
// instance of each function. It is played once for all tests.
func inOrder(t *testing.T) outcome {
	t.Helper()
	playOrdered.Do(func() {
		p := newPipeline(t)
		p.play(t, p.deliverInOrder)
		p.finish(t)
		ordered = p.outcome(t)
	})
	if ordered.items == nil {
		t.Fatal("the history in order was not played")
	}
	return ordered
}

// compare compares the table and the index with those of another outcome.
func (o outcome) compare(t *testing.T, want outcome) {
	t.Helper()
	if diff := cmp.Diff(want.items, o.items); diff != "" {
		t.Errorf("table (-in order +got)\n%s", diff)
	}
	if diff := cmp.Diff(want.vectors, o.vectors); diff != "" {
		t.Errorf("index (-in order +got)\n%s", diff)
	}
}

// volatile are attributes that are random, or depend on when a record was handled, or on which of several reasons came
// first.
var volatile = []string{
	"creation", "updatedAt", "summaryUpdatedAt", "summaryIndexedAt", "dueAt", "dueShard", "triggerReason", "coveredTo",
}

func stable(record map[string]any) map[string]any {
	maps.DeleteFunc(record, func(name string, _ any) bool { return slices.Contains(volatile, name) })
	for _, v := range record {
		if nested, ok := v.(map[string]any); ok {
			stable(nested)
		}
	}
	return record
}

// randomPart finds the random parts of ids, without which every id in the history is still unique.
var randomPart = regexp.MustCompile(`(msg_\w+_\d+_|msg#[^#"]+#|check_in_|memory_)\w+`)

// dump adds a record to others, as JSON without random parts.
func dump(t *testing.T, all map[string]string, name string, record any) {
	t.Helper()
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	all[randomPart.ReplaceAllString(name, "$1")] = randomPart.ReplaceAllString(string(text), "$1")
}

// items returns the table's records by their keys.
func (p *pipeline) items(t *testing.T) map[string]string {
	t.Helper()
	out, err := p.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &p.table, ConsistentRead: aws.Bool(true)})
	if err != nil || out.LastEvaluatedKey != nil {
		t.Fatalf("scan: %v, or too much for a page", err)
	}
	items := map[string]string{}
	for _, it := range out.Items {
		var record map[string]any
		if err := attributevalue.UnmarshalMap(it, &record); err != nil {
			t.Fatal(err)
		}
		if sk := fmt.Sprint(record["sk"]); strings.HasPrefix(sk, "ltm#spine#") {
			// How often it was written, and in which order, depends on when its sessions were summarised.
			delete(record, "version")
			sentences := strings.Split(fmt.Sprint(record["content"]), ". ")
			record["content"] = slices.Sorted(slices.Values(sentences))
		}
		dump(t, items, fmt.Sprint(record["pk"], " ", record["sk"]), stable(record))
	}
	return items
}

// vectors returns the records of the index by their namespaces and ids.
func (p *pipeline) vectors(t *testing.T) map[string]string {
	t.Helper()
	client, err := sdk.NewClient(sdk.NewClientParams{ApiKey: "local"})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, namespace := range []string{"ann", "bob"} {
		index, err := client.Index(sdk.NewIndexConnParams{Host: p.host, Namespace: namespace})
		if err != nil {
			t.Fatal(err)
		}
		listed, err := index.ListVectors(t.Context(), &sdk.ListVectorsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, id := range listed.VectorIds {
			ids = append(ids, *id)
		}
		fetched, err := index.FetchVectors(t.Context(), ids)
		if err != nil {
			t.Fatal(err)
		}
		for id, v := range fetched.Vectors {
			metadata := stable(v.Metadata.AsMap())
			name := fmt.Sprint(namespace, " ", id, " ", metadata["sessionId"], " ", metadata["seq"]) // a second may have two
			dump(t, all, name, []any{v.Values, v.SparseValues, metadata})
		}
		if err := index.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
