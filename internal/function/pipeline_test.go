package function_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/rememberfn"
	"github.com/throughline/throughline/internal/function/summarizefn"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
	"github.com/throughline/throughline/internal/testing/pineconetest"
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
	bus       *busServer
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
	all     []record // that were taken

	first map[string]int // the instance of a record's first delivery
	late  []record       // second deliveries for later
}

// newPipeline returns a pipeline. With a source of randomness, its instances are killed.
func newPipeline(t *testing.T, kills *rand.Rand) *pipeline {
	t.Helper()
	p := &pipeline{
		client: dynamodbtest.Client(t), endpoint: dynamodbtest.Endpoint(t), random: kills,
		now: time.Date(2026, 2, 5, 18, 0, 0, 0, time.UTC), first: map[string]int{}, functions: map[string][]instance{},
	}
	p.host, p.model = pineconetest.Host(t, dimensions, p.workers.interceptor()), newCountingModel(t, &p.workers)
	p.bus = newBusServer(t, &p.workers)
	p.table = dynamodbtest.Table(t, table.CreateTableInput("any"))
	db := dynamo.New(p.client, p.table, dynamo.WithClock(func() time.Time { return p.now }))
	p.sessions, p.messages, p.turns = dynamo.NewSessionStore(db), dynamo.NewMessageStore(db), dynamo.NewTurnStore(db)
	p.memories, p.checkIns = dynamo.NewMemoryStore(db), dynamo.NewCheckInStore(db)
	if kills != nil {
		p.endpoint = p.workers.dynamoDB(t)
	}
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
	cfg := check.Got(config.Parse(map[string]string{
		"TABLE_NAME": p.table, "AWS_ENDPOINT_URL_DYNAMODB": p.endpoint, "AWS_ACCESS_KEY_ID": worker,
		"AWS_SECRET_ACCESS_KEY": "local", "PINECONE_INDEX_HOST": p.host, "PINECONE_API_KEY": worker,
		"OPENAI_BASE_URL": p.model.url, "OPENAI_EMBEDDING_BASE_URL": p.model.url, "OPENAI_API_KEY": worker,
		"OPENAI_CHAT_MODEL": "gpt-6-luna", "TRIGGERS": "timeout=1m",
		"AWS_ENDPOINT_URL_EVENTBRIDGE": p.bus.url, "EVENT_BUS_NAME": "bus",
		"OPENAI_EMBEDDING_MODEL": fmt.Sprint("text-embedding-3-small@", dimensions),
	}))(t)
	runtime := function.Runtime{Log: slog.New(slog.DiscardHandler), Metrics: io.Discard}
	if name == "summarize" {
		summarize := check.Got(summarizefn.New(t.Context(), cfg, runtime))(t)
		return instance{worker, summarize}
	}
	remember := check.Got(rememberfn.New(t.Context(), cfg, runtime))(t)
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
	deployed := check.Got(template.Parse(throughline.Template, map[string]string{"EventBusName": "bus"}))(t)
	described := check.Got(p.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &p.table}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	p.stream = gatedClient{BuildableClient: awshttp.NewBuildableClient(), gate: &sync.RWMutex{}}
	p.stream.gate.Lock()
	t.Cleanup(func() { cancel(); p.stream.gate.Unlock(); running.Wait() })
	for _, name := range streamFunctions {
		f, _ := deployed.Function(name)
		mapping := f.Streams[0]
		mapping.BatchWindow = 0
		poller := check.Got(streams.New(streams.Options{
			Client: dynamodbstreams.New(dynamodbstreams.Options{
				Region: "us-east-1", BaseEndpoint: aws.String(dynamodbtest.Endpoint(t)),
				Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""), HTTPClient: p.stream,
			}),
			StreamARN: aws.ToString(described.Table.LatestStreamArn), Function: name, Mapping: mapping, Invoker: p,
			Logger: slog.New(slog.DiscardHandler),
		}))(t)
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
		check.OK(t, poller.Wait(t.Context(), since))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	records := p.read
	p.read, p.all = nil, append(p.all, records...)
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
		check.OK(t, write(t.Context(), p))
		for records := p.take(t); len(records) > 0; records = p.take(t) {
			deliver(t, records)
		}
	}
	p.sweep(t)
	p.sweep(t)
}

func (p *pipeline) sweep(t *testing.T) {
	t.Helper()
	check.Got(p.invoke(t, "summarize", 1, json.RawMessage(`{"schedule":"sweep"}`)))(t)
}
