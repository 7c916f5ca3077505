package unitbench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"google.golang.org/grpc"

	"github.com/throughline/throughline/infra/bench/capacity"
	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/store/storebench"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/function/coachfn"
	"github.com/throughline/throughline/internal/function/contextfn"
	"github.com/throughline/throughline/internal/function/mcpfn"
	"github.com/throughline/throughline/internal/function/messagesfn"
	"github.com/throughline/throughline/internal/function/migratefn"
	"github.com/throughline/throughline/internal/function/promptfn"
	"github.com/throughline/throughline/internal/function/rememberfn"
	"github.com/throughline/throughline/internal/function/summarizefn"
)

// Settings say what is played.
type Settings struct {
	// History are the user's sessions before the measured ones. Each session has Turns turns.
	History  int `json:"history"`
	Sessions int `json:"sessions"`
	Turns    int `json:"turns"`
}

// Units are what one session uses, as a mean over the measured ones.
type Units struct {
	Date     string   `json:"date"`
	Settings Settings `json:"settings"`
	// Session is the use of each function.
	Session map[string]Use `json:"session"`
	// TableBytes and IndexBytes are what a session adds to the table and to its indexes, without what expires.
	TableBytes float64 `json:"tableBytes"`
	IndexBytes float64 `json:"indexBytes"`
	// Records are how many records these are.
	Records float64 `json:"records"`
}

const (
	tableName  = "bench-scale"
	dimensions = 32
	surface    = "coach_conversation"
)

// bench is one run.
type bench struct {
	*tally
	endpoint string
	client   *dynamodb.Client
	index    *pineconelocal.Server

	closing sync.Mutex // guards closers: functions are built side by side
	closers []func() error
}

// Run plays sessions on the DynamoDB engine at an endpoint.
func Run(ctx context.Context, endpoint string, s Settings) (u Units, err error) {
	b := &bench{tally: &tally{uses: map[string]Use{}}, endpoint: endpoint}
	defer func() { err = errors.Join(err, b.close()) }()
	running, err := b.start(ctx)
	if err != nil {
		return u, err
	}
	api, err := client.New(running.URL()).As(ctx, "bench-user")
	if err != nil {
		return u, err
	}
	texts := storebench.NewTexts(1)
	play := func(prefix string, n int) error {
		for i := range n {
			if err := playSession(ctx, running, api, texts, prefix+strconv.Itoa(i), s.Turns); err != nil {
				return err
			}
		}
		return nil
	}
	if err := play("before-", s.History); err != nil {
		return u, err
	}
	before, err := b.stored(ctx)
	if err != nil {
		return u, err
	}
	b.drain()
	if err := play("measured-", s.Sessions); err != nil {
		return u, err
	}
	after, err := b.stored(ctx)
	if err != nil {
		return u, err
	}
	n := float64(s.Sessions)
	return Units{
		Date: time.Now().UTC().Format(time.DateOnly), Settings: s, Session: mean(b.drain(), s.Sessions),
		TableBytes: (after.table - before.table) / n, IndexBytes: (after.index - before.index) / n,
		Records: (after.records - before.records) / n,
	}, nil
}

// settleTimeout is how long the stream's functions may take.
const settleTimeout = time.Minute

// playSession opens a session, has the turns in it, completes it, and waits for what follows.
func playSession(
	ctx context.Context, running *stack.Stack, api *client.Client, texts *storebench.Texts, id string, turns int,
) error {
	body := map[string]any{"context": surface, "coachId": "coach", "sessionId": id}
	if err := api.Do(ctx, http.MethodPost, "/v1/sessions", body, nil); err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	for n := range turns {
		in := map[string]any{"sessionId": id, "message": texts.Turn()[0].Content}
		last := ""
		err := api.Chat(ctx, in, func(e client.Event) error {
			last = e.Name
			return nil
		}, client.Key(id+"-"+strconv.Itoa(n)))
		if err == nil && last != "done" {
			err = fmt.Errorf("the answer ends in %q", last)
		}
		if err != nil {
			return fmt.Errorf("chat: %w", err)
		}
		if err := settle(ctx, running); err != nil {
			return err
		}
	}
	patch := map[string]any{"status": "completed"}
	if err := api.Do(ctx, http.MethodPatch, "/v1/sessions/"+id, patch, nil); err != nil {
		return fmt.Errorf("complete session: %w", err)
	}
	return settle(ctx, running)
}

func settle(ctx context.Context, running *stack.Stack) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if done := running.Settle(ctx); !done.Settled {
		return fmt.Errorf("the stream's functions are behind by %d records", done.Pending)
	}
	return nil
}

// start starts the services and the stack. Its sweep does not run: it comes by the clock.
func (b *bench) start(ctx context.Context) (*stack.Stack, error) {
	b.client = dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(b.endpoint),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	if _, err := b.client.CreateTable(ctx, table.CreateTableInput(tableName)); err != nil {
		return nil, fmt.Errorf("create table: %w", err)
	}
	model, err := b.serve(offlinemodel.Handler(offlinemodel.Options{}))
	if err != nil {
		return nil, err
	}
	if b.index, err = pineconelocal.New(pineconelocal.Options{Dimension: dimensions}); err != nil { //nolint:contextcheck
		return nil, err
	}
	host, err := b.serveIndex()
	if err != nil {
		return nil, err
	}
	cfg, err := stack.Parse(map[string]string{
		"PORT": "0", "TABLE_NAME": tableName, "AWS_ENDPOINT_URL_DYNAMODB": b.endpoint, "PINECONE_INDEX_HOST": host,
		"OPENAI_BASE_URL": model + "/v1", "OPENAI_EMBEDDING_DIMENSIONS": strconv.Itoa(dimensions),
		"KEEP_PROMPT_TEXT": "false", "TRIGGERS": "sweep=24h",
	})
	if err != nil {
		return nil, err
	}
	cfg.Functions = map[string]stack.Constructor{}
	for name, build := range map[string]stack.Constructor{
		"messages": stack.Of(messagesfn.New), "context": stack.Of(contextfn.New), "prompt": stack.Of(promptfn.New),
		"coach": stack.Of(coachfn.New), "summarize": stack.Of(summarizefn.New), "remember": stack.Of(rememberfn.New),
		"migrate": stack.Of(migratefn.New), "mcp": stack.Of(mcpfn.New),
	} {
		cfg.Functions[name] = b.metered(name, build)
	}
	running, err := stack.Start(ctx, cfg)
	if err == nil {
		b.atEnd(running.Stop)
	}
	return running, err
}

// metered returns a constructor of a function whose services are behind meters.
func (b *bench) metered(name string, build stack.Constructor) stack.Constructor {
	return func(ctx context.Context, cfg config.Config, rt function.Runtime) (any, error) {
		rt.Log = slog.New(slog.NewJSONHandler(countingWriter{b.tally, name, false}, nil))
		rt.Metrics = countingWriter{b.tally, name, true}
		engine, err := url.Parse(cfg.DynamoDBEndpoint)
		if err != nil {
			return nil, err
		}
		cfg.DynamoDBEndpoint, err = b.serve(&meter.Proxy{
			Table: capacity.TableOf(table.CreateTableInput(tableName)), Client: b.client,
			Engine: httputil.NewSingleHostReverseProxy(engine), Add: func(u capacity.Units) {
				b.add(name, Use{DynamoDBCalls: 1, ReadUnits: u.Read, WriteUnits: u.Write})
			},
		})
		if err != nil {
			return nil, err
		}
		for _, address := range []*string{&cfg.OpenAI.BaseURL, &cfg.OpenAI.EmbeddingBaseURL} {
			if *address == "" {
				continue
			}
			handler, err := meteredModel(b.tally, name, *address)
			if err != nil {
				return nil, err
			}
			if *address, err = b.serve(handler); err != nil {
				return nil, err
			}
		}
		cfg.Pinecone.IndexHost, err = b.serveIndex(meteredIndex(b.tally, name, dimensions))
		if err != nil {
			return nil, err
		}
		return build(ctx, cfg, rt)
	}
}

// serve serves a handler until the run ends, and returns its address.
func (b *bench) serve(h http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed with the server
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	b.run(func() error { return server.Serve(listener) }, server.Close)
	return "http://" + listener.Addr().String(), nil
}

func (b *bench) serveIndex(interceptors ...grpc.UnaryServerInterceptor) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed with the server
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	b.run(func() error { return b.index.Serve(listener, interceptors...) }, b.index.Close)
	return "http://" + listener.Addr().String(), nil
}

// run runs a server until the run ends.
func (b *bench) run(serve, stop func() error) {
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
	b.atEnd(func() error {
		err := stop()
		if serving := <-ended; !errors.Is(serving, http.ErrServerClosed) {
			err = errors.Join(err, serving)
		}
		return err
	})
}

func (b *bench) atEnd(do func() error) {
	b.closing.Lock()
	defer b.closing.Unlock()
	b.closers = append(b.closers, do)
}

func (b *bench) close() error {
	var err error
	for _, closing := range slices.Backward(b.closers) {
		err = errors.Join(err, closing())
	}
	return err
}

// storedBytes are the sizes of the records that stay.
type storedBytes struct{ table, index, records float64 }

// overhead is what DynamoDB adds to each record and to each entry of an index (Amazon DynamoDB Developer Guide, "Item
// sizes and formats", "Storage considerations for global secondary indexes").
const overhead = 100

// stored adds up the records that do not expire.
func (b *bench) stored(ctx context.Context) (storedBytes, error) {
	var out storedBytes
	shape := capacity.TableOf(table.CreateTableInput(tableName))
	pages := dynamodb.NewScanPaginator(b.client, &dynamodb.ScanInput{TableName: aws.String(tableName)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, fmt.Errorf("read table: %w", err)
		}
		for _, record := range page.Items {
			if record[table.TTLAttribute] != nil {
				continue
			}
			out.records++
			out.table += float64(capacity.Size(record) + overhead)
			for _, i := range shape.Indexes {
				if entry := i.Entry(record); entry != nil {
					out.index += float64(capacity.Size(entry) + overhead)
				}
			}
		}
	}
	return out, nil
}
