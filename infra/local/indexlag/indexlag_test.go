package indexlag_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/throughline/throughline/infra/local/faults"
	"github.com/throughline/throughline/infra/local/indexlag"
	"github.com/throughline/throughline/internal/delay"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

// long is a lag that does not end within a test. A test can wait for short.
const (
	long  = time.Hour
	short = 700 * time.Millisecond
)

// The tests are not parallel. While other tables are written, DynamoDB Local refuses iterators that begin at LATEST, as
// the follower's does, with a TrimmedDataAccessException.
func TestMain(m *testing.M) { dynamodbtest.Main(m) }

func TestIndexShowsTheEarlierItems(t *testing.T) {
	h := newHarness(t)
	h.put(t, "a", "old")
	h.put(t, "b", "old")
	h.set(t, long)
	h.put(t, "a", "new")
	h.remove(t, "b")
	h.put(t, "c", "new")
	if got := h.index(t, ""); !slices.Equal(got, []string{"a=old", "b=old"}) {
		t.Errorf("index %v, want the items of before", got)
	}
	if got := h.table(t); !slices.Equal(got, []string{"a=new", "c=new"}) {
		t.Errorf("table %v, want the items of now", got)
	}
	h.set(t, 0)
	check.Same(t, []string{"a=new", "c=new"}, h.index(t, ""), "index without lag")
}

func TestIndexFollowsAfterTheLag(t *testing.T) {
	h := newHarness(t)
	h.set(t, short)
	start := time.Now()
	h.put(t, "a", "1")
	h.put(t, "a", "2")
	h.put(t, "b", "1")
	h.remove(t, "b")
	for {
		got := h.index(t, "")
		if took := time.Since(start); len(got) > 0 && took < short {
			t.Errorf("the index followed after %s, before its lag of %s", took, short)
		}
		if slices.Equal(got, []string{"a=2"}) {
			return
		}
		pause(t, start, got)
	}
}

// TestPagesAndFilters checks that the copy answers pages and filters as the table would.
func TestPagesAndFilters(t *testing.T) {
	h := newHarness(t)
	for n := range 10 {
		h.put(t, fmt.Sprintf("i%d", n), []string{"even", "odd"}[n%2])
	}
	h.set(t, long)
	for n := range 10 {
		h.remove(t, fmt.Sprintf("i%d", n))
	}
	if got := h.index(t, "odd"); len(got) != 5 {
		t.Errorf("filtered %v, want the five odd ones", got)
	}
}

func TestChangingTheLagKeepsTheCopy(t *testing.T) {
	h := newHarness(t)
	h.set(t, long)
	h.put(t, "a", "1")
	h.set(t, time.Millisecond)
	start := time.Now()
	for got := h.index(t, ""); !slices.Equal(got, []string{"a=1"}); got = h.index(t, "") {
		pause(t, start, got)
	}
}

func TestNoLagDeletesTheCopy(t *testing.T) {
	h := newHarness(t)
	h.set(t, long)
	h.set(t, 0)
	copied := &dynamodb.DescribeTableInput{TableName: aws.String(h.name + ".index-lag")}
	_, err := dynamodbtest.Client(t).DescribeTable(t.Context(), copied)
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		t.Errorf("the copy is still there: %v", err)
	}
	h.set(t, long) // and it can begin again
	if h.lag.Duration() != long {
		t.Errorf("lag %s", h.lag.Duration())
	}
}

// harness is a table, and a client whose requests go through its Lag.
type harness struct {
	name   string
	lag    *indexlag.Lag
	client *dynamodb.Client
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{}
	h.name = dynamodbtest.Table(t, definition())
	out := check.Got(dynamodbtest.Client(t).DescribeTable(t.Context(),
		&dynamodb.DescribeTableInput{TableName: &h.name}))(t)
	keys := credentials.NewStaticCredentialsProvider("local", "local", "")
	h.lag = indexlag.New(indexlag.Options{
		Client: dynamodbtest.Client(t), Table: h.name, StreamARN: *out.Table.LatestStreamArn,
		Logger: slog.New(slog.DiscardHandler),
		Streams: dynamodbstreams.New(dynamodbstreams.Options{
			Region: "us-east-1", Credentials: keys, BaseEndpoint: aws.String(dynamodbtest.Endpoint(t)),
		}),
	})
	proxy := check.Got(faults.Proxy(dynamodbtest.Endpoint(t)))(t)
	server := httptest.NewServer(h.lag.Handler(proxy))
	h.client = dynamodb.New(dynamodb.Options{Region: "us-east-1", Credentials: keys, BaseEndpoint: &server.URL})
	t.Cleanup(func() {
		server.Close()
		if err := h.lag.Set(context.WithoutCancel(t.Context()), 0); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

func definition() *dynamodb.CreateTableInput {
	key := func(name string, kind types.KeyType) types.KeySchemaElement {
		return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
	}
	attribute := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	return &dynamodb.CreateTableInput{
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("pk"), attribute("sk"), attribute("source")},
		KeySchema:            []types.KeySchemaElement{key("pk", types.KeyTypeHash), key("sk", types.KeyTypeRange)},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("by-source"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
			KeySchema: []types.KeySchemaElement{key("source", types.KeyTypeHash), key("sk", types.KeyTypeRange)},
		}},
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}
}

func (h *harness) set(t *testing.T, d time.Duration) {
	t.Helper()
	if err := h.lag.Set(t.Context(), d); err != nil {
		t.Fatalf("set lag %s: %v", d, err)
	}
}

func (h *harness) put(t *testing.T, sk, text string) {
	t.Helper()
	everyType := []types.AttributeValue{
		&types.AttributeValueMemberN{Value: "1"}, &types.AttributeValueMemberBOOL{Value: true},
		&types.AttributeValueMemberNULL{Value: true}, &types.AttributeValueMemberB{Value: []byte{0, 255}},
		&types.AttributeValueMemberSS{Value: []string{"x"}}, &types.AttributeValueMemberNS{Value: []string{"1"}},
		&types.AttributeValueMemberBS{Value: [][]byte{{1}}},
	}
	item := map[string]types.AttributeValue{
		"pk": str("p"), "sk": str(sk), "source": str("s"), "text": str(text),
		"nested": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"list": &types.AttributeValueMemberL{Value: everyType},
		}},
	}
	check.Got(h.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &h.name, Item: item}))(t)
}

func (h *harness) remove(t *testing.T, sk string) {
	t.Helper()
	key := map[string]types.AttributeValue{"pk": str("p"), "sk": str(sk)}
	check.Got(h.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &h.name, Key: key}))(t)
}

// index reads the index in pages of three. With a text, it returns only the items with that text.
func (h *harness) index(t *testing.T, text string) []string {
	t.Helper()
	input := &dynamodb.QueryInput{
		TableName: &h.name, IndexName: aws.String("by-source"), Limit: aws.Int32(3),
		KeyConditionExpression:    aws.String("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": "source"},
		ExpressionAttributeValues: map[string]types.AttributeValue{":s": str("s")},
	}
	if text != "" {
		input.FilterExpression = aws.String("#t = :t")
		input.ExpressionAttributeNames["#t"], input.ExpressionAttributeValues[":t"] = "text", str(text)
	}
	return h.read(t, input)
}

// table reads the table itself.
func (h *harness) table(t *testing.T) []string {
	t.Helper()
	return h.read(t, &dynamodb.QueryInput{
		TableName: &h.name, KeyConditionExpression: aws.String("pk = :p"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": str("p")},
	})
}

func (h *harness) read(t *testing.T, input *dynamodb.QueryInput) (out []string) {
	t.Helper()
	for pages := dynamodb.NewQueryPaginator(h.client, input); pages.HasMorePages(); {
		page := check.Got(pages.NextPage(t.Context()))(t)
		for _, item := range page.Items {
			sk, text := item["sk"].(*types.AttributeValueMemberS), item["text"].(*types.AttributeValueMemberS)
			out = append(out, sk.Value+"="+text.Value)
		}
	}
	return out
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// pause waits before the index is read again, and fails the test when it began too long ago.
func pause(t *testing.T, start time.Time, got []string) {
	t.Helper()
	if time.Since(start) > 20*short {
		t.Fatalf("the index did not follow: %v", got)
	}
	check.OK(t, delay.Sleep(t.Context(), 10*time.Millisecond))
}
