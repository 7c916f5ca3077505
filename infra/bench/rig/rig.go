// Package rig has what benchmarks run on: an engine, a table, the local index, the offline model, and the local stack
// with something between each function and its services.
package rig

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"google.golang.org/grpc"

	"github.com/throughline/throughline/infra/bench/report"
	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/infra/local/functions"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// Dimensions is the width of the dense vectors. They are narrow because the local index compares a query with every
// record.
const Dimensions = 32

// settleTimeout is how long the stream's functions may take to handle what was written.
const settleTimeout = 2 * time.Minute

// Rig is the services of one run. It is safe for concurrent use.
type Rig struct {
	Endpoint, Table string
	// Client is the engine's, ModelURL and IndexHost are the addresses of the offline model and of the index.
	Client              *dynamodb.Client
	ModelURL, IndexHost string

	index   *pineconelocal.Server
	mu      sync.Mutex // guards closers
	closers []func() error
}

// New makes the table on a DynamoDB engine, and serves the model and the index. Close ends them.
func New(ctx context.Context, endpoint, name string) (r *Rig, err error) {
	r = &Rig{Endpoint: endpoint, Table: name, Client: dynamodblocal.Client(endpoint)}
	if _, err := r.Client.CreateTable(ctx, table.CreateTableInput(name)); err != nil {
		return nil, fmt.Errorf("create table: %w", err)
	}
	r.ModelURL = r.serve(offlinemodel.Handler()) + "/v1"
	if r.index, err = pineconelocal.New(pineconelocal.Options{Dimension: Dimensions}); err == nil {
		r.IndexHost, err = r.ServeIndex()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Stack is a running local stack with a client of its user.
type Stack struct {
	API     *client.Client
	running *stack.Stack
}

// Stack starts the local stack on the services, with what wrap makes of the constructors of the functions. Its sweep
// never runs by itself: it comes by the clock. A session is at rest after that time.
func (r *Rig) Stack(ctx context.Context, user string, rest time.Duration,
	wrap func(name string, build stack.Constructor) stack.Constructor,
) (s Stack, err error) {
	cfg, err := stack.Parse(map[string]string{
		"PORT": "0", "TABLE_NAME": r.Table, "AWS_ENDPOINT_URL_DYNAMODB": r.Endpoint, "PINECONE_INDEX_HOST": r.IndexHost,
		"OPENAI_BASE_URL": r.ModelURL, "OPENAI_EMBEDDING_BASE_URL": r.ModelURL,
		"OPENAI_CHAT_MODEL": "gpt-6-luna", "OPENAI_EMBEDDING_MODEL": "text-embedding-3-small@" + strconv.Itoa(Dimensions),
		"KEEP_PROMPT_TEXT": "false", "TRIGGERS": "sweep=24h,spine=24h,idle=" + rest.String(),
		"OPENAI_BACKGROUND_TIER": "flex", // as at OpenAI's own service
	})
	if err != nil {
		return s, err
	}
	// Most stages have no bus. With one the stream's functions get more records.
	cfg.EventBusName, cfg.Environment["EVENT_BUS_NAME"] = "", ""
	cfg.Functions = functions.All()
	for name, build := range cfg.Functions {
		cfg.Functions[name] = wrap(name, build)
	}
	if s.running, err = stack.Start(ctx, cfg); err != nil {
		return s, err
	}
	r.AtEnd(s.running.Stop)
	s.API, err = client.New(s.running.URL()).As(ctx, user)
	return s, err
}

// Open opens a session of the chat with a coach.
func (s Stack) Open(ctx context.Context, session, coach string) error {
	return s.API.Open(ctx, "coach_conversation", coach, session)
}

// Turn sends the message of a session's nth turn, reads the answer to its end, and waits for what follows.
func (s Stack) Turn(ctx context.Context, session string, n int, message string) error {
	var last client.Event
	err := s.API.Chat(ctx, map[string]any{"sessionId": session, "message": message}, func(e client.Event) error {
		last = e
		return nil
	}, client.Key(fmt.Sprintf("%s-%d", session, n)))
	if err == nil && last.Name != "done" {
		err = fmt.Errorf("the answer ends with %q: %s", last.Name, last.Data)
	}
	if err != nil {
		return fmt.Errorf("chat: %w", err)
	}
	return s.Settle(ctx)
}

// Settle waits until the stream's functions have handled what was written.
func (s Stack) Settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if done := s.running.Settle(ctx); !done.Settled {
		return fmt.Errorf("the stream's functions are behind by %d records", done.Pending)
	}
	return nil
}

// serve serves a handler and returns its address.
func (r *Rig) serve(h http.Handler) (address string) {
	server := httptest.NewServer(h)
	r.AtEnd(func() error { server.Close(); return nil })
	return server.URL
}

// Proxy serves, at an address of its own, the service at an address through a transport.
func (r *Rig) Proxy(address string, through http.RoundTripper) (proxied string, err error) {
	target, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return r.serve(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: through,
	}), nil
}

// ServeIndex serves the index at one more address until Close.
func (r *Rig) ServeIndex(interceptors ...grpc.UnaryServerInterceptor) (host string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed with the index
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.index.Serve(listener, interceptors...) }()
	r.AtEnd(func() error { return errors.Join(r.index.Close(), <-ended) })
	return "http://" + listener.Addr().String(), nil
}

// Main runs a benchmark on a DynamoDB engine of its own. It prints the result, writes it into the section of the
// benchmark's name of docs/benchmarks.md, and exits with 1 when something fails or a bar is not held.
func Main(name string, measure func(ctx context.Context, endpoint string) (report.Result, error)) {
	docs := flag.String("docs", "", "folder of the documents to write the result into")
	flag.Parse()
	Run(name, func(ctx context.Context) error { return run(ctx, name, *docs, measure) })
}

// Run runs a benchmark until it is done or interrupted, and exits with 1 when something fails.
func Run(name string, do func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := do(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench-%s: %v\n", name, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, name, docs string,
	measure func(ctx context.Context, endpoint string) (report.Result, error),
) error {
	var result report.Result
	if err := OnEngine(ctx, func(endpoint string) (err error) {
		result, err = measure(ctx, endpoint)
		return err
	}); err != nil {
		return err
	}
	section := result.Markdown("make bench NAME=" + name)
	fmt.Print(section)
	if docs != "" {
		if err := report.WriteSection(filepath.Join(docs, "benchmarks.md"), name, section); err != nil {
			return err
		}
	}
	if missed := result.Missed(); len(missed) > 0 {
		return fmt.Errorf("not held: %s", strings.Join(missed, "; "))
	}
	return nil
}

// OnEngine starts an engine for a measurement and stops it afterwards.
func OnEngine(ctx context.Context, measure func(endpoint string) error) (err error) {
	server, err := dynamodblocal.Start(ctx, dynamodblocal.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	return measure(server.Endpoint())
}

// Progress says what a benchmark does now.
func Progress(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) }

// AtEnd has Close do something.
func (r *Rig) AtEnd(do func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closers = append(r.closers, do)
}

// Close closes what was started, the last first.
func (r *Rig) Close() error {
	var err error
	for _, closing := range slices.Backward(r.closers) {
		err = errors.Join(err, closing())
	}
	return err
}
