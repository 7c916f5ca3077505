package unitbench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/throughline/throughline/infra/bench/capacity"
)

// meteredTable is DynamoDB as one function sees it. Single calls are charged as the engine reports them. What it
// reports for transactions is wrong, so these are charged by the records as they were before and are after.
type meteredTable struct {
	*tally
	function string
	client   *dynamodb.Client
	table    capacity.Table
	engine   http.Handler
}

// ServeHTTP forwards a call and counts it.
func (m *meteredTable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	use := Use{DynamoDBCalls: 1}
	if operation == "TransactWriteItems" {
		parts := transactionParts(body)
		before := m.read(r.Context(), parts)
		m.forward(w, r, body)
		after := m.read(r.Context(), parts)
		for _, key := range parts {
			use.WriteUnits += m.table.Write(before[key], after[key]).InTransaction().Write
		}
		m.add(m.function, use)
		return
	}
	answer := m.forward(w, r, withCapacity(body))
	units := reportedUnits(answer)
	if isRead(operation) {
		use.ReadUnits = units
	} else {
		use.WriteUnits = units
	}
	m.add(m.function, use)
}

func isRead(operation string) bool {
	return operation == "Query" || operation == "GetItem" || operation == "BatchGetItem"
}

// forward sends a call to the engine and returns the answer's body.
func (m *meteredTable) forward(w http.ResponseWriter, r *http.Request, body []byte) []byte {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	copied := &copyingWriter{ResponseWriter: w}
	m.engine.ServeHTTP(copied, r)
	return copied.body.Bytes()
}

// copyingWriter keeps a copy of what it writes.
type copyingWriter struct {
	http.ResponseWriter
	body bytes.Buffer
}

// Write writes and keeps.
func (c *copyingWriter) Write(p []byte) (int, error) {
	c.body.Write(p)
	return c.ResponseWriter.Write(p)
}

// Flush passes a piece of a stream on.
func (c *copyingWriter) Flush() {
	if f, ok := c.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// withCapacity asks for the units that the call takes.
func withCapacity(body []byte) []byte {
	var in map[string]json.RawMessage
	if json.Unmarshal(body, &in) != nil {
		return body
	}
	in["ReturnConsumedCapacity"] = json.RawMessage(`"TOTAL"`)
	out, err := json.Marshal(in)
	if err != nil {
		return body
	}
	return out
}

// reportedUnits adds up the units of an answer, which has one report, or one for each table.
func reportedUnits(answer []byte) float64 {
	var out struct{ ConsumedCapacity json.RawMessage }
	type report struct{ CapacityUnits float64 }
	if json.Unmarshal(answer, &out) != nil || len(out.ConsumedCapacity) == 0 {
		return 0
	}
	var one report
	if json.Unmarshal(out.ConsumedCapacity, &one) == nil {
		return one.CapacityUnits
	}
	var many []report
	_ = json.Unmarshal(out.ConsumedCapacity, &many) // what is neither has no units
	units := 0.0
	for _, r := range many {
		units += r.CapacityUnits
	}
	return units
}

// recordKey is the key of a record of the table.
type recordKey struct{ pk, sk string }

// transactionParts returns the keys of a transaction's records.
func transactionParts(body []byte) []recordKey {
	type text struct{ S string }
	var in struct {
		TransactItems []map[string]struct{ Key, Item map[string]json.RawMessage }
	}
	if json.Unmarshal(body, &in) != nil {
		return nil
	}
	var keys []recordKey
	for _, item := range in.TransactItems {
		for _, part := range item {
			from := part.Key
			if from == nil {
				from = part.Item
			}
			var pk, sk text
			_ = json.Unmarshal(from["pk"], &pk) // keys are texts
			_ = json.Unmarshal(from["sk"], &sk)
			keys = append(keys, recordKey{pk.S, sk.S})
		}
	}
	return keys
}

// read returns the records of the keys that exist.
func (m *meteredTable) read(ctx context.Context, keys []recordKey) map[recordKey]capacity.Item {
	consistent, out := true, map[recordKey]capacity.Item{}
	for _, k := range keys {
		found, err := m.client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &m.table.Name, ConsistentRead: &consistent, Key: capacity.Item{
				"pk": &types.AttributeValueMemberS{Value: k.pk}, "sk": &types.AttributeValueMemberS{Value: k.sk},
			},
		})
		if err == nil && len(found.Item) > 0 {
			out[k] = found.Item
		}
	}
	return out
}

// meteredModel is a model service as one function sees it.
func meteredModel(t *tally, function, address string) (http.Handler, error) {
	target, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("parse model address: %w", err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
		Transport: &http.Transport{DisableCompression: true},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.ContentLength
		answer := &copyingWriter{ResponseWriter: w}
		// The proxy panics where the function closes a stream before its end, as it may once it has the usage.
		defer func() {
			use := Use{SentBytes: float64(max(sent, 0))}
			in, out := lastNumber(inputTokens, answer.body.Bytes()), lastNumber(outputTokens, answer.body.Bytes())
			if path.Base(r.URL.Path) == "embeddings" {
				use.EmbeddingCalls, use.EmbeddingTokens = 1, in
			} else {
				use.ModelCalls, use.InputTokens, use.OutputTokens = 1, in, out
			}
			t.add(function, use)
		}()
		proxy.ServeHTTP(answer, r)
	}), nil
}

// floatBytes is the size of a dense value.
const floatBytes = 4

// meteredIndex counts the calls of the index that one function makes.
func meteredIndex(t *tally, function string, dimensions int) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		message, _ := request.(proto.Message)
		use := Use{SentBytes: float64(proto.Size(message))}
		switch path.Base(info.FullMethod) {
		case "Query":
			use.IndexQueries = 1
		case "Upsert":
			m := message.ProtoReflect()
			n := m.Get(m.Descriptor().Fields().ByName("vectors")).List().Len()
			use.IndexWrites, use.Vectors = 1, float64(n)
			use.VectorBytes = use.SentBytes - float64(n*dimensions*floatBytes)
		}
		t.add(function, use)
		return next(ctx, request)
	}
}
