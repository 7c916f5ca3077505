package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/legacy"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration"
)

// tables makes the tables of the benchmark, each filled by the app.
type tables struct {
	client   *dynamodb.Client
	endpoint string
	app      legacy.Table
}

func (b tables) fill(ctx context.Context, name string) error {
	in := table.CreateTableInput(name)
	in.StreamSpecification = nil // the engine reads the descriptions of all tables' streams on each write
	if _, err := b.client.CreateTable(ctx, in); err != nil {
		return fmt.Errorf("create table: %w", err)
	}
	return b.app.Load(ctx, b.client, name)
}

// gate lets one write at a time through to an engine. DynamoDB Local has one lock, and writes that wait for it for 5
// seconds fail.
type gate struct {
	engine http.Handler
	mu     sync.Mutex
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); strings.Contains(operation, "Write") {
		g.mu.Lock()
		defer g.mu.Unlock()
	}
	g.engine.ServeHTTP(w, r)
}

// gated serves an engine behind a gate.
func gated(endpoint string) (*httptest.Server, error) {
	engine, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	return httptest.NewServer(&gate{engine: httputil.NewSingleHostReverseProxy(engine)}), nil
}

// migrated is a table of the app in the stage dual, with its migrate function.
func (b tables) migrated(ctx context.Context, endpoint, name string) (f migrateFunction, err error) {
	if err := b.fill(ctx, name); err != nil {
		return f, err
	}
	if f, err = newFunction(ctx, endpoint, name); err != nil {
		return f, err
	}
	_, err = f.call(ctx, step{"action": "advance", "to": "dual"})
	return f, err
}

// measureSpeed measures one number of segments: the same transactions before and after a backfill, because the machine
// may have other work, and batches.
func (r *result) measureSpeed(ctx context.Context, b tables, segments int) error {
	name := fmt.Sprintf("migrated-%d", segments)
	f, err := b.migrated(ctx, b.endpoint, name)
	if err != nil {
		return err
	}
	// A dry run waits too until every instance knows the stage.
	if _, err := f.call(ctx, step{"action": "backfill", "dryRun": true}); err != nil {
		return err
	}
	if r.moved == nil {
		if _, err := f.backfill(ctx, 1, 0); err != nil {
			return err
		}
		if r.moved, r.Messages, r.Bytes, err = b.moved(ctx, name); err != nil {
			return err
		}
		return b.drop(ctx, name)
	}
	before, err := b.bare(ctx, segments, r.moved, inTransactions)
	if err != nil {
		return err
	}
	first, err := f.backfill(ctx, segments, 0)
	if err != nil {
		return err
	}
	again, err := f.backfill(ctx, segments, 0)
	if err != nil {
		return err
	}
	after, err := b.bare(ctx, segments, r.moved, inTransactions)
	if err != nil {
		return err
	}
	batches, err := b.bare(ctx, segments, r.moved, inBatches)
	if err != nil {
		return err
	}
	n := float64(r.Messages)
	r.Rows = append(r.Rows, row{
		Segments: segments, Migrated: n / first.Seconds(), Transactions: 2 * n / (before + after).Seconds(),
		Batches: n / batches.Seconds(), Again: again.Seconds() / first.Seconds(),
	})
	return b.drop(ctx, name)
}

func (b tables) drop(ctx context.Context, name string) error {
	_, err := b.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
	return err
}

// moved returns what a backfill has written: the records of each session's messages, and last the session's own.
func (b tables) moved(ctx context.Context, name string,
) (of map[string][]capacity.Item, n int, mean float64, err error) {
	of = map[string][]capacity.Item{}
	bytes := 0
	var sessions []capacity.Item
	pages := dynamodb.NewScanPaginator(b.client, &dynamodb.ScanInput{
		TableName: &name, Limit: aws.Int32(table.ScanItems),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, 0, 0, err
		}
		for _, it := range page.Items {
			switch {
			case strings.HasPrefix(capacity.Text(it, "sk"), "msg#"):
				of[capacity.Text(it, "sourceId")] = append(of[capacity.Text(it, "sourceId")], it)
				n, bytes = n+1, bytes+capacity.Size(it)
			case capacity.Text(it, "placement") != "":
				sessions = append(sessions, it)
			}
		}
	}
	for _, it := range sessions {
		of[source(it)] = append(of[source(it)], it)
	}
	return of, n, float64(bytes) / float64(n), nil
}

// source returns the source id of a session's messages.
func source(session capacity.Item) string {
	return strings.TrimPrefix(capacity.Text(session, "pk"), "user#") + "#" + capacity.Text(session, "sk")
}

// bare scans a table of the app in segments and writes the records of each session that it meets, of as many sessions
// at once as a backfill does.
func (b tables) bare(ctx context.Context, segments int, records map[string][]capacity.Item, write writer,
) (took time.Duration, err error) {
	name := "bare"
	if err := b.fill(ctx, name); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.drop(context.WithoutCancel(ctx), name)) }()
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for n := range segments {
		group.Go(func() error {
			workers, ctx := errgroup.WithContext(ctx)
			workers.SetLimit(migration.MaxWorkers)
			pages := dynamodb.NewScanPaginator(b.client, &dynamodb.ScanInput{
				TableName: &name, Segment: aws.Int32(int32(n)), TotalSegments: aws.Int32(int32(segments)),
				Limit: aws.Int32(table.ScanItems),
			})
			for pages.HasMorePages() {
				page, err := pages.NextPage(ctx)
				if err != nil {
					return errors.Join(err, workers.Wait())
				}
				for _, it := range page.Items {
					workers.Go(func() error { return write(ctx, b.client, name, records[source(it)]) })
				}
			}
			return workers.Wait()
		})
	}
	err = group.Wait()
	return time.Since(start), err
}

// writer writes the records of one session.
type writer func(ctx context.Context, client *dynamodb.Client, name string, records []capacity.Item) error

// inBatches writes in batches, which have no conditions and may be carried out in part.
func inBatches(ctx context.Context, client *dynamodb.Client, name string, records []capacity.Item) error {
	for batch := range slices.Chunk(records, legacy.BatchItems) {
		if err := legacy.Write(ctx, client, name, batch); err != nil {
			return err
		}
	}
	return nil
}

// inTransactions writes in the transactions of a backfill: each with a condition for every message and one on the
// user's generation, and in the last one the session.
func inTransactions(ctx context.Context, client *dynamodb.Client, name string, records []capacity.Item) error {
	for batch := range slices.Chunk(records, perTransaction+1) {
		var puts []types.TransactWriteItem
		for _, it := range batch {
			put := &types.Put{TableName: &name, Item: it}
			if strings.HasPrefix(capacity.Text(it, "sk"), "msg#") {
				put.ConditionExpression = aws.String("attribute_not_exists(pk)")
			}
			puts = append(puts, types.TransactWriteItem{Put: put})
		}
		puts = append(puts, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: &name, ConditionExpression: aws.String("attribute_not_exists(generation)"),
			Key: capacity.Item{
				"pk": batch[0]["pk"], "sk": &types.AttributeValueMemberS{Value: "control#generation"},
			},
		}})
		if _, err := client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: puts}); err != nil {
			return err
		}
	}
	return nil
}

// counted is a table of the app in the stage dual, with its migrate function and a meter between the two.
type counted struct {
	migrateFunction
	*meter.Meter
}

func (b tables) counted(ctx context.Context, name string) (c counted, stop func(), err error) {
	c.Meter = meter.New(b.client, table.CreateTableInput(name))
	engine, err := c.Proxy()
	if err != nil {
		return c, nil, err
	}
	proxy := httptest.NewServer(engine)
	if c.migrateFunction, err = b.migrated(ctx, proxy.URL, name); err != nil {
		proxy.Close()
	}
	return c, proxy.Close, err
}

// backfillUnits counts the units of a backfill, and returns how long it took.
func (c counted) backfillUnits(ctx context.Context, segments int, rate float64,
) (units capacity.Units, took time.Duration, err error) {
	used, err := c.Measure(ctx, func(ctx context.Context) (err error) {
		took, err = c.backfill(ctx, segments, rate)
		return err
	})
	return used.Units, took, err
}

// measureUnits counts the units of a dry run, a backfill at a rate, a second one and a verify.
func (r *result) measureUnits(ctx context.Context, b tables, segments int, rate float64) error {
	name := fmt.Sprintf("units-%d", segments)
	f, stop, err := b.counted(ctx, name)
	if err != nil {
		return err
	}
	defer stop()
	plan, err := f.call(ctx, step{"action": "backfill", "dryRun": true, "rateLimit": rate})
	if err != nil {
		return err
	}
	first, took, err := f.backfillUnits(ctx, segments, rate)
	if err != nil {
		return err
	}
	status, err := f.call(ctx, step{"action": "status"})
	if err != nil {
		return err
	}
	again, _, err := f.backfillUnits(ctx, segments, 0)
	if err != nil {
		return err
	}
	verify, err := f.Measure(ctx, func(ctx context.Context) error {
		_, err := f.call(ctx, step{"action": "verify"})
		return err
	})
	records, n, _, scanErr := b.moved(ctx, name)
	if err := errors.Join(err, scanErr); err != nil {
		return err
	}
	bare, calls := bareCosts(capacity.TableOf(table.CreateTableInput(name)), records)
	total := float64(n)
	r.Units = append(r.Units, unitCosts{
		Segments: segments, Write: first.Write / total, Read: first.Read / total,
		VerifyRead: verify.Units.Read / total, BareWrite: bare / total,
		AgainWrite: again.Write / total, AgainRead: again.Read / total,
		Messages: total / float64(calls),
	})
	if segments == 1 {
		f := plan.Forecast
		r.Predicted = prediction{
			Records: float64(f.Items) / float64(status.Progress.Writes), Write: f.WriteUnits / first.Write,
			Read: f.ReadUnits / first.Read, Time: f.Seconds / took.Seconds(), Rate: rate,
		}
	}
	return b.drop(ctx, name)
}

// bareCosts returns the write units of the records alone, and in how many transactions sessions with messages move.
func bareCosts(t capacity.Table, records map[string][]capacity.Item) (units float64, transactions int) {
	for _, of := range records {
		transactions += (len(of) + perTransaction) / (perTransaction + 1) // rounded up
		for _, it := range of {
			units += t.Write(nil, it).Alone().Write
		}
	}
	return units, transactions
}

// perTransaction is how many messages are copied in a transaction (docs/adr/0023).
const perTransaction = 97
