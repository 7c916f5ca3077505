package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/client"
	"github.com/throughline/throughline/infra/launch"
	"github.com/throughline/throughline/infra/local/issuer"
	"github.com/throughline/throughline/infra/local/offlinemodel"
	"github.com/throughline/throughline/internal/testing/check"
)

// The tests here play the failures of dependencies that docs/operating.md lists: what the user sees meanwhile, which
// metric of an alarm moves, and that everything is whole again afterwards.

// outage is a stack with a user, and its metrics.
type outage struct {
	*testing.T
	stack   *launch.Stack
	metrics string
	ann     *client.Client
}

// newOutage starts a stack on the engine of the shared one.
func newOutage(t *testing.T, environment ...string) outage {
	t.Helper()
	var info struct{ DynamoDBEndpoint string }
	do(t, client.New(shared.Base), http.MethodGet, "/dev/info", nil, &info)
	o := outage{T: t, metrics: filepath.Join(t.TempDir(), "metrics")}
	o.stack = startStack(t, append([]string{
		"METRICS_FILE=" + o.metrics, "TRIGGERS=messages=20,idle=1s,sweep=1s", "TABLE_NAME=" + t.Name(),
		"AWS_ENDPOINT_URL_DYNAMODB=" + info.DynamoDBEndpoint,
	}, environment...)...)
	if strings.Contains(strings.Join(environment, " "), "JWT_ISSUER") {
		return o
	}
	var err error
	if o.ann, err = client.New(o.stack.Base).As(t.Context(), "ann"); err != nil {
		t.Fatal(err)
	}
	open(t, o.ann, "coach_conversation", "s")
	talk(t, o.ann, "s", "My knee hurts.")
	return o
}

// faults sets the faults of a service of the stack.
func (o outage) faults(service string, settings object) {
	o.Helper()
	do(o.T, client.New(o.stack.Base), http.MethodPost, "/dev/faults", object{service: settings}, nil)
}

// moves waits until a metric is above a bound. Where an alarm is named, it has to read the metric.
func (o outage) moves(alarm, metric string, above float64) {
	o.Helper()
	if alarm != "" && !alarmMetrics(o.T, alarm)[metric] {
		o.Errorf("the alarm %s does not read %s", alarm, metric)
	}
	eventually(o.T, 30*time.Second, alarm+": "+metric, func() bool {
		return readMetrics(o.T, o.metrics).most[metric] > above
	})
}

// chat has one turn, which may end with an error.
func (o outage) chat(text string) answer {
	o.Helper()
	var a answer
	if err := o.ann.Chat(o.Context(), object{"sessionId": "s", "message": text}, a.read); err != nil {
		a.Last, a.Problem = "refused", err.Error()
	}
	return a
}

// isWhole expects that all background work is done, and that what was said is found. Nobody indexes a session that a
// worker claimed and could not give back in the outage, until the claim has lapsed after the two minutes of an
// invocation.
func (o outage) isWhole(want string) {
	o.Helper()
	eventually(o.T, 3*time.Minute, fmt.Sprintf("the stack is whole, and %q is found", want), func() bool {
		var settled struct{ Settled bool }
		do(o.T, client.New(o.stack.Base), http.MethodPost, "/dev/settle", object{"timeoutMs": 20_000}, &settled)
		var found struct {
			Messages []struct{ Content string }
			Degraded []any
		}
		do(o.T, o.ann, http.MethodPost, "/v1/recall", object{"query": want}, &found)
		return settled.Settled && len(found.Degraded) == 0 && len(found.Messages) > 0 && found.Messages[0].Content == want
	})
}

// vendor is the offline model as the service of another, which a test makes fail.
type vendor struct {
	http.Handler
	url string
	// chat and embeddings answer in the place of the model where they are set.
	chat, embeddings atomic.Pointer[http.HandlerFunc]
}

func newVendor(t *testing.T) *vendor {
	t.Helper()
	v := &vendor{Handler: offlinemodel.Handler()}
	server := httptest.NewServer(v)
	t.Cleanup(server.Close)
	v.url = server.URL + "/v1"
	return v
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := v.chat.Load()
	if strings.HasSuffix(r.URL.Path, "/embeddings") {
		answer = v.embeddings.Load()
	}
	if answer != nil {
		(*answer)(w, r)
		return
	}
	v.Handler.ServeHTTP(w, r)
}

// status answers with an error of the service.
func status(code int) *http.HandlerFunc {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(code)
		_, _ = w.Write([]byte(`{"error":{"message":"no","type":"server_error","code":null}}`))
	})
	return &h
}

// after answers as the model does, but later.
func (v *vendor) after(d time.Duration) *http.HandlerFunc {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			v.Handler.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
	return &h
}

func TestTableThrottles(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	// Some throttles: nobody notices. A call is tried five times, so that one of 100,000 calls fails at this rate.
	o.faults("dynamodb", object{"errorRate": 0.1})
	for range 3 {
		if a := o.chat("My knee is stiff today."); a.Last != "done" {
			t.Errorf("with some throttles the answer ends in %s %s", a.Last, a.Problem)
		}
	}
	o.faults("dynamodb", object{"errorRate": 1})
	if a := o.chat("And now?"); a.Last != "refused" || !strings.Contains(a.Problem, "503 unavailable") {
		t.Errorf("without a table the answer ends in %s %s, want 503", a.Last, a.Problem)
	}
	o.moves("answers-burn-fast", "coach AnswersFailed", 0)
	o.faults("dynamodb", object{})
	say(t, o.ann, "s", "My knee is fine again.")
	o.isWhole("My knee is fine again.")
}

func TestVectorIndexDown(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	o.faults("pinecone", object{"errorRate": 1})
	if a := o.chat("I row every Tuesday at noon."); a.Last != "done" {
		t.Errorf("without an index the answer ends in %s %s", a.Last, a.Problem)
	}
	var found struct{ Degraded []any }
	do(t, o.ann, http.MethodPost, "/v1/recall", object{"query": "rowing"}, &found)
	if len(found.Degraded) == 0 {
		t.Error("a search without an index does not say that it is degraded")
	}
	o.moves("vector-failing", "remember VectorFailures", 0)
	o.moves("work-uncovered", "summarize OldestUncovered", 2_000)
	o.faults("pinecone", object{})
	o.isWhole("I row every Tuesday at noon.")
}

func TestModelAtItsLimits(t *testing.T) {
	t.Parallel()
	v := newVendor(t)
	o := newOutage(t, "OPENAI_BASE_URL="+v.url, "OPENAI_CHAT_MODEL=gpt-6-luna")
	v.chat.Store(status(http.StatusTooManyRequests))
	a := o.chat("I sleep badly.")
	if a.Last != "error" || !strings.Contains(a.Problem, `"code":"unavailable"`) || strings.Contains(a.Problem, "429") {
		t.Errorf("at the model's limits the answer ends in %s %s", a.Last, a.Problem)
	}
	o.moves("model-failing", "coach ModelFailures", 0)
	o.moves("", "coach ModelFailures.limit", 0)
	o.moves("answers-burn-fast", "coach AnswersFailed", 0)
	v.chat.Store(nil)
	if a := o.chat("Do I sleep badly?"); a.Last != "done" {
		t.Errorf("after it the answer ends in %s %s", a.Last, a.Problem)
	}
	v.chat.Store(v.after(2 * time.Second))
	if a := o.chat("Are you slow?"); a.Last != "done" {
		t.Errorf("by a slow model the answer ends in %s %s", a.Last, a.Problem)
	}
	o.moves("first-token-slow", "coach FirstToken", 2_000)
	v.chat.Store(nil)
	o.isWhole("I sleep badly.")
}

func TestModelDown(t *testing.T) {
	t.Parallel()
	v := newVendor(t)
	o := newOutage(t, "OPENAI_BASE_URL="+v.url, "OPENAI_CHAT_MODEL=gpt-6-luna")
	v.chat.Store(status(http.StatusInternalServerError))
	if a := o.chat("I swim on Fridays."); a.Last != "error" || !strings.Contains(a.Problem, `"code":"unavailable"`) {
		t.Errorf("without a model the answer ends in %s %s", a.Last, a.Problem)
	}
	o.moves("answers-burn-slow", "coach AnswersFailed", 0)
	o.moves("release-answers", "coach AnswersFailed", 0) // a release with this effect goes back
	o.moves("model-failing", "summarize ModelFailures", 0)
	o.moves("work-uncovered", "summarize OldestUncovered", 2_000)
	v.chat.Store(nil)
	o.isWhole("I swim on Fridays.")
}

func TestEmbeddingSlow(t *testing.T) {
	t.Parallel()
	v := newVendor(t)
	o := newOutage(t, "OPENAI_EMBEDDING_BASE_URL="+v.url, "OPENAI_EMBEDDING_MODEL=text-embedding-3-small@1536")
	v.embeddings.Store(v.after(6 * time.Second))
	began := time.Now()
	if a := o.chat("I climb in winter."); a.Last != "done" || time.Since(began) > 5*time.Second {
		t.Errorf("the answer ends in %s %s after %s", a.Last, a.Problem, time.Since(began))
	}
	o.moves("", "prompt Degraded.search", 0)
	v.embeddings.Store(status(http.StatusServiceUnavailable))
	say(t, o.ann, "s", "I climb in summer, too.")
	o.moves("embedding-failing", "remember EmbeddingFailures", 0)
	v.embeddings.Store(nil)
	o.isWhole("I climb in summer, too.")
}

// TestIssuerDown stops the issuer after its keys were read, and starts another stack that cannot read them.
func TestIssuerDown(t *testing.T) {
	t.Parallel()
	var isDown atomic.Bool
	mux := http.NewServeMux()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isDown.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	own := check.Got(issuer.New(server.URL, ""))(t)
	own.Register(mux)
	token, _, err := own.Mint(issuer.Claims{UserID: "ann"})
	check.OK(t, err)
	environment := []string{"JWT_ISSUER=" + server.URL, "JWT_AUDIENCE=" + issuer.Audience}
	o := newOutage(t, environment...)
	o.ann = client.New(o.stack.Base).WithToken(token)
	open(t, o.ann, "coach_conversation", "s")
	talk(t, o.ann, "s", "My knee hurts.")
	isDown.Store(true)
	talk(t, o.ann, "s", "My knee hurts less.")
	say(t, o.ann, "s", "My knee is fine.")
	cold := newOutage(t, append(environment, "TABLE_NAME="+t.Name()+"-cold")...)
	cold.ann = client.New(cold.stack.Base).WithToken(token)
	if a := cold.chat("Hello."); a.Last != "refused" || !strings.Contains(a.Problem, "503 unavailable") {
		t.Errorf("an instance without keys answers %s %s, want 503", a.Last, a.Problem)
	}
	isDown.Store(false)
	eventually(t, time.Minute, "an instance reads the keys", func() bool {
		return cold.ann.Do(t.Context(), http.MethodGet, "/v1/sessions", nil, nil) == nil
	})
	o.isWhole("My knee is fine.")
}

func TestPoisonedRecord(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	var info struct{ DynamoDBEndpoint, TableName string }
	do(t, client.New(o.stack.Base), http.MethodGet, "/dev/info", nil, &info)
	engine := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(info.DynamoDBEndpoint),
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	stored, err := engine.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &info.TableName, KeyConditionExpression: aws.String("pk = :pk AND begins_with(sk, :sk)"),
		ExpressionAttributeValues: item{
			":pk": &types.AttributeValueMemberS{Value: "user#ann"}, ":sk": &types.AttributeValueMemberS{Value: "msg#"},
		},
	})
	if err != nil || len(stored.Items) == 0 {
		t.Fatalf("no message is stored: %v", err)
	}
	sk := stored.Items[0]["sk"].(*types.AttributeValueMemberS).Value //nolint:forcetypeassert // a key is a text
	last := "0"
	if strings.HasSuffix(sk, last) {
		last = "1"
	}
	_, err = engine.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &info.TableName, Item: item{
		"pk": &types.AttributeValueMemberS{Value: "user#ann"},
		"sk": &types.AttributeValueMemberS{Value: sk[:len(sk)-1] + last}, // at the key of a message, and none
	}})
	check.OK(t, err)
	say(t, o.ann, "s", "My elbow is fine.")
	o.moves("poison-records", "remember PoisonRecords", 0)
	o.isWhole("My elbow is fine.")
	if a := o.chat("How is my elbow?"); a.Last != "done" {
		t.Errorf("beside a poisoned record the answer ends in %s %s", a.Last, a.Problem)
	}
}

// TestBackgroundKey expects that the background's calls have the key of their own, and the chat's the other.
func TestBackgroundKey(t *testing.T) {
	t.Parallel()
	var keys sync.Map
	v := newVendor(t)
	model := v.Handler
	v.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/embeddings") {
			t.Error("the embeddings moved with the chat")
		}
		keys.Store(r.Header.Get("Authorization"), true)
		model.ServeHTTP(w, r)
	})
	newOutage(t, "OPENAI_BASE_URL="+v.url, "OPENAI_CHAT_MODEL=gpt-6-luna", "OPENAI_API_KEY=chat",
		"OPENAI_BACKGROUND_API_KEY=background")
	for _, key := range []string{"Bearer chat", "Bearer background"} {
		eventually(t, 30*time.Second, key, func() bool {
			_, used := keys.Load(key)
			return used
		})
	}
}

func TestQueuesDown(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(down.Close)
	o := newOutage(t, "AWS_ENDPOINT_URL_SQS="+down.URL)
	talk(t, o.ann, "s", "I paddle on the lake.")
	var health stageHealth
	do(t, o.ann, http.MethodGet, "/v1/health", nil, &health)
	if len(health.Degraded) != 1 || health.Degraded[0].Source != "deadLetters" || len(health.Queues) == 0 {
		t.Errorf("without queues the health is %+v, want it without the dead letters alone", health)
	}
	o.isWhole("I paddle on the lake.")
}
