package faults_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	openai "github.com/sashabaranov/go-openai"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/throughline/throughline/infra/local/faults"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// TestDynamoDBErrorsAreTheServices checks that the real client reads the injected errors as the service's own.
func TestDynamoDBErrorsAreTheServices(t *testing.T) {
	t.Parallel()
	injector, client, table := dynamodbInjector(t)
	injector.Set(faults.Rates{ErrorRate: 1})
	var broken *types.InternalServerError
	if err := put(t, client, table, "a"); !errors.As(err, &broken) {
		t.Errorf("first error: %v", err)
	}
	var throttled *types.ProvisionedThroughputExceededException
	if err := put(t, client, table, "a"); !errors.As(err, &throttled) {
		t.Errorf("second error: %v", err)
	}
	if has(t, table, "a") {
		t.Error("a request that failed was performed")
	}
	injector.Set(faults.Rates{})
	if err := put(t, client, table, "a"); err != nil || !has(t, table, "a") {
		t.Errorf("with no faults: %v", err)
	}
}

func TestDroppedAnswerIsPerformed(t *testing.T) {
	t.Parallel()
	injector, client, table := dynamodbInjector(t)
	injector.Set(faults.Rates{DropRate: 1})
	if err := put(t, client, table, "a"); err == nil {
		t.Error("got an answer")
	}
	if !has(t, table, "a") {
		t.Error("the request was not performed")
	}
}

func TestLatency(t *testing.T) {
	t.Parallel()
	injector, client, table := dynamodbInjector(t)
	injector.Set(faults.Rates{Latency: 150 * time.Millisecond})
	began := time.Now()
	check.OK(t, put(t, client, table, "a"))
	if took := time.Since(began); took < 150*time.Millisecond {
		t.Errorf("took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := client.ListTables(ctx, &dynamodb.ListTablesInput{})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a caller with less time: %v", err)
	}
}

func TestRateIsAShare(t *testing.T) {
	t.Parallel()
	injector := faults.NewInjector(7)
	injector.Set(faults.Rates{ErrorRate: 0.3})
	var performed atomic.Int64
	service := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { performed.Add(1) })
	server := httptest.NewServer(injector.Handler(service, faults.OpenAIFailures()))
	defer server.Close()
	for range 500 {
		resp := request(t, http.MethodGet, server.URL, nil)
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	if got := performed.Load(); got < 300 || got > 400 {
		t.Errorf("%d of 500 requests performed, want about 350", got)
	}
}

func TestOpenAIErrorsAreTheServices(t *testing.T) {
	t.Parallel()
	injector := faults.NewInjector(1)
	injector.Set(faults.Rates{ErrorRate: 1})
	server := httptest.NewServer(injector.Handler(http.NotFoundHandler(), faults.OpenAIFailures()))
	defer server.Close()
	config := openai.DefaultConfig("any")
	config.BaseURL = server.URL + "/v1"
	client := openai.NewClientWithConfig(config)
	for _, want := range []int{500, 429, 429, 500} {
		_, err := client.ListModels(t.Context())
		var api *openai.APIError
		if !errors.As(err, &api) || api.HTTPStatusCode != want || api.Message == "" {
			t.Errorf("error %v, want status %d", err, want)
		}
	}
}

// TestThrottlingWithAndWithoutAdvice checks that the service does not always say when to try again.
func TestThrottlingWithAndWithoutAdvice(t *testing.T) {
	t.Parallel()
	var advice []string
	for _, f := range faults.OpenAIFailures() {
		if f.Status == http.StatusTooManyRequests {
			advice = append(advice, f.Header.Get("Retry-After"))
		}
	}
	check.Same(t, []string{"1", ""}, advice, "Retry-After")
}

func TestProxyStreams(t *testing.T) {
	t.Parallel()
	next := make(chan string)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for piece := range next {
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer backend.Close()
	proxy := check.Got(faults.Proxy(backend.URL + "/base"))(t)
	server := httptest.NewServer(faults.NewInjector(1).Handler(proxy, nil))
	defer server.Close()
	go func() { next <- "one" }()
	resp := request(t, http.MethodGet, server.URL, nil)
	defer resp.Body.Close()
	buffer := make([]byte, 3)
	if _, err := io.ReadFull(resp.Body, buffer); err != nil || string(buffer) != "one" {
		t.Errorf("read %q, %v", buffer, err)
	}
	close(next) // the first piece arrived before the answer was complete
	if _, err := faults.Proxy("no url"); err == nil {
		t.Error("made a proxy to no address")
	}
}

// TestProxyReadsRequestsWhole checks that a request sent in pieces reaches the service in one piece with its length.
func TestProxyReadsRequestsWhole(t *testing.T) {
	t.Parallel()
	lengths := make(chan int64, 1)
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		lengths <- r.ContentLength
	}))
	defer service.Close()
	proxy := check.Got(faults.Proxy(service.URL))(t)
	server := httptest.NewServer(proxy)
	defer server.Close()
	body, sent := io.Pipe()
	go func() {
		_, _ = io.WriteString(sent, "in ")
		_, _ = io.WriteString(sent, "pieces")
		_ = sent.Close()
	}()
	_ = request(t, http.MethodPost, server.URL, body).Body.Close()
	if n := <-lengths; n != int64(len("in pieces")) {
		t.Errorf("the service got a request of %d bytes", n)
	}
}

func TestInterceptor(t *testing.T) {
	t.Parallel()
	injector, performed := faults.NewInjector(1), 0
	intercept := injector.Interceptor()
	call := func() error {
		_, err := intercept(t.Context(), nil, nil, func(context.Context, any) (any, error) {
			performed++
			return "ok", nil
		})
		return err
	}
	injector.Set(faults.Rates{ErrorRate: 1})
	for _, want := range []codes.Code{codes.Internal, codes.Unavailable, codes.ResourceExhausted} {
		if err := call(); status.Code(err) != want || performed != 0 {
			t.Errorf("error %v, performed %d; want %s", err, performed, want)
		}
	}
	injector.Set(faults.Rates{DropRate: 1})
	if err := call(); status.Code(err) != codes.Unavailable || performed != 1 {
		t.Errorf("dropped: %v, performed %d", err, performed)
	}
	injector.Set(faults.Rates{})
	if err := call(); err != nil || performed != 2 {
		t.Errorf("without faults: %v, performed %d", err, performed)
	}
}

func dynamodbInjector(t *testing.T) (*faults.Injector, *dynamodb.Client, string) {
	t.Helper()
	pk := aws.String("pk")
	table := dynamodbtest.Table(t, &dynamodb.CreateTableInput{
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: pk, AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: pk, KeyType: types.KeyTypeHash}},
	})
	proxy := check.Got(faults.Proxy(dynamodbtest.Endpoint(t)))(t)
	injector := faults.NewInjector(1)
	server := httptest.NewServer(injector.Handler(proxy, faults.DynamoDBFailures()))
	t.Cleanup(server.Close)
	return injector, dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}), table
}

func request(t *testing.T, method, url string, body io.Reader) *http.Response {
	t.Helper()
	req := check.Got(http.NewRequestWithContext(t.Context(), method, url, body))(t)
	return check.Got(http.DefaultClient.Do(req))(t)
}

func put(t *testing.T, client *dynamodb.Client, table, pk string) error {
	t.Helper()
	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: key(pk)})
	return err
}

func has(t *testing.T, table, pk string) bool {
	t.Helper()
	out := check.Got(dynamodbtest.Client(t).GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &table,
		Key:       key(pk),
	}))(t)
	return out.Item != nil
}

func key(pk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}}
}
