package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// The functions here do just enough to show the stack's part. messages stores what it is sent. remember writes a
// summary for each message of the stream. summarize covers what is due.

// fixture is a stack with the test's functions.
type fixture struct {
	stack *stack.Stack
	chat  func(context.Context) io.Reader

	mu        sync.Mutex
	configs   map[string]config.Config
	stuck     bool
	delivered []string
	// remembers is how many instances of remember were built, and reached says which of them got each record.
	remembers int
	reached   map[string][]int
}

// start starts a stack on the engine that the tests share, in a table of its own.
func start(t *testing.T, environ map[string]string) *fixture {
	t.Helper()
	all := map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": dynamodbtest.Endpoint(t), "TABLE_NAME": dynamodbtest.TableName(t),
	}
	maps.Copy(all, environ)
	return startOwn(t, all)
}

// startOwn starts a stack with an engine of its own.
func startOwn(t *testing.T, environ map[string]string) *fixture {
	t.Helper()
	f := newFixture()
	f.run(t, f.parse(t, environ))
	return f
}

// step is a test that shares its stack with others. A message of a text that was written before makes no record of
// the stream, so each writes texts of its own.
type step struct {
	name string
	run  func(*testing.T, *fixture)
}

// inTurn runs the steps one after the other on one stack.
func inTurn(t *testing.T, f *fixture, steps []step) {
	t.Helper()
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) { s.run(t, f) })
	}
}

func newFixture() *fixture {
	return &fixture{configs: map[string]config.Config{}, reached: map[string][]int{}}
}

// run starts a stack until the test ends.
func (f *fixture) run(t *testing.T, cfg stack.Config) {
	t.Helper()
	s, err := stack.Start(t.Context(), cfg)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	f.stack = s
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
}

func (f *fixture) parse(t *testing.T, environ map[string]string) stack.Config {
	t.Helper()
	all := map[string]string{"PORT": "0"}
	maps.Copy(all, environ)
	cfg := check.Got(stack.Parse(all))(t)
	cfg.Functions = map[string]stack.Constructor{
		"messages": f.constructor("messages", f.messages), "remember": f.constructor("remember", f.remember),
		"summarize": f.constructor("summarize", f.summarize), "context": f.constructor("context", echo),
		"prompt": f.constructor("prompt", echo), "coach": f.constructor("coach", coach{f}),
		"migrate": f.constructor("migrate", echo), "mcp": f.constructor("mcp", echo),
	}
	return cfg
}

// constructor keeps the configuration, and binds the handler to it.
func (f *fixture) constructor(name string, build any) stack.Constructor {
	return func(_ context.Context, cfg config.Config, _ function.Runtime) (any, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.configs[name] = cfg
		if bind, ok := build.(func(config.Config) any); ok {
			return bind(cfg), nil
		}
		return build, nil
	}
}

func (f *fixture) config(name string) config.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.configs[name]
}

func echo(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }

// messages stores a message under the body's name, and a session that is due.
func (f *fixture) messages(cfg config.Config) any {
	db := dynamo(cfg.DynamoDBEndpoint)
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		user := e.RequestContext.Authorizer.JWT.Claims["sub"]
		due := record("user#"+user, "conversation#due")
		due["dueShard"], due["dueAt"] = &types.AttributeValueMemberN{Value: "3"}, str("2020-01-01T00:00:00.000Z")
		message := record("user#"+user, "msg#"+e.Body)
		message["sourceId"], message["timestamp"] = str(user), str(e.Body)
		for _, it := range []map[string]types.AttributeValue{message, due} {
			if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &cfg.TableName, Item: it}); err != nil {
				return events.APIGatewayV2HTTPResponse{}, err
			}
		}
		return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: user + " wrote " + e.Body}, nil
	}
}

// remember writes a summary for each message.
func (f *fixture) remember(cfg config.Config) any {
	db := dynamo(cfg.DynamoDBEndpoint)
	f.remembers++ // under the constructor's lock
	instance := f.remembers
	return func(ctx context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.stuck {
			failed := events.DynamoDBBatchItemFailure{ItemIdentifier: e.Records[0].Change.SequenceNumber}
			return events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{failed}}, nil
		}
		for _, r := range e.Records {
			pk, sk := r.Change.Keys["pk"].String(), r.Change.Keys["sk"].String()
			f.delivered = append(f.delivered, sk)
			f.reached[sk] = append(f.reached[sk], instance)
			it := record(pk, strings.Replace(sk, "msg#", "summary#", 1))
			if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &cfg.TableName, Item: it}); err != nil {
				return events.DynamoDBEventResponse{}, err
			}
		}
		return events.DynamoDBEventResponse{}, nil
	}
}

// summarize takes the due session off the index in the sweep, and does nothing for the stream.
func (f *fixture) summarize(cfg config.Config) any {
	db := dynamo(cfg.DynamoDBEndpoint)
	return func(ctx context.Context, in map[string]any) (any, error) {
		if in["schedule"] != "sweep" {
			return nil, nil
		}
		covered := record("user#ann", "conversation#due")
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &cfg.TableName, Item: covered})
		return nil, err
	}
}

// coach streams what the chat of the fixture says.
type coach struct{ *fixture }

func (f coach) Stream(
	ctx context.Context, _ *events.LambdaFunctionURLRequest,
) (*events.LambdaFunctionURLStreamingResponse, error) {
	if f.chat == nil {
		return nil, errors.New("no chat")
	}
	return &events.LambdaFunctionURLStreamingResponse{StatusCode: 200, Body: f.chat(ctx)}, nil
}

func (f *fixture) get(t *testing.T, path string, out any) {
	t.Helper()
	check.Equal(t, http.StatusOK, f.call(t, http.MethodGet, path, "", out), "%s: status", path)
}

// call makes a request without a token and decodes the answer.
func (f *fixture) call(t *testing.T, method, path, body string, out any) int {
	t.Helper()
	req := check.Got(http.NewRequestWithContext(t.Context(), method, f.stack.URL()+path, strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/json")
	resp := check.Got(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	if out != nil {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return resp.StatusCode
}

func (f *fixture) post(t *testing.T, path, token, body string) (int, string) {
	t.Helper()
	req := check.Got(http.NewRequestWithContext(t.Context(), http.MethodPost, f.stack.URL()+path,
		strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "text/plain")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp := check.Got(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	raw := check.Got(io.ReadAll(resp.Body))(t)
	return resp.StatusCode, string(raw)
}

func (f *fixture) token(t *testing.T, user string) string {
	t.Helper()
	var out struct{ Token string }
	f.call(t, http.MethodPost, "/dev/tokens", `{"userId":"`+user+`"}`, &out)
	return out.Token
}

func (f *fixture) settle(t *testing.T, ms int) (out stack.Settled) {
	t.Helper()
	body := fmt.Sprintf(`{"timeoutMs":%d}`, ms)
	check.Equal(t, http.StatusOK, f.call(t, http.MethodPost, "/dev/settle", body, &out), "settle: status")
	return out
}

func dynamo(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: keys(), RetryMaxAttempts: 1,
	})
}

func keys() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("local", "local", "")
}

func item(t *testing.T, db *dynamodb.Client, table, pk, sk string) map[string]types.AttributeValue {
	t.Helper()
	out := check.Got(db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: record(pk, sk)}))(t)
	return out.Item
}

func record(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": str(pk), "sk": str(sk)}
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func answers(t *testing.T, url string) bool {
	t.Helper()
	req := check.Got(http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody))(t)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}
