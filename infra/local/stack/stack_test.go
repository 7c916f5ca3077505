package stack_test

import (
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/local/stack"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// TestStackWithOwnEngine uses one stack for what a stack with an engine of its own has to do, up to its end.
func TestStackWithOwnEngine(t *testing.T) {
	t.Parallel()
	inTurn(t, startOwn(t, nil), []step{
		{"from end to end", fromEndToEnd},
		{"beside another stack", besideAnotherStack},
		{"stop ends streams", stopEndsStreams},
	})
}

// TestStackOnNamedEngine uses one stack for all that leaves it usable. A function may be stuck after
// the dead letters, so what has to settle comes before.
func TestStackOnNamedEngine(t *testing.T) {
	t.Parallel()
	f := start(t, map[string]string{
		"TRIGGERS": "messages=3,idle=2s", "KEEP_PROMPT_TEXT": "false", "OPENAI_CHAT_MODEL": "other",
		"OPENAI_BACKGROUND_MODEL": "small", "CORS_ORIGINS": "*",
	})
	inTurn(t, f, []step{
		{"functions get their environment", functionsGetTheirEnvironment},
		{"servers are for this machine", serversAreForThisMachine},
		{"faults", injectFaults},
		{"redeliver", redeliver},
		{"settle says when it cannot", settleSaysWhenItCannot},
		{"settle waits for leases", settleWaitsForLeases},
		{"wait ends with its context", waitEndsWithItsContext},
		{"settle names dead letters", settleNamesDeadLetters},
		{"index lag", lagIndexes},
	})
}

func fromEndToEnd(t *testing.T, f *fixture) {
	var info stack.Info
	f.get(t, "/dev/info", &info)
	if info.Functions["prompt"] != "throughline-prompt" || info.TableName != "throughline" ||
		!strings.HasPrefix(info.PineconeHost, "http://") {
		t.Errorf("info %+v", info)
	}
	f.get(t, "/healthz", &struct{}{})
	check.Equal(t, http.StatusOK, f.call(t, http.MethodHead, "/healthz", "", nil), "HEAD /healthz")
	check.Equal(t, http.StatusMethodNotAllowed, f.call(t, http.MethodPut, "/healthz", "", nil), "PUT /healthz")
	token := f.token(t, "ann")
	if status, _ := f.post(t, "/v1/sessions", "", "one"); status != http.StatusUnauthorized {
		t.Errorf("without token: status %d", status)
	}
	if status, body := f.post(t, "/v1/sessions", token, "one"); status != http.StatusCreated || body != "ann wrote one" {
		t.Errorf("with token: status %d, body %q", status, body)
	}
	settled := f.settle(t, 20_000)
	if !settled.Settled || settled.Pending != 0 || settled.Records == 0 {
		t.Errorf("settled %+v", settled)
	}
	if now := f.settle(t, 0); !now.Settled || now.Records != settled.Records {
		t.Errorf("without a wait %+v, after one %+v", now, settled)
	}
	db := dynamo(info.DynamoDBEndpoint)
	ttl, err := db.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &info.TableName})
	if err != nil || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "expiresAt" {
		t.Errorf("the table's TTL is %+v, %v", ttl, err)
	}
	if item(t, db, info.TableName, "user#ann", "summary#one") == nil {
		t.Error("the stream's consumer had not written when the stack said that it settled")
	}
	if item(t, db, info.TableName, "user#ann", "conversation#due")["dueAt"] != nil {
		t.Error("a session was due when the stack said that it settled")
	}
}

func functionsGetTheirEnvironment(t *testing.T, f *fixture) {
	coach, summarize := f.config("coach"), f.config("summarize")
	if tr := summarize.Triggers; tr.Messages != 3 || tr.Idle != 2*time.Second || tr.Timeout != 2500*time.Millisecond {
		t.Errorf("triggers %+v", tr)
	}
	if background := summarize.OpenAI.Background(); background.ChatModel != "small" {
		t.Errorf("background %+v", background)
	}
	if coach.PromptFunction() != "throughline-prompt:live" || coach.OpenAI.ChatModel != "other" ||
		coach.KeepPromptText || coach.SecretPrefix != "" ||
		coach.Auth.Issuer != f.stack.URL() {
		t.Errorf("coach %+v", coach)
	}
	info := f.stack.Info()
	if coach.DynamoDBEndpoint == info.DynamoDBEndpoint || coach.Pinecone.IndexHost != info.PineconeHost ||
		coach.OpenAI.BaseURL != info.OpenAIBaseURL || coach.LambdaEndpoint != info.LambdaEndpoint {
		t.Errorf("the functions do not pass the fault injectors: %+v", coach)
	}
}

func injectFaults(t *testing.T, f *fixture) {
	token := f.token(t, "ann")
	var state map[string]struct{ ErrorRate, LatencyMS, DropRate float64 }
	f.call(t, "POST", "/dev/faults", `{"dynamodb":{"errorRate":1,"latencyMs":1},"openai":{"dropRate":0.5}}`, &state)
	if state["dynamodb"].ErrorRate != 1 || state["dynamodb"].LatencyMS != 1 || state["openai"].DropRate != 0.5 {
		t.Errorf("state %+v", state)
	}
	if status, _ := f.post(t, "/v1/sessions", token, "one"); status != http.StatusInternalServerError {
		t.Errorf("with a broken table: status %d", status)
	}
	f.get(t, "/healthz", &struct{}{}) // the stack's own clients have no faults
	f.call(t, "POST", "/dev/faults", `{"dynamodb":{}}`, &state)
	if state["dynamodb"].ErrorRate != 0 || state["openai"].DropRate != 0.5 {
		t.Errorf("cleared one service: %+v", state)
	}
	if status, _ := f.post(t, "/v1/sessions", token, "one"); status != http.StatusCreated {
		t.Errorf("without faults: status %d", status)
	}
	f.call(t, "POST", "/dev/faults", `{}`, nil)
	if f.get(t, "/dev/faults", &state); state["openai"].DropRate != 0 {
		t.Errorf("cleared all services: %+v", state)
	}
	for body, field := range map[string]string{
		`{"s3":{}}`: "s3", `{"openai":{"errorRate":2}}`: "openai", `{"openai":{"x":1}}`: "openai.x",
		`{"openai":{"latencyMs":"5"}}`: "openai.latencyMs", `{"pinecone":7}`: "pinecone",
		`{"openai":{"indexLagMs":5}}`: "openai",
	} {
		var p struct{ Errors []struct{ Field string } }
		status := f.call(t, "POST", "/dev/faults", body, &p)
		if status != 422 || len(p.Errors) != 1 || p.Errors[0].Field != field {
			t.Errorf("%s: status %d, %+v", body, status, p)
		}
	}
}

func lagIndexes(t *testing.T, f *fixture) {
	token := f.token(t, "ben")
	f.post(t, "/v1/sessions", token, "before")
	var state map[string]struct{ IndexLagMS float64 }
	f.call(t, "POST", "/dev/faults", `{"dynamodb":{"indexLagMs":60000}}`, &state)
	if state["dynamodb"].IndexLagMS != 60000 {
		t.Errorf("state %+v", state)
	}
	f.post(t, "/v1/sessions", token, "after")
	db, table := dynamo(f.config("messages").DynamoDBEndpoint), f.stack.Info().TableName
	query := func() int {
		out := check.Got(db.Query(t.Context(), &dynamodb.QueryInput{
			TableName: &table, IndexName: aws.String("sourceId-timestamp"), KeyConditionExpression: aws.String("sourceId = :s"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":s": str("ben")},
		}))(t)
		return len(out.Items)
	}
	if got := query(); got != 1 {
		t.Errorf("the index shows %d messages, want the one of before", got)
	}
	f.call(t, "POST", "/dev/faults", `{"dynamodb":{}}`, &state)
	if got := query(); got != 2 {
		t.Errorf("without lag the index shows %d messages, want 2", got)
	}
	f.call(t, "POST", "/dev/faults", `{"dynamodb":{"indexLagMs":60000}}`, nil) // a stop has to clean it up
}

func settleSaysWhenItCannot(t *testing.T, f *fixture) {
	f.mu.Lock()
	f.stuck = true
	f.mu.Unlock()
	if status, _ := f.post(t, "/v1/sessions", f.token(t, "ann"), "two"); status != http.StatusCreated {
		t.Fatalf("status %d", status)
	}
	if got := f.settle(t, 300); got.Settled || got.Pending == 0 {
		t.Errorf("settled %+v while a consumer fails", got)
	}
	f.mu.Lock()
	f.stuck = false
	f.mu.Unlock()
	if got := f.settle(t, 30_000); !got.Settled {
		t.Errorf("settled %+v after the consumer recovered", got)
	}
	var p struct{ Code string }
	if status := f.call(t, "POST", "/dev/settle", `{"timeoutMs":-1}`, &p); status != 422 || p.Code != "invalid" {
		t.Errorf("a negative time: %d %+v", status, p)
	}
}

// settleNamesDeadLetters lets a function fail on a record until its mapping gives up.
func settleNamesDeadLetters(t *testing.T, f *fixture) {
	f.mu.Lock()
	f.stuck = true
	f.mu.Unlock()
	f.post(t, "/v1/sessions", f.token(t, "ann"), "three")
	got := f.settle(t, 60_000)
	var letters struct {
		Items []struct {
			Function string
			Records  []any
		}
	}
	f.get(t, "/dev/dead-letters", &letters)
	want := map[string]int{}
	for _, letter := range letters.Items {
		want[letter.Function] += len(letter.Records)
	}
	if !got.Settled || len(want) == 0 || !maps.Equal(got.DeadLetters, want) {
		t.Errorf("settled %+v, want the dead letters %v", got, want)
	}
}

func redeliver(t *testing.T, f *fixture) {
	f.post(t, "/v1/sessions", f.token(t, "ann"), "to redeliver")
	first := f.settle(t, 20_000)
	if status := f.call(t, "POST", "/dev/redeliver", "", nil); status != http.StatusAccepted {
		t.Fatalf("status %d", status)
	}
	if again := f.settle(t, 20_000); !again.Settled || again.Records <= first.Records {
		t.Errorf("before %+v, after %+v", first, again)
	}
	var letters struct{ Items []any }
	f.get(t, "/dev/dead-letters", &letters)
	if letters.Items == nil || len(letters.Items) != 0 {
		t.Errorf("dead letters %v, want an empty list", letters.Items)
	}
}

// TestRecordsReachSeveralInstances has two messages of a user go through the stream, each of them twice.
func TestRecordsReachSeveralInstances(t *testing.T) {
	t.Parallel()
	f := newFixture()
	cfg := f.parse(t, map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": dynamodbtest.Endpoint(t), "TABLE_NAME": dynamodbtest.TableName(t),
	})
	cfg.Repeat = 1
	f.run(t, cfg)
	token := f.token(t, "ann")
	for _, text := range []string{"one", "two"} {
		if status, _ := f.post(t, "/v1/sessions", token, text); status != http.StatusCreated {
			t.Fatalf("status %d", status)
		}
		if settled := f.settle(t, 20_000); !settled.Settled {
			t.Fatalf("%+v", settled)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, sk := range []string{"msg#one", "msg#two"} {
		slices.Sort(f.reached[sk])
		check.Same(t, []int{1, 2}, f.reached[sk], "instances that got %s", sk)
	}
}

// TestDataDirKeepsEverything starts a stack again on its folder. It kills the second one's engine in the end.
func TestDataDirKeepsEverything(t *testing.T) {
	t.Parallel()
	environ := map[string]string{"DATA_DIR": filepath.Join(t.TempDir(), "data")}
	first := startOwn(t, environ)
	token := first.token(t, "ann")
	first.post(t, "/v1/sessions", token, "one")
	first.settle(t, 20_000)
	port := first.stack.URL()[strings.LastIndex(first.stack.URL(), ":")+1:]
	checkPrivate(t, environ["DATA_DIR"])
	check.OK(t, first.stack.Stop())
	environ["PORT"] = port
	second := startOwn(t, environ)
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
	if slices.Contains(second.delivered, "msg#one") {
		t.Error("a record that the first run handled came again")
	}
	second.mu.Unlock()
	engineThatDiesEndsWait(t, second, environ["DATA_DIR"])
}

// besideAnotherStack starts a second stack on the engine of the first one.
func besideAnotherStack(t *testing.T, first *fixture) {
	second := start(t, map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": first.stack.Info().DynamoDBEndpoint, "TABLE_NAME": "second",
		"OPENAI_BASE_URL": first.stack.Info().OpenAIBaseURL, "OPENAI_CHAT_MODEL": "other",
		"PINECONE_INDEX_HOST": first.stack.Info().PineconeHost,
	})
	if second.stack.Info().DynamoDBEndpoint != first.stack.Info().DynamoDBEndpoint {
		t.Error("the named engine is not used")
	}
	token := second.token(t, "ann")
	if status, _ := second.post(t, "/v1/sessions", token, "two"); status != http.StatusCreated {
		t.Fatalf("status %d", status)
	}
	if status, _ := first.post(t, "/v1/sessions", token, "two"); status != http.StatusUnauthorized {
		t.Errorf("a token of the other stack: status %d", status)
	}
	if !second.settle(t, 20_000).Settled {
		t.Error("not settled")
	}
	db := dynamo(first.stack.Info().DynamoDBEndpoint)
	if item(t, db, "throughline", "user#ann", "msg#two") != nil || item(t, db, "second", "user#ann", "msg#two") == nil {
		t.Error("the stacks share a table")
	}
	var p struct{ Errors []struct{ Field string } }
	check.Equal(t, 422, second.call(t, "POST", "/dev/faults", `{"pinecone":{}}`, &p),
		"faults for an index outside of this machine")
	check.OK(t, second.stack.Stop())
	first.get(t, "/healthz", &struct{}{})
}
