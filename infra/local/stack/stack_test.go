package stack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	openai "github.com/sashabaranov/go-openai"

	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/function"
)

// The functions here do as little as shows the stack's part: messages stores what it is sent, remember writes a
// summary for each message it is told of, summarize covers what is due.

func TestStackFromEndToEnd(t *testing.T) {
	h := start(t, nil)
	var info stack.Info
	h.get(t, "/dev/info", &info)
	if info.Functions["prompt"] != "throughline-prompt" || info.TableName != "throughline" || !strings.HasPrefix(info.PineconeHost, "http://") {
		t.Errorf("info %+v", info)
	}
	h.get(t, "/healthz", &struct{}{})
	token := h.token(t, "ann")
	if status, _ := h.post(t, "/v1/sessions", "", "one"); status != http.StatusUnauthorized {
		t.Errorf("without token: status %d", status)
	}
	if status, body := h.post(t, "/v1/sessions", token, "one"); status != http.StatusCreated || body != "ann wrote one" {
		t.Errorf("with token: status %d, body %q", status, body)
	}
	settled := h.settle(t, 20_000)
	if !settled.Settled || settled.Pending != 0 || settled.Records == 0 {
		t.Errorf("settled %+v", settled)
	}
	db := dynamo(info.DynamoDBEndpoint)
	if item(t, db, info.TableName, "user#ann", "summary#one") == nil {
		t.Error("the stream's consumer had not written when the stack said that it settled")
	}
	if item(t, db, info.TableName, "user#ann", "conversation#due")["dueAt"] != nil {
		t.Error("a session was due when the stack said that it settled")
	}
	client := lambda.New(lambda.Options{Region: "us-east-1", BaseEndpoint: aws.String(info.LambdaEndpoint), Credentials: keys()})
	out, err := client.Invoke(t.Context(), &lambda.InvokeInput{FunctionName: aws.String(info.Functions["prompt"]), Payload: []byte(`{"a":1}`)})
	if err != nil || string(out.Payload) != `{"a":1}` {
		t.Errorf("invoke prompt: %v, %v", out, err)
	}
	h.useServices(t, info)
}

// useServices reaches Pinecone and OpenAI through their real clients.
func (h *harness) useServices(t *testing.T, info stack.Info) {
	t.Helper()
	pc, err := pinecone.NewClient(pinecone.NewClientParams{ApiKey: "any"})
	if err != nil {
		t.Fatal(err)
	}
	index, err := pc.Index(pinecone.NewIndexConnParams{Host: info.PineconeHost})
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	if _, err := index.DescribeIndexStats(t.Context()); err != nil {
		t.Errorf("pinecone: %v", err)
	}
	cfg := openai.DefaultConfig("any")
	cfg.BaseURL = info.OpenAIBaseURL
	models, err := openai.NewClientWithConfig(cfg).ListModels(t.Context())
	if err != nil || len(models.Models) == 0 {
		t.Errorf("openai: %v, %v", models, err)
	}
}

func TestFunctionsGetTheirEnvironment(t *testing.T) {
	h := start(t, map[string]string{
		"TRIGGERS": "messages=3,idle=2s", "KEEP_PROMPT_TEXT": "false", "OPENAI_CHAT_MODEL": "other", "CHAT_TIMEOUT": "7s",
	})
	coach, summarize := h.config("coach"), h.config("summarize")
	if summarize.Triggers.Messages != 3 || summarize.Triggers.Idle != 2*time.Second || summarize.Triggers.TimeoutMS != 2500 {
		t.Errorf("triggers %+v", summarize.Triggers)
	}
	if coach.PromptFunction != "throughline-prompt" || coach.OpenAI.ChatModel != "other" || coach.ChatTimeout != 7*time.Second ||
		coach.KeepPromptText || coach.SecretName != "" || coach.Auth.Issuer != h.stack.URL() {
		t.Errorf("coach %+v", coach)
	}
	info := h.stack.Info()
	if coach.DynamoDBEndpoint == info.DynamoDBEndpoint || coach.Pinecone.IndexHost == info.PineconeHost ||
		coach.OpenAI.BaseURL == info.OpenAIBaseURL || coach.LambdaEndpoint != info.LambdaEndpoint {
		t.Errorf("the functions do not pass the fault door: %+v", coach)
	}
}

func TestFaultDoor(t *testing.T) {
	h := start(t, nil)
	token := h.token(t, "ann")
	var state map[string]struct{ ErrorRate, LatencyMS, DropRate float64 }
	h.call(t, "POST", "/dev/faults", `{"dynamodb":{"errorRate":1,"latencyMs":1},"openai":{"dropRate":0.5}}`, &state)
	if state["dynamodb"].ErrorRate != 1 || state["dynamodb"].LatencyMS != 1 || state["openai"].DropRate != 0.5 {
		t.Errorf("state %+v", state)
	}
	if status, _ := h.post(t, "/v1/sessions", token, "one"); status != http.StatusInternalServerError {
		t.Errorf("with a broken table: status %d", status)
	}
	h.get(t, "/healthz", &struct{}{}) // the stack's own door is open
	h.call(t, "POST", "/dev/faults", `{"dynamodb":{}}`, &state)
	if state["dynamodb"].ErrorRate != 0 || state["openai"].DropRate != 0.5 {
		t.Errorf("cleared one service: %+v", state)
	}
	if status, _ := h.post(t, "/v1/sessions", token, "one"); status != http.StatusCreated {
		t.Errorf("with the door open: status %d", status)
	}
	for body, field := range map[string]string{
		`{"s3":{}}`: "s3", `{"openai":{"errorRate":2}}`: "openai.errorRate", `{"openai":{"x":1}}`: "openai.x",
		`{"openai":{"latencyMs":"5"}}`: "openai.latencyMs", `{"pinecone":7}`: "pinecone", `{"openai":{"indexLagMs":5}}`: "openai.indexLagMs",
	} {
		var p struct{ Errors []struct{ Field string } }
		if status := h.call(t, "POST", "/dev/faults", body, &p); status != 422 || len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: status %d, %+v", body, status, p)
		}
	}
}

func TestSettleSaysWhenItCannot(t *testing.T) {
	h := start(t, nil)
	h.mu.Lock()
	h.stuck = true
	h.mu.Unlock()
	if status, _ := h.post(t, "/v1/sessions", h.token(t, "ann"), "one"); status != http.StatusCreated {
		t.Fatalf("status %d", status)
	}
	if got := h.settle(t, 300); got.Settled || got.Pending == 0 {
		t.Errorf("settled %+v while a consumer fails", got)
	}
	h.mu.Lock()
	h.stuck = false
	h.mu.Unlock()
	if got := h.settle(t, 30_000); !got.Settled {
		t.Errorf("settled %+v after it mended", got)
	}
	var p struct{ Code string }
	if status := h.call(t, "POST", "/dev/settle", `{"timeoutMs":-1}`, &p); status != 422 || p.Code != "invalid" {
		t.Errorf("a negative time: %d %+v", status, p)
	}
}

func TestRedeliver(t *testing.T) {
	h := start(t, nil)
	h.post(t, "/v1/sessions", h.token(t, "ann"), "one")
	first := h.settle(t, 20_000)
	if status := h.call(t, "POST", "/dev/redeliver", "", nil); status != http.StatusAccepted {
		t.Fatalf("status %d", status)
	}
	if again := h.settle(t, 20_000); !again.Settled || again.Records <= first.Records {
		t.Errorf("before %+v, after %+v", first, again)
	}
	var letters struct{ Items []any }
	h.get(t, "/dev/dead-letters", &letters)
	if letters.Items == nil || len(letters.Items) != 0 {
		t.Errorf("dead letters %v, want an empty list", letters.Items)
	}
}

func TestDataDirKeepsEverything(t *testing.T) {
	environ := map[string]string{"DATA_DIR": filepath.Join(t.TempDir(), "data")}
	first := start(t, environ)
	token := first.token(t, "ann")
	first.post(t, "/v1/sessions", token, "one")
	first.settle(t, 20_000)
	port := first.stack.URL()[strings.LastIndex(first.stack.URL(), ":")+1:]
	if err := first.stack.Stop(); err != nil {
		t.Fatal(err)
	}
	environ["PORT"] = port
	second := start(t, environ)
	info := second.stack.Info()
	if item(t, dynamo(info.DynamoDBEndpoint), info.TableName, "user#ann", "msg#one") == nil {
		t.Error("the table was not kept")
	}
	if status, _ := second.post(t, "/v1/sessions", token, "two"); status != http.StatusCreated {
		t.Errorf("the first run's token: status %d", status)
	}
	if first.config("coach").CursorKey != second.config("coach").CursorKey {
		t.Error("the cursor key was not kept")
	}
	second.settle(t, 20_000)
	second.mu.Lock()
	defer second.mu.Unlock()
	for _, sk := range second.told {
		if sk == "msg#one" {
			t.Error("a record that the first run handled came again")
		}
	}
}

func TestStacksSideBySideAndNamedEngine(t *testing.T) {
	first := start(t, nil)
	second := start(t, map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": first.stack.Info().DynamoDBEndpoint, "TABLE_NAME": "second",
		"OPENAI_BASE_URL": first.stack.Info().OpenAIBaseURL, "PINECONE_INDEX_HOST": first.stack.Info().PineconeHost,
	})
	if second.stack.Info().DynamoDBEndpoint != first.stack.Info().DynamoDBEndpoint {
		t.Error("the named engine is not used")
	}
	token := second.token(t, "ann")
	if status, _ := second.post(t, "/v1/sessions", token, "one"); status != http.StatusCreated {
		t.Fatalf("status %d", status)
	}
	if status, _ := first.post(t, "/v1/sessions", token, "one"); status != http.StatusUnauthorized {
		t.Errorf("a token of the other stack: status %d", status)
	}
	if !second.settle(t, 20_000).Settled {
		t.Error("not settled")
	}
	db := dynamo(first.stack.Info().DynamoDBEndpoint)
	if item(t, db, "throughline", "user#ann", "msg#one") != nil || item(t, db, "second", "user#ann", "msg#one") == nil {
		t.Error("the stacks share a table")
	}
	var p struct{ Errors []struct{ Field string } }
	if status := second.call(t, "POST", "/dev/faults", `{"pinecone":{}}`, &p); status != 422 {
		t.Errorf("a door before a named index: %d", status)
	}
	if err := second.stack.Stop(); err != nil {
		t.Fatal(err)
	}
	first.get(t, "/healthz", &struct{}{})
}

func TestTakenPortSaysTheMend(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for _, variable := range []string{"PORT", "LAMBDA_PORT", "OPENAI_PORT", "PINECONE_PORT"} {
		t.Run(variable, func(t *testing.T) {
			cfg := (&harness{}).parse(t, map[string]string{variable: fmt.Sprint(port)})
			_, err := stack.Start(t.Context(), cfg)
			want := fmt.Sprintf("port %d is taken: stop what uses it, or %s=%d make run", port, variable, port+1)
			if err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
}

func TestStopCutsOffWhatIsUnderWay(t *testing.T) {
	h := start(t, nil)
	begun := make(chan struct{})
	h.chat = func(ctx context.Context) io.Reader {
		reader, writer := io.Pipe()
		go func() {
			_, _ = io.WriteString(writer, "event: prompt\n")
			close(begun)
			<-ctx.Done()
			_ = writer.Close()
		}()
		return reader
	}
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, h.stack.URL()+"/v1/chat", http.NoBody)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	<-begun
	endpoint, began := h.stack.Info().DynamoDBEndpoint, time.Now()
	if err := h.stack.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping took %s", took)
	}
	for _, url := range []string{h.stack.URL(), endpoint, h.stack.Info().PineconeHost, h.stack.Info().OpenAIBaseURL} {
		if answers(t, url) {
			t.Errorf("%s still answers", url)
		}
	}
}

func TestEngineThatDiesEndsWait(t *testing.T) {
	h := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.stack.Wait(ctx); err != nil {
		t.Errorf("wait until the context is done: %v", err)
	}
}

func TestParse(t *testing.T) {
	cases := []struct {
		triggers string
		want     stack.Triggers
	}{
		{"", stack.Triggers{}},
		{"messages=20", stack.Triggers{Messages: 20}},
		{"messages=20, idle=15m,sweep=1m", stack.Triggers{Messages: 20, Idle: 15 * time.Minute, Sweep: time.Minute}},
	}
	for _, c := range cases {
		cfg, err := stack.Parse(map[string]string{"TRIGGERS": c.triggers})
		if err != nil || cfg.Triggers != c.want || cfg.Port != 8080 || cfg.TableName != stack.DefaultTable || !cfg.KeepPromptText {
			t.Errorf("%q: %+v, %v", c.triggers, cfg, err)
		}
	}
	for _, environ := range []map[string]string{
		{"TRIGGERS": "moon=full"}, {"TRIGGERS": "idle=0s"}, {"TRIGGERS": "messages=-1"}, {"TRIGGERS": "sweep"}, {"PORT": "x"},
	} {
		_, err := stack.Parse(environ)
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: error %q, want one line", environ, err)
		}
		for name := range environ {
			if err != nil && !strings.Contains(strings.ToUpper(err.Error()), name) {
				t.Errorf("%v: error %q does not name the variable", environ, err)
			}
		}
	}
}

// harness is a stack with the test's functions.
type harness struct {
	stack *stack.Stack
	chat  func(context.Context) io.Reader

	mu      sync.Mutex
	configs map[string]config.Config
	stuck   bool
	told    []string
}

func start(t *testing.T, environ map[string]string) *harness {
	t.Helper()
	h := &harness{configs: map[string]config.Config{}}
	s, err := stack.Start(t.Context(), h.parse(t, environ))
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	h.stack = s
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return h
}

func (h *harness) parse(t *testing.T, environ map[string]string) stack.Config {
	t.Helper()
	all := map[string]string{"PORT": "0"}
	for name, value := range environ {
		all[name] = value
	}
	cfg, err := stack.Parse(all)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Functions = map[string]stack.Constructor{
		"messages": h.constructor("messages", h.messages), "remember": h.constructor("remember", h.remember),
		"summarize": h.constructor("summarize", h.summarize), "context": h.constructor("context", echo),
		"prompt": h.constructor("prompt", echo), "coach": h.constructor("coach", h.coach),
	}
	return cfg
}

// constructor keeps the configuration, and binds the handler to it.
func (h *harness) constructor(name string, build any) stack.Constructor {
	return func(_ context.Context, cfg config.Config, _ function.Runtime) (any, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.configs[name] = cfg
		if bind, ok := build.(func(config.Config) any); ok {
			return bind(cfg), nil
		}
		return build, nil
	}
}

func (h *harness) config(name string) config.Config {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.configs[name]
}

func echo(_ context.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }

// messages stores a message under the body's name, and a session that is due.
func (h *harness) messages(cfg config.Config) any {
	db := dynamo(cfg.DynamoDBEndpoint)
	return func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		user := e.RequestContext.Authorizer.JWT.Claims["sub"]
		due := record("user#"+user, "conversation#due")
		due["dueShard"], due["dueAt"] = &types.AttributeValueMemberN{Value: "3"}, str("2020-01-01T00:00:00.000Z")
		for _, it := range []map[string]types.AttributeValue{record("user#"+user, "msg#"+e.Body), due} {
			if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &cfg.TableName, Item: it}); err != nil {
				return events.APIGatewayV2HTTPResponse{}, err
			}
		}
		return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: user + " wrote " + e.Body}, nil
	}
}

// remember writes a summary for each message.
func (h *harness) remember(cfg config.Config) any {
	db := dynamo(cfg.DynamoDBEndpoint)
	return func(ctx context.Context, e events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.stuck {
			return events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{{ItemIdentifier: e.Records[0].Change.SequenceNumber}}}, nil
		}
		for _, r := range e.Records {
			pk, sk := r.Change.Keys["pk"].String(), r.Change.Keys["sk"].String()
			h.told = append(h.told, sk)
			it := record(pk, strings.Replace(sk, "msg#", "summary#", 1))
			if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &cfg.TableName, Item: it}); err != nil {
				return events.DynamoDBEventResponse{}, err
			}
		}
		return events.DynamoDBEventResponse{}, nil
	}
}

// summarize takes the due session off the index in the sweep, and does nothing for the stream.
func (h *harness) summarize(cfg config.Config) any {
	db := dynamo(cfg.DynamoDBEndpoint)
	return func(ctx context.Context, in map[string]any) (any, error) {
		if in["schedule"] != "sweep" {
			return nil, nil
		}
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &cfg.TableName, Item: record("user#ann", "conversation#due")})
		return nil, err
	}
}

func (h *harness) coach(ctx context.Context, _ *events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
	if h.chat == nil {
		return nil, errors.New("no chat")
	}
	return &events.LambdaFunctionURLStreamingResponse{StatusCode: 200, Body: h.chat(ctx)}, nil
}

func (h *harness) get(t *testing.T, path string, out any) {
	t.Helper()
	if status := h.call(t, http.MethodGet, path, "", out); status != http.StatusOK {
		t.Errorf("%s: status %d", path, status)
	}
}

// call makes a request without a token and decodes the answer.
func (h *harness) call(t *testing.T, method, path, body string, out any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, h.stack.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if out != nil {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	return resp.StatusCode
}

func (h *harness) post(t *testing.T, path, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.stack.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "text/plain")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func (h *harness) token(t *testing.T, user string) string {
	t.Helper()
	var out struct{ Token string }
	h.call(t, http.MethodPost, "/dev/tokens", `{"userId":"`+user+`"}`, &out)
	return out.Token
}

func (h *harness) settle(t *testing.T, ms int) (out stack.Settled) {
	t.Helper()
	if status := h.call(t, http.MethodPost, "/dev/settle", fmt.Sprintf(`{"timeoutMs":%d}`, ms), &out); status != http.StatusOK {
		t.Errorf("settle: status %d", status)
	}
	return out
}

func dynamo(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{Region: "us-east-1", BaseEndpoint: &endpoint, Credentials: keys(), RetryMaxAttempts: 1})
}

func keys() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("local", "local", "")
}

func item(t *testing.T, db *dynamodb.Client, table, pk, sk string) map[string]types.AttributeValue {
	t.Helper()
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: record(pk, sk)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item
}

func record(pk, sk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"pk": str(pk), "sk": str(sk)}
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func answers(t *testing.T, url string) bool {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	return resp.Body.Close() == nil
}
