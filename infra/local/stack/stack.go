// Package stack starts and stops the whole local stack: DynamoDB Local, the Pinecone data plane, the offline model, the
// Lambda API with the functions, the stream pollers and schedules, and the HTTP API in front of them. Several stacks
// can run at once, also in one process.
package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/local/gateway"
	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/infra/local/lambdaapi"
	"github.com/throughline/throughline/infra/local/sqslocal"
	"github.com/throughline/throughline/infra/local/template"
	"github.com/throughline/throughline/internal/auth"
	"github.com/throughline/throughline/internal/config"
)

// A stop gives the functions time to end, then the answers under way, then the services: together 5 seconds.
const (
	functionGrace = 2500 * time.Millisecond
	answerGrace   = 500 * time.Millisecond
	serviceGrace  = 2 * time.Second
)

// Stack is a running local stack. Its methods may be called concurrently.
type Stack struct {
	host
	template *template.Template
	services *services
	triggers *triggers
	runtime  *lambdaapi.Runtime
	issuer   *issuer.Issuer
	gateway  atomic.Pointer[gateway.Gateway] // nil until the stack is ready

	url, lambdaURL, queueURL string
	stop                     func() error
	unlock                   func() error // frees the data folder; nil where none is locked
}

// host is what the parts of a stack share.
type host struct {
	cfg        Config
	logger     *slog.Logger
	supervisor *supervisor
	printer    *printer
}

// Start starts everything and returns when it is ready. ctx bounds the start only; Stop ends the stack. The error is
// one line, and says what to do if the user can fix it. After an error nothing is left running.
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
	s := &Stack{
		host:    host{cfg: cfg, logger: cfg.Logger, supervisor: newSupervisor(), printer: &printer{out: cfg.Out}},
		runtime: lambdaapi.NewRuntime(cfg.Logger),
	}
	s.services = &services{host: s.host, faults: map[string]faultSettings{}}
	s.triggers = &triggers{host: s.host, services: s.services, runtime: s.runtime}
	s.stop = sync.OnceValue(s.shutDown)
	return s
}

func (s *Stack) start(ctx context.Context) (err error) {
	index := config.Index{Host: "local", Embedding: s.cfg.OpenAI.Embedding, Namespaces: s.cfg.Pinecone.Namespaces}
	parameters := map[string]string{
		"CorsOrigins": strings.Join(s.cfg.CORSOrigins, ","), "EventBusName": s.cfg.EventBusName,
		"PineconeIndex": index.String(),
	}
	if s.template, err = template.Parse(throughline.Template, parameters); err != nil {
		return err
	}
	if err := s.openDataDir(); err != nil {
		return err
	}
	// The API's port comes first: if it is taken, nothing else has to start.
	api, err := listen(ctx, place{"PORT", s.cfg.Port})
	if err != nil {
		return err
	}
	s.url = address(api)
	if s.issuer, err = issuer.New(s.url, s.cfg.dataPath("issuer.pem")); err != nil {
		return errors.Join(err, api.Close())
	}
	s.supervisor.serve(api, s.handler())
	lambda, err := listen(ctx, place{"LAMBDA_PORT", s.cfg.LambdaPort})
	if err != nil {
		return err
	}
	s.supervisor.serve(lambda, localOnly(s.runtime.Handler()))
	s.lambdaURL = address(lambda)
	if err := s.services.start(ctx); err != nil {
		return err
	}
	if s.queueURL, err = s.services.serve(ctx, place{}, sqslocal.Handler(s.deadLetterQueues)); err != nil {
		return err
	}
	s.printer.print("lambda", s.lambdaURL, fmt.Sprintf("invoke API, %d functions", len(s.template.Functions)))
	if err := s.startFunctions(ctx); err != nil {
		return err
	}
	return s.openAPI()
}

// privateFolder is the mode of folders that hold users' data and keys.
const privateFolder = 0o700

// openDataDir makes the data folder and locks it for this stack. An empty folder becomes private, because it will hold
// every user's messages and the key that signs tokens. The mode of another folder stays, as its files may be the
// user's. What the stack writes there is private anyway.
func (s *Stack) openDataDir() (err error) {
	if s.cfg.DataDir == "" {
		return nil
	}
	if err := os.MkdirAll(s.cfg.DataDir, privateFolder); err != nil {
		return fmt.Errorf("DATA_DIR=%s: make data folder: %w", s.cfg.DataDir, err)
	}
	held, err := os.ReadDir(s.cfg.DataDir)
	if err != nil {
		return fmt.Errorf("DATA_DIR=%s: read data folder: %w", s.cfg.DataDir, err)
	}
	if len(held) == 0 {
		if err := os.Chmod(s.cfg.DataDir, privateFolder); err != nil {
			return fmt.Errorf("DATA_DIR=%s: make data folder private: %w", s.cfg.DataDir, err)
		}
	}
	s.unlock, err = lockData(s.cfg.DataDir)
	return err
}

// dataFolder makes a folder inside the data folder, which only this user may read. It is "" if nothing is stored.
func (c Config) dataFolder(name string) (string, error) {
	path := c.dataPath(name)
	if path == "" {
		return "", nil
	}
	if err := errors.Join(os.MkdirAll(path, privateFolder), os.Chmod(path, privateFolder)); err != nil {
		return "", fmt.Errorf("make data folder: %w", err)
	}
	return path, nil
}

// acceptedTokens says which tokens are valid: those of an own issuer, or the local ones.
func (s *Stack) acceptedTokens() auth.Config {
	if s.cfg.hasOwnIssuer() {
		return auth.Config{Issuer: string(s.cfg.Issuer), Audiences: s.cfg.Auth.Audiences}
	}
	return auth.Config{Issuer: s.issuer.URL(), Audiences: []string{issuer.Audience}}
}

// openAPI starts the triggers, and then the gateway.
func (s *Stack) openAPI() error {
	verifier, err := auth.New(s.supervisor.ctx, s.acceptedTokens())
	if err != nil {
		return err
	}
	if err := s.triggers.start(s.template.Functions); err != nil {
		return err
	}
	paths := map[string]string{}
	for _, f := range s.template.Functions {
		if f.URL {
			for _, path := range []string{"/v1/chat", "/v1/chat/", "/v1/turns", "/v1/turns/", "/v1/export"} {
				paths[path] = f.PhysicalName
			}
		}
	}
	s.gateway.Store(gateway.New(gateway.Options{
		Functions: s.template.Functions, URLPaths: paths, CORS: s.template.CORS, Verifier: verifier, Invoker: s.runtime,
		Logger: s.logger,
	}))
	s.printer.print("api", s.url, "HTTP API, chat stream, console, tokens at /dev/tokens")
	return nil
}

// URL is the address of the HTTP API.
func (s *Stack) URL() string { return s.url }

// Info says where everything is. The address of the table has no fault injector in front of it.
type Info struct {
	TableName        string            `json:"tableName"`
	DynamoDBEndpoint string            `json:"dynamodbEndpoint"`
	PineconeHost     string            `json:"pineconeHost"`
	OpenAIBaseURL    string            `json:"openaiBaseUrl"`
	LambdaEndpoint   string            `json:"lambdaEndpoint"`
	Functions        map[string]string `json:"functions"`
}

// Info returns where everything is.
func (s *Stack) Info() Info {
	info := Info{
		TableName: s.cfg.TableName, DynamoDBEndpoint: s.services.dynamodb.direct,
		PineconeHost: s.services.pinecone.direct, OpenAIBaseURL: s.services.openai.direct,
		LambdaEndpoint: s.lambdaURL, Functions: map[string]string{},
	}
	for _, f := range s.template.Functions {
		info.Functions[f.Name] = f.PhysicalName
	}
	return info
}

// Settle waits until the background work is done or ctx ends.
func (s *Stack) Settle(ctx context.Context) Settled { return s.triggers.settle(ctx) }

// Wait returns nil when ctx ends, or an error when a part of the stack ends by itself.
func (s *Stack) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.supervisor.failed:
		return err
	}
}

// Stop ends everything and waits for it, at most 5 seconds. It cuts off what functions are doing then, as a crash does.
// It may be called more than once; every call returns the first one's error.
func (s *Stack) Stop() error { return s.stop() }

// shutDown stops the triggers and the functions first, because they need the services, and then the rest.
func (s *Stack) shutDown() error {
	s.supervisor.cancel()
	functions, cancel := context.WithTimeout(context.Background(), functionGrace)
	defer cancel()
	if err := s.runtime.Close(functions); err != nil {
		s.logger.WarnContext(functions, "stop cuts functions off", "error", err)
	}
	answers, cancel := context.WithTimeout(context.Background(), answerGrace)
	defer cancel()
	s.supervisor.closeServers(answers)
	services, cancel := context.WithTimeout(context.Background(), serviceGrace)
	defer cancel()
	err := s.services.stop(services)
	s.supervisor.running.Wait()
	if s.unlock != nil {
		err = errors.Join(err, s.unlock())
	}
	return err
}

// printer prints a line for each service.
type printer struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *printer) print(name, url, about string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "%-10s %-28s %s\n", name, url, about)
}
