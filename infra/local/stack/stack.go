package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"golang.org/x/sync/errgroup"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/infra/local/gateway"
	"github.com/throughline/throughline/infra/local/indexlag"
	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/infra/local/streams"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/auth"
	"github.com/throughline/throughline/internal/dynamo"
)

// The time that a stop gives the functions to end, and then the answers under way: together well under 5 seconds.
const (
	functionGrace = 2500 * time.Millisecond
	answerGrace   = 500 * time.Millisecond
)

// discardLog takes what net/http says about connections that a fault door cut.
var discardLog = log.New(io.Discard, "", 0)

// Stack is a running local stack. Its methods may be called concurrently.
type Stack struct {
	cfg      Config
	logger   *slog.Logger
	template *template.Template
	url      string

	engine    *dynamodblocal.Server // nil where another is named
	index     *pineconelocal.Server // nil where another is named
	dynamodb  service
	pinecone  service
	openai    service
	embedding service
	lambdaURL string
	tables    *dynamodb.Client
	streams   *dynamodbstreams.Client
	streamARN string
	store     *dynamo.Store
	lag       *indexlag.Lag // nil where no door is
	issuer    *issuer.Issuer
	runtime   *lambdaapi.Runtime
	pollers   []*streams.Poller
	schedules []*schedule
	faulting  sync.Mutex

	life    context.Context // ends when the stack stops
	end     context.CancelFunc
	running sync.WaitGroup // every goroutine of the stack
	mu      sync.Mutex     // guards servers
	servers []*http.Server
	gateway atomic.Pointer[gateway.Gateway] // nil until ready
	failed  chan error
	stop    func() error
	unlock  func() error // frees the data folder; nil where none was taken
	saying  sync.Mutex
}

// Start starts everything and returns when it is ready. ctx bounds the start only; Stop ends the stack. Its error is
// one line that names the mend where the user can do something; nothing is left running then.
func Start(ctx context.Context, cfg Config) (*Stack, error) {
	s := newStack(cfg)
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func newStack(cfg Config) *Stack {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = io.Discard
	}
	if cfg.Out == nil {
		cfg.Out = io.Discard
	}
	s := &Stack{cfg: cfg, logger: cfg.Logger, runtime: lambdaapi.NewRuntime(cfg.Logger), failed: make(chan error, 1)}
	s.life, s.end = context.WithCancel(context.Background())
	s.stop = sync.OnceValue(s.shutDown)
	return s
}

func (s *Stack) start(ctx context.Context) (err error) {
	parameters := map[string]string{"CorsOrigins": strings.Join(s.cfg.CORSOrigins, ",")}
	if s.template, err = template.Parse(throughline.Template, parameters); err != nil {
		return err
	}
	if err := s.openDataDir(); err != nil {
		return err
	}
	// The port that people know comes first: when it is taken, nothing else need begin.
	door, err := listen(ctx, "PORT", s.cfg.Port)
	if err != nil {
		return err
	}
	s.url = address(door)
	if s.issuer, err = issuer.New(s.url, s.dataPath("issuer.pem"), time.Now); err != nil {
		return errors.Join(err, door.Close())
	}
	s.serve(door, s.handler())
	if err := s.startServices(ctx); err != nil {
		return err
	}
	if err := s.startFunctions(ctx); err != nil {
		return err
	}
	return s.openDoor()
}

// openDataDir makes the data folder and takes it for this stack.
func (s *Stack) openDataDir() (err error) {
	if s.cfg.DataDir == "" {
		return nil
	}
	if err := os.MkdirAll(s.cfg.DataDir, 0o755); err != nil {
		return fmt.Errorf("DATA_DIR=%s: make data folder: %w", s.cfg.DataDir, err)
	}
	s.unlock, err = lockData(s.cfg.DataDir)
	return err
}

// startServices starts what the functions depend on. DynamoDB takes by far the longest, so the others start beside it.
func (s *Stack) startServices(ctx context.Context) error {
	lambda, err := listen(ctx, "LAMBDA_PORT", s.cfg.LambdaPort)
	if err != nil {
		return err
	}
	s.serve(lambda, s.runtime.Handler())
	s.lambdaURL = address(lambda)
	engine, engineCtx := errgroup.WithContext(ctx)
	engine.Go(func() error { return s.startDynamoDB(engineCtx) })
	err = s.startPinecone(ctx)
	if err == nil {
		err = s.startOpenAI(ctx)
	}
	if err := errors.Join(engine.Wait(), err); err != nil {
		return err
	}
	s.connect()
	s.say("dynamodb", s.dynamodb.direct, s.dynamodb.about)
	s.say("pinecone", s.pinecone.direct, s.pinecone.about)
	s.say("openai", s.openai.direct, s.openai.about)
	if s.cfg.EmbeddingBaseURL != "" {
		s.say("embeddings", s.embedding.direct, "named by OPENAI_EMBEDDING_BASE_URL")
	}
	s.say("lambda", s.lambdaURL, fmt.Sprintf("invoke API, %d functions", len(s.template.Functions)))
	s.watchEngine()
	if err := s.openTable(ctx); err != nil {
		return err
	}
	return s.openDynamoDBDoor(ctx)
}

// openDoor starts the triggers and lets requests in.
func (s *Stack) openDoor() error {
	verifier, err := auth.New(s.life, auth.Config{Issuer: s.issuer.URL(), Audience: issuer.Audience})
	if err != nil {
		return err
	}
	if err := s.startTriggers(); err != nil {
		return err
	}
	paths := map[string]string{}
	for _, f := range s.template.Functions {
		if f.URL {
			paths["/v1/chat"], paths["/v1/export"] = f.PhysicalName, f.PhysicalName
		}
	}
	s.gateway.Store(gateway.New(gateway.Options{
		Functions: s.template.Functions, URLPaths: paths, CORS: s.template.CORS, Verifier: verifier, Invoker: s.runtime,
		Logger: s.logger, Now: time.Now,
	}))
	s.say("api", s.url, "HTTP API, chat stream, tokens at /dev/tokens")
	return nil
}

// URL is where the HTTP API is.
func (s *Stack) URL() string { return s.url }

// Wait returns when ctx is done, with nil, or when a part of the stack ended by itself, with why.
func (s *Stack) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.failed:
		return err
	}
}

// Stop ends everything and waits for it, at most 5 seconds. What a function was doing is cut off as by a crash. It
// may be called more than once; every call returns the first one's error.
func (s *Stack) Stop() error { return s.stop() }

// shutDown stops the triggers and the functions first, which still need the services, then the rest.
func (s *Stack) shutDown() error {
	s.end()
	functions, cancel := context.WithTimeout(context.Background(), functionGrace)
	defer cancel()
	if err := s.runtime.Close(functions); err != nil {
		s.logger.WarnContext(functions, "stop cuts functions off", "error", err)
	}
	answers, cancel := context.WithTimeout(context.Background(), answerGrace)
	defer cancel()
	var closing sync.WaitGroup
	for _, server := range s.servers {
		closing.Go(func() {
			if server.Shutdown(answers) != nil {
				_ = server.Close()
			}
		})
	}
	closing.Wait()
	var err error
	if s.lag != nil {
		err = errors.Join(err, s.lag.Close(answers))
	}
	if s.index != nil {
		err = errors.Join(err, s.index.Close())
	}
	if s.engine != nil {
		err = errors.Join(err, s.engine.Stop())
	}
	s.running.Wait()
	if s.unlock != nil {
		err = errors.Join(err, s.unlock())
	}
	return err
}

// fail ends Wait; the first cause counts.
func (s *Stack) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

func (s *Stack) watchEngine() {
	if s.engine == nil {
		return
	}
	s.running.Go(func() {
		select {
		case <-s.engine.Done():
			s.fail(errors.New("DynamoDB Local ended by itself"))
		case <-s.life.Done():
		}
	})
}

// say prints one line about a service.
func (s *Stack) say(name, url, about string) {
	s.saying.Lock()
	defer s.saying.Unlock()
	fmt.Fprintf(s.cfg.Out, "%-10s %-28s %s\n", name, url, about)
}
