package stack_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/migratefn"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// slowConsumers are the functions of the stream, which take a time for each record and note what they got.
type slowConsumers struct {
	mu sync.Mutex
	// got are the records in their order, as the name of the function and the sort key.
	got     []string
	arrived map[string]chan struct{}
}

// timePerRecord makes the copies of a backfill a work of many seconds, should they reach a function.
const timePerRecord = 20 * time.Millisecond

// live is in the keys of what the user writes beside the backfill.
const live = "#live"

// arrival returns what is closed when a function has handled a record.
func (c *slowConsumers) arrival(record string) chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.arrived[record] == nil {
		c.arrived[record] = make(chan struct{})
	}
	return c.arrived[record]
}

func (c *slowConsumers) constructor(name string) stack.Constructor {
	return func(context.Context, config.Config, function.Runtime) (any, error) {
		return func(ctx context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
			for _, r := range e.Records {
				if err := delay.Sleep(ctx, timePerRecord); err != nil {
					return events.DynamoDBEventResponse{}, err
				}
				record := name + " " + r.Change.Keys["sk"].String()
				if strings.Contains(record, live) {
					close(c.arrival(record))
				}
				c.mu.Lock()
				c.got = append(c.got, record)
				c.mu.Unlock()
			}
			return events.DynamoDBEventResponse{}, nil
		}, nil
	}
}

// take returns the records since the last call.
func (c *slowConsumers) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := c.got
	c.got = nil
	return got
}

// TestBackfillDelaysNoTrigger copies an app's conversations while another user writes. No record of the backfill
// reaches a function of the stream, so none can be in front of the user's, and what the user writes is handled while
// the backfill goes on, as soon as without it.
func TestBackfillDelaysNoTrigger(t *testing.T) {
	t.Parallel()
	c := &slowConsumers{arrived: map[string]chan struct{}{}}
	f := newFixture()
	cfg := f.parse(t, map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": dynamodbtest.Endpoint(t), "TABLE_NAME": dynamodbtest.TableName(t),
		"INITIAL_STAGE": "dual",
	})
	cfg.Functions["remember"], cfg.Functions["summarize"] = c.constructor("remember"), c.constructor("summarize")
	cfg.Functions["migrate"] = stack.Of(migratefn.New)
	f.run(t, cfg)
	info := f.stack.Info()
	writer := liveWriter{c: c, db: dynamo(info.DynamoDBEndpoint), table: info.TableName}
	app := legacy.Table{Users: 30, Sessions: 30, Messages: 700, Seed: 4}
	if err := app.Load(t.Context(), writer.db, writer.table); err != nil {
		t.Fatal(err)
	}
	f.settle(t, 20_000)
	floor := max(writer.write(t), writer.write(t))
	c.take()

	ended := make(chan error, 1)
	go func() { ended <- backfill(t.Context(), info) }()
	slowest, during := time.Duration(0), 0
	for isOver := false; !isOver; {
		select {
		case err := <-ended:
			if isOver = true; err != nil {
				t.Fatal(err)
			}
		default:
			during++
		}
		slowest = max(slowest, writer.write(t)) // once more after all copies
	}
	for _, record := range c.take() {
		if !strings.Contains(record, live) {
			t.Errorf("the backfill's record reached %s", record)
		}
	}
	copies := slices.DeleteFunc(writer.scan(t), func(sk string) bool { return !strings.HasPrefix(sk, "msg#2") })
	t.Logf("a trigger takes %v at most, and %v beside a backfill of %d messages", floor, slowest, len(copies))
	if len(copies) < 400 || during < 2 {
		t.Errorf("beside %d copies %d writes were handled", len(copies), during-1)
	}
	if slowest > 3*floor {
		t.Errorf("beside %d copies a trigger took %v, and %v without", len(copies), slowest, floor)
	}
}

// liveWriter writes messages of a user whose session is in the shared store.
type liveWriter struct {
	c       *slowConsumers
	db      *dynamodb.Client
	table   string
	written int
}

// write writes a message and its session, and returns how long it takes from then on until both functions have handled
// them.
func (w *liveWriter) write(t *testing.T) time.Duration {
	t.Helper()
	w.written++
	id := fmt.Sprint(live, w.written)
	for _, sk := range []string{"msg" + id, "conversation" + id} {
		if _, err := w.db.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: &w.table, Item: record("user#live", sk),
		}); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	for _, record := range []string{"remember msg" + id, "summarize conversation" + id} {
		select {
		case <-w.c.arrival(record):
		case <-time.After(time.Minute):
			t.Fatalf("%s did not arrive within a minute", record)
		}
	}
	return time.Since(began)
}

// scan returns the sort keys of the table.
func (w *liveWriter) scan(t *testing.T) (keys []string) {
	t.Helper()
	pages := dynamodb.NewScanPaginator(w.db, &dynamodb.ScanInput{TableName: &w.table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			keys = append(keys, it["sk"].(*types.AttributeValueMemberS).Value)
		}
	}
	return keys
}

// backfill calls the function migrate of a stack once, which is enough for a small table. It is slow enough that the
// user writes meanwhile.
func backfill(ctx context.Context, info stack.Info) error {
	client := lambda.New(lambda.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(info.LambdaEndpoint), Credentials: keys(),
	})
	out, err := client.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: aws.String(info.Functions["migrate"]), Payload: []byte(`{"action":"backfill","rateLimit":100}`),
	})
	if err == nil && (out.FunctionError != nil || !strings.Contains(string(out.Payload), `"done":true`)) {
		err = fmt.Errorf("backfill: %s", out.Payload)
	}
	return err
}
