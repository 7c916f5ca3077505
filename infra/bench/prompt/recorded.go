package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/longterm"
	"github.com/throughline/throughline/internal/prompt/gather"
	"github.com/throughline/throughline/internal/vector"
)

// cached returns the answer of a key: the first call's if there is one, without the call, so that only the process's
// own work is left.
func cached[T any](answers *sync.Map, key string, call func() (T, error)) (T, error) {
	if answer, ok := answers.Load(key); ok {
		return answer.(T), nil
	}
	answer, err := call()
	if err == nil {
		answers.Store(key, answer)
	}
	return answer, err
}

// cachedPair is cached for a call that returns two values.
func cachedPair[A, B any](answers *sync.Map, key string, call func() (A, B, error)) (A, B, error) {
	type pair struct {
		a A
		b B
	}
	out, err := cached(answers, key, func() (out pair, err error) {
		out.a, out.b, err = call()
		return out, err
	})
	return out.a, out.b, err
}

// recorder answers a request with the bytes of the first answer to the same request. Of a call, only its signing,
// encoding and decoding are left.
type recorder struct {
	sync.Map

	mu     sync.Mutex
	served []recording
}

// recording is an answer of DynamoDB to an operation.
type recording struct {
	operation string
	response  http.Response
	body      []byte
}

func (r recording) reply(to *http.Request) *http.Response {
	response := r.response
	response.Header, response.Body = r.response.Header.Clone(), io.NopCloser(bytes.NewReader(r.body))
	response.Request = to
	return &response
}

// RoundTrip answers from a recording, or makes the request and records its answer.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	got, err := cached(&r.Map, requestKey(request, body), func() (recording, error) {
		request.Body = io.NopCloser(bytes.NewReader(body))
		response, err := http.DefaultTransport.RoundTrip(request) //nolint:bodyclose // Whole closes it
		if err != nil {
			return recording{}, err
		}
		answer, err := meter.Whole(response)
		return recording{operationName(request), *response, answer}, err
	})
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.served = append(r.served, got)
	r.mu.Unlock()
	return got.reply(request), nil
}

// drain returns the answers since the last drain and forgets them.
func (r *recorder) drain() []recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	served := r.served
	r.served = nil
	return served
}

// keySeed is the seed of requestKey's hashes.
var keySeed = maphash.MakeSeed()

// requestKey identifies a request by its operation and the sum of the hashes of what its body has between quotes: the
// client writes the members of a JSON object in another order each time. It takes little time, because the prompt is
// charged with it.
func requestKey(r *http.Request, body []byte) string {
	sum := uint64(0)
	for text := range bytes.SplitSeq(body, []byte{'"'}) {
		sum += maphash.Bytes(keySeed, bytes.Trim(text, "{},"))
	}
	return operationName(r) + strconv.FormatUint(sum, 36)
}

// bareDecoder makes the SDK decode recorded answers into plain records and do little else: its requests are minimal and
// are not signed.
type bareDecoder struct {
	client *dynamodb.Client
	answer recording
}

func (s *services) bareDecoder() *bareDecoder {
	d := &bareDecoder{}
	d.client = s.dynamoClient(d, func(o *dynamodb.Options) { o.Credentials = aws.AnonymousCredentials{} })
	return d
}

// RoundTrip returns the answer whose turn it is.
func (d *bareDecoder) RoundTrip(request *http.Request) (*http.Response, error) {
	return d.answer.reply(request), nil
}

// plainRecord is a record as an app would declare it for the SDK's attributevalue package: the attributes of a message,
// which are nearly all that a long history is made of.
type plainRecord struct {
	PK         string         `dynamodbav:"pk"`
	SK         string         `dynamodbav:"sk"`
	MessageID  string         `dynamodbav:"messageId"`
	Seq        int            `dynamodbav:"seq"`
	Role       string         `dynamodbav:"role"`
	Content    string         `dynamodbav:"content"`
	Tokens     int            `dynamodbav:"tokens"`
	Timestamp  time.Time      `dynamodbav:"timestamp"`
	Context    string         `dynamodbav:"sourceContext"`
	SourceID   string         `dynamodbav:"sourceId"`
	CoachID    string         `dynamodbav:"coachId"`
	AgentID    string         `dynamodbav:"agentId"`
	Mode       string         `dynamodbav:"mode"`
	Generation int64          `dynamodbav:"generation"`
	Metadata   map[string]any `dynamodbav:"metadata"`
}

func (d *bareDecoder) decode(ctx context.Context, answers []recording) error {
	for _, d.answer = range answers {
		items, err := d.items(ctx)
		if err == nil {
			err = attributevalue.UnmarshalListOfMaps(items, &[]plainRecord{})
		}
		if err != nil {
			return fmt.Errorf("decode recorded answer: %w", err)
		}
	}
	return nil
}

// items returns the items of the answer whose turn it is.
func (d *bareDecoder) items(ctx context.Context) ([]map[string]types.AttributeValue, error) {
	table := aws.String("table")
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "key"}}
	switch d.answer.operation {
	case "Query":
		out, err := d.client.Query(ctx, &dynamodb.QueryInput{TableName: table})
		if err != nil {
			return nil, err
		}
		return out.Items, nil
	case "BatchGetItem":
		out, err := d.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			*table: {Keys: []map[string]types.AttributeValue{key}},
		}})
		if err != nil {
			return nil, err
		}
		return slices.Concat(slices.Collect(maps.Values(out.Responses))...), nil
	}
	return nil, fmt.Errorf("the operation %q is not known", d.answer.operation)
}

// cachedStore answers the reads of a tiered-history prompt with the decoded records of the first reads.
type cachedStore struct {
	gather.Store
	sync.Map
}

func (s *cachedStore) Open(
	ctx context.Context, user conversation.UserID, appContext, sessionID string,
) (conversation.Session, longterm.Access, error) {
	return cachedPair(&s.Map, "open", func() (conversation.Session, longterm.Access, error) {
		return s.Store.Open(ctx, user, appContext, sessionID)
	})
}

func (s *cachedStore) Timeline(
	ctx context.Context, user conversation.UserID, in conversation.Range, p conversation.Page,
) ([]conversation.Message, conversation.Position, error) {
	key := fmt.Sprint("timeline ", p.Limit, p.After)
	return cachedPair(&s.Map, key, func() ([]conversation.Message, conversation.Position, error) {
		return s.Store.Timeline(ctx, user, in, p)
	})
}

func (s *cachedStore) CoachSessions(
	ctx context.Context, user conversation.UserID, of conversation.CoachSessions, p conversation.Page,
) ([]conversation.Session, conversation.Position, error) {
	key := fmt.Sprint("sessions ", p.Limit, p.After)
	return cachedPair(&s.Map, key, func() ([]conversation.Session, conversation.Position, error) {
		return s.Store.CoachSessions(ctx, user, of, p)
	})
}

func (s *cachedStore) LongTerm(ctx context.Context, user conversation.UserID) (longterm.Snapshot, error) {
	return cached(&s.Map, "long-term", func() (longterm.Snapshot, error) { return s.Store.LongTerm(ctx, user) })
}

// cachedIndex answers queries with what the first one found.
type cachedIndex struct {
	vector.Querier
	sync.Map
}

func (x *cachedIndex) Query(
	ctx context.Context, user conversation.UserID, generation int64, q vector.Query,
) ([]vector.Match, error) {
	return cached(&x.Map, "query", func() ([]vector.Match, error) { return x.Querier.Query(ctx, user, generation, q) })
}
