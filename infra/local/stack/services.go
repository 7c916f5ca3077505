package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/throughline/throughline/infra/local/dynamodblocal"
	"github.com/throughline/throughline/infra/local/eventbus"
	"github.com/throughline/throughline/infra/local/faults"
	"github.com/throughline/throughline/infra/local/indexlag"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/infra/local/pineconelocal"
	"github.com/throughline/throughline/internal/dynamo"
	"github.com/throughline/throughline/internal/dynamo/table"
	"github.com/throughline/throughline/internal/migration/adopt"
)

const tableTimeout = 30 * time.Second

// service has the addresses of a dependency. Tests and tools use the direct one, and the functions the injected one,
// which goes through the fault injector. The index and the offline model have one address, with an injector.
type service struct {
	direct, injected string
	injector         *faults.Injector
	about            string
}

// services are the dependencies of the functions: DynamoDB, Pinecone and OpenAI, local or named by the user.
type services struct {
	host

	dynamodb, pinecone, openai, embedding, events service

	bus     *eventbus.Bus
	engine  *dynamodblocal.Server   // nil where the user named another
	indexes []*pineconelocal.Server // none where the user named another
	// nextIndex is the next index, as the functions get it.
	nextIndex string
	lag       *indexlag.Lag    // nil where DynamoDB has no injector
	tables    *dynamodb.Client // like streams, the stack's own client without faults
	streams   *dynamodbstreams.Client
	streamARN string
	due       *dynamo.DueStore

	faultsMu sync.Mutex // held while faults are set
	faults   map[string]faultSettings
}

// start starts the services and makes the table. DynamoDB takes by far the longest, so the others start beside it.
func (s *services) start(ctx context.Context) error {
	engine, engineCtx := errgroup.WithContext(ctx)
	engine.Go(func() error { return s.startDynamoDB(engineCtx) })
	var err error
	for _, start := range []func(context.Context) error{
		s.startPinecone, s.startNextIndex, s.startOpenAI, s.startEvents,
	} {
		if err == nil {
			err = start(ctx)
		}
	}
	if err := errors.Join(engine.Wait(), err); err != nil {
		return err
	}
	s.connect()
	s.printer.print("dynamodb", s.dynamodb.direct, s.dynamodb.about)
	s.printer.print("pinecone", s.pinecone.direct, s.pinecone.about)
	s.printer.print("openai", s.openai.direct, s.openai.about)
	if s.embedding.direct != s.openai.direct {
		s.printer.print("embeddings", s.embedding.direct, s.embedding.about)
	}
	if s.engine != nil {
		s.supervisor.run(s.watchEngine)
	}
	if err := s.openTable(ctx); err != nil {
		return err
	}
	return s.injectDynamoDB(ctx)
}

// stop ends what was started. ctx bounds the cleaning up of lagging indexes.
func (s *services) stop(ctx context.Context) (err error) {
	if s.lag != nil {
		err = errors.Join(err, s.lag.Set(ctx, 0))
	}
	for _, index := range s.indexes {
		err = errors.Join(err, index.Close())
	}
	if s.engine != nil {
		err = errors.Join(err, s.engine.Stop())
	}
	return err
}

// startDynamoDB starts the engine unless the user named one.
func (s *services) startDynamoDB(ctx context.Context) error {
	endpoint, about := string(s.cfg.DynamoDBEndpoint), "named by AWS_ENDPOINT_URL_DYNAMODB"
	if endpoint == "" {
		if !dynamodblocal.Installed() {
			s.printer.print("dynamodb", "", "installing DynamoDB Local, once")
		}
		folder, err := s.cfg.dataFolder("dynamodb")
		if err != nil {
			return err
		}
		l, err := listen(ctx, place{"DYNAMODB_PORT", s.cfg.DynamoDBPort}) // the engine would tell much later
		if err != nil {
			return err
		}
		_ = l.Close()
		options := dynamodblocal.Options{Port: int(s.cfg.DynamoDBPort), DataDir: folder}
		if s.engine, err = dynamodblocal.Start(ctx, options); err != nil {
			return err
		}
		endpoint, about = s.engine.Endpoint(), "DynamoDB Local, "+s.cfg.where()
	}
	s.dynamodb = service{direct: endpoint, injected: endpoint, about: about}
	return nil
}

// watchEngine fails the stack when the engine ends by itself.
func (s *services) watchEngine(ctx context.Context) error {
	select {
	case <-s.engine.Done():
		return errors.New("DynamoDB Local ended by itself")
	case <-ctx.Done():
		return nil
	}
}

// connect makes the stack's own clients.
func (s *services) connect() {
	keys := credentials.NewStaticCredentialsProvider(s.cfg.AccessKeyID, s.cfg.SecretAccessKey, s.cfg.SessionToken)
	s.tables = dynamodb.New(dynamodb.Options{
		Region: s.cfg.Region, Credentials: keys, BaseEndpoint: aws.String(s.dynamodb.direct),
	})
	options := dynamodbstreams.Options{Region: s.cfg.Region, Credentials: keys}
	switch {
	case s.cfg.StreamsEndpoint != "":
		options.BaseEndpoint = aws.String(string(s.cfg.StreamsEndpoint))
	case !isAWS(s.dynamodb.direct):
		options.BaseEndpoint = aws.String(s.dynamodb.direct)
	}
	s.streams = dynamodbstreams.New(options)
}

// openTable makes the table unless it exists, and finds its stream. A table that was there keeps its TTL. It makes the
// ledger of erasures beside it.
func (s *services) openTable(ctx context.Context) error {
	out, err := s.makeTable(ctx, table.CreateTableInput(s.cfg.TableName))
	if err != nil {
		return err
	}
	if _, err := s.makeTable(ctx, dynamo.CreateLedgerInput(s.cfg.ErasuresTable)); err != nil {
		return err
	}
	if s.streamARN = aws.ToString(out.LatestStreamArn); s.streamARN == "" {
		return fmt.Errorf("table %s has no stream: enable one with new and old images", s.cfg.TableName)
	}
	s.due = dynamo.NewDueStore(dynamo.New(s.tables, s.cfg.TableName, adopt.WithLegacy()))
	return nil
}

// makeTable makes a table, with a TTL as in the template, unless there is one of that name.
func (s *services) makeTable(ctx context.Context, in *dynamodb.CreateTableInput) (*types.TableDescription, error) {
	name := aws.ToString(in.TableName)
	_, err := s.tables.CreateTable(ctx, in)
	isNew := err == nil
	if _, exists := errors.AsType[*types.ResourceInUseException](err); !isNew && !exists {
		return nil, fmt.Errorf("create table %s: %w", name, err)
	}
	input := &dynamodb.DescribeTableInput{TableName: &name}
	out, err := dynamodb.NewTableExistsWaiter(s.tables).WaitForOutput(ctx, input, tableTimeout)
	if err != nil {
		return nil, fmt.Errorf("wait for table %s: %w", name, err)
	}
	if isNew {
		if err := s.expireRecords(ctx, name); err != nil {
			return nil, err
		}
	}
	return out.Table, nil
}

// expireRecords turns a table's TTL on, as the template does.
func (s *services) expireRecords(ctx context.Context, name string) error {
	_, err := s.tables.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &name, TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String(table.TTLAttribute), Enabled: aws.Bool(true),
		},
	})
	if err != nil {
		return fmt.Errorf("turn on the TTL of table %s: %w", name, err)
	}
	return nil
}

// injectDynamoDB puts the fault injector and the lag of indexes in front of the table. AWS refuses signed requests
// that passed a proxy, so only an engine on this machine gets an injector.
func (s *services) injectDynamoDB(ctx context.Context) error {
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
	s.dynamodb.injector = faults.NewInjector(1)
	handler := s.dynamodb.injector.Handler(s.lag.Handler(proxy), faults.DynamoDBFailures())
	s.dynamodb.injected, err = s.serve(ctx, place{}, handler)
	return err
}

// startEvents serves the event bus, through an injector.
func (s *services) startEvents(ctx context.Context) (err error) {
	s.bus, s.events.injector = eventbus.New(), faults.NewInjector(4)
	handler := s.events.injector.Handler(s.bus.Handler(), faults.EventBridgeFailures())
	s.events.injected, err = s.serve(ctx, place{}, handler)
	return err
}

// startPinecone serves the data plane through an injector.
func (s *services) startPinecone(ctx context.Context) (err error) {
	if host := s.cfg.Pinecone.IndexHost; host != "" {
		s.pinecone = service{direct: host, injected: host, about: "named by PINECONE_INDEX_HOST"}
		return nil
	}
	injector := faults.NewInjector(2)
	at := place{"PINECONE_PORT", s.cfg.PineconePort}
	address, err := s.serveIndex(ctx, at, "pinecone", s.cfg.OpenAI.Embedding.Dimensions, injector.Interceptor())
	about := "Pinecone data plane, dotproduct, " + s.cfg.where()
	s.pinecone = service{direct: address, injected: address, injector: injector, about: about}
	return err
}

// ownHost is the host of a next index that the stack serves itself, as in
// PINECONE_NEXT_INDEX=local,model@dimension,user.
const ownHost = "local"

// startNextIndex serves the next index where it has no host of its own.
func (s *services) startNextIndex(ctx context.Context) (err error) {
	next := s.cfg.Pinecone.Next
	if next.Host == "" {
		return nil
	}
	if next.Host == ownHost {
		if next.Host, err = s.serveIndex(ctx, place{}, "pinecone-next", next.Embedding.Dimensions); err != nil {
			return err
		}
		s.printer.print("next index", next.Host, "for vectors of "+next.Embedding.Version())
	}
	s.nextIndex = next.String()
	return nil
}

// serveIndex serves a local index that keeps its vectors in a folder of that name, and returns its address.
func (s *services) serveIndex(ctx context.Context, at place, folder string, dimension int,
	interceptors ...grpc.UnaryServerInterceptor,
) (string, error) {
	dir, err := s.cfg.dataFolder(folder)
	if err != nil {
		return "", err
	}
	opts := pineconelocal.Options{Dimension: dimension, DataDir: dir, MaxNamespaces: s.cfg.MaxNamespaces}
	index, err := pineconelocal.New(opts)
	if err != nil {
		return "", fmt.Errorf("start Pinecone data plane: %w", err)
	}
	s.indexes = append(s.indexes, index)
	l, err := listen(ctx, at)
	if err != nil {
		return "", err
	}
	s.supervisor.run(func(context.Context) error {
		if err := index.Serve(l, interceptors...); err != nil && !errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("serve Pinecone data plane: %w", err)
		}
		return nil
	})
	return address(l), nil
}

// startOpenAI serves the offline model, or forwards to the services that the user named. One injector disturbs chat
// and embeddings alike.
func (s *services) startOpenAI(ctx context.Context) (err error) {
	injector := faults.NewInjector(3)
	at := place{"OPENAI_PORT", s.cfg.OpenAIPort}
	if s.openai, err = s.model(ctx, at, injector, "OPENAI_BASE_URL", string(s.cfg.OpenAIBaseURL)); err != nil {
		return err
	}
	if s.cfg.EmbeddingBaseURL == s.cfg.OpenAIBaseURL { // one address, and so one key
		s.embedding = s.openai
		return nil
	}
	s.embedding, err = s.model(ctx, place{}, injector, "OPENAI_EMBEDDING_BASE_URL", string(s.cfg.EmbeddingBaseURL))
	return err
}

// model serves the model service that a variable names, or the offline model.
func (s *services) model(ctx context.Context, at place, injector *faults.Injector, variable, named string,
) (service, error) {
	handler, path, about := offlinemodel.Handler(), "/v1", "offline model, "+offlinemodel.ModelID
	if named != "" {
		proxy, err := faults.Proxy(named)
		if err != nil {
			return service{}, err
		}
		handler, path, about = proxy, "", "named by "+variable
	}
	address, err := s.serve(ctx, at, injector.Handler(handler, faults.OpenAIFailures()))
	one := service{direct: named, injected: address + path, injector: injector, about: about}
	if named == "" {
		one.direct = one.injected
	}
	return one, err
}

// serve serves a handler and returns its address.
func (s *services) serve(ctx context.Context, at place, handler http.Handler) (string, error) {
	l, err := listen(ctx, at)
	if err != nil {
		return "", err
	}
	s.supervisor.serve(l, localOnly(handler))
	return address(l), nil
}

func onThisMachine(endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// isAWS reports whether an endpoint is the service itself, whose streams have an address of their own.
func isAWS(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && strings.HasSuffix(u.Hostname(), ".amazonaws.com")
}
