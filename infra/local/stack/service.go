package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/infra/local/faults"
	"github.com/throughline/throughline/infra/local/indexlag"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/infra/local/pineconelocal"
)

// service is where one dependency is reached: directly by tests and tools, and through the fault door by the
// functions. A service that the door cannot stand before has none.
type service struct {
	direct, behindDoor string
	door               *faults.Injector
	about              string
}

// startDynamoDB starts the engine, or takes the named one.
func (s *Stack) startDynamoDB(ctx context.Context) error {
	endpoint, about := s.cfg.DynamoDBEndpoint, "named by AWS_ENDPOINT_URL_DYNAMODB"
	if endpoint == "" {
		if !dynamodblocal.Installed() {
			s.say("dynamodb", "", "installing DynamoDB Local, once")
		}
		engine, err := dynamodblocal.Start(ctx, dynamodblocal.Options{Port: s.cfg.DynamoDBPort, DataDir: s.dataPath("dynamodb")})
		if err != nil {
			return err
		}
		s.engine = engine
		endpoint, about = engine.Endpoint(), "DynamoDB Local, "+s.where()
	}
	s.dynamodb = service{direct: endpoint, behindDoor: endpoint, about: about}
	return nil
}

// openDynamoDBDoor puts the fault door, and the lag of indexes, before the table. Signed requests would not survive a
// proxy on their way to AWS, so only an engine on this machine gets a door.
func (s *Stack) openDynamoDBDoor(ctx context.Context) error {
	if !onThisMachine(s.dynamodb.direct) {
		return nil
	}
	proxy, err := faults.Proxy(s.dynamodb.direct)
	if err != nil {
		return err
	}
	s.lag = indexlag.New(indexlag.Options{
		Client: s.tables, Streams: s.streams, Table: s.cfg.TableName, StreamARN: s.streamARN, Logger: s.logger,
	})
	s.dynamodb.door = faults.NewInjector(1)
	handler := s.dynamodb.door.Handler(s.lag.Handler(proxy), faults.DynamoDBFailures())
	s.dynamodb.behindDoor, err = s.serveDoor(ctx, handler)
	return err
}

// startPinecone serves the data plane twice: directly, and through the door.
func (s *Stack) startPinecone(ctx context.Context) error {
	if s.cfg.PineconeHost != "" {
		s.pinecone = service{direct: s.cfg.PineconeHost, behindDoor: s.cfg.PineconeHost, about: "named by PINECONE_INDEX_HOST"}
		return nil
	}
	dir := s.dataPath("pinecone")
	if dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make data folder: %w", err)
		}
	}
	opts := pineconelocal.Options{Dimension: s.cfg.EmbeddingDimensions, DataDir: dir}
	index, err := pineconelocal.New(opts) //nolint:contextcheck // it outlives the start
	if err != nil {
		return fmt.Errorf("start Pinecone data plane: %w", err)
	}
	s.index = index
	direct, err := listen(ctx, "PINECONE_PORT", s.cfg.PineconePort)
	if err != nil {
		return err
	}
	behind, err := listen(ctx, "", 0)
	if err != nil {
		return errors.Join(err, direct.Close())
	}
	door := faults.NewInjector(2)
	s.serveIndex(func() error { return index.Serve(direct) })
	s.serveIndex(func() error { return index.Serve(behind, door.Interceptor()) })
	s.pinecone = service{address(direct), address(behind), door, "Pinecone data plane, dotproduct, " + s.where()}
	return nil
}

func (s *Stack) serveIndex(serve func() error) {
	s.running.Go(func() {
		if err := serve(); err != nil && !errors.Is(err, net.ErrClosed) {
			s.fail(fmt.Errorf("serve Pinecone data plane: %w", err))
		}
	})
}

// startOpenAI serves the offline model, or passes on to the named services, each behind a door of the same faults.
func (s *Stack) startOpenAI(ctx context.Context) (err error) {
	door := faults.NewInjector(3)
	s.openai = service{direct: s.cfg.OpenAIBaseURL, door: door, about: "named by OPENAI_BASE_URL"}
	if s.cfg.OpenAIBaseURL == "" {
		l, err := listen(ctx, "OPENAI_PORT", s.cfg.OpenAIPort)
		if err != nil {
			return err
		}
		s.serve(l, offlinemodel.Handler(offlinemodel.Options{Logger: s.logger}))
		s.openai.direct, s.openai.about = address(l)+"/v1", "offline model, "+offlinemodel.ModelID
	}
	if s.openai.behindDoor, err = s.proxyDoor(ctx, door, s.openai.direct); err != nil {
		return err
	}
	s.embedding = s.openai
	if s.cfg.EmbeddingBaseURL != "" {
		s.embedding.direct = s.cfg.EmbeddingBaseURL
		s.embedding.behindDoor, err = s.proxyDoor(ctx, door, s.cfg.EmbeddingBaseURL)
	}
	return err
}

func (s *Stack) proxyDoor(ctx context.Context, door *faults.Injector, base string) (string, error) {
	proxy, err := faults.Proxy(base)
	if err != nil {
		return "", err
	}
	return s.serveDoor(ctx, door.Handler(proxy, faults.OpenAIFailures()))
}

func (s *Stack) serveDoor(ctx context.Context, handler http.Handler) (string, error) {
	l, err := listen(ctx, "", 0)
	if err != nil {
		return "", err
	}
	s.serve(l, handler)
	return address(l), nil
}

// dataPath is a place in the data folder, empty where nothing is kept.
func (s *Stack) dataPath(name string) string {
	if s.cfg.DataDir == "" {
		return ""
	}
	return filepath.Join(s.cfg.DataDir, name)
}

func (s *Stack) where() string {
	if s.cfg.DataDir == "" {
		return "in memory"
	}
	return "kept in " + s.cfg.DataDir
}

func onThisMachine(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// isAWS tells the service itself, whose streams have an address of their own.
func isAWS(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && strings.HasSuffix(u.Hostname(), ".amazonaws.com")
}
