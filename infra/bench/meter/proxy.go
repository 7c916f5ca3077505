package meter

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
)

// Proxy is DynamoDB in front of an engine, for programs that make their own clients. Single calls are charged as the
// engine reports them. What it reports for transactions is wrong, so these are charged by the records as they were
// before and are after. Nothing else may write the records of a transaction at that time.
type Proxy struct {
	Table  capacity.Table
	Client *dynamodb.Client
	Engine http.Handler
	// Add is called with what each call took. It may be called concurrently.
	Add func(capacity.Units)
}

// ServeHTTP forwards a call and counts it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if operation == "TransactWriteItems" {
		parts := transactionParts(body)
		before := p.read(r.Context(), parts)
		p.forward(w, r, body)
		after := p.read(r.Context(), parts)
		var units capacity.Units
		for _, key := range parts {
			units = units.Add(p.Table.Write(before[key], after[key]).InTransaction())
		}
		p.Add(units)
		return
	}
	units := reportedUnits(p.forward(w, r, withCapacity(body)))
	if isRead(operation) {
		p.Add(capacity.Units{Read: units})
	} else {
		p.Add(capacity.Units{Write: units})
	}
}

func isRead(operation string) bool {
	return operation == "Query" || operation == "GetItem" || operation == "BatchGetItem" || operation == "Scan"
}

// forward sends a call to the engine and returns the answer's body.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, body []byte) []byte {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	copied := &CopyWriter{ResponseWriter: w}
	p.Engine.ServeHTTP(copied, r)
	return copied.Body.Bytes()
}

// CopyWriter keeps a copy of an answer's body.
type CopyWriter struct {
	http.ResponseWriter
	Body bytes.Buffer
}

// Write writes and keeps.
func (c *CopyWriter) Write(p []byte) (int, error) {
	c.Body.Write(p)
	return c.ResponseWriter.Write(p)
}

// Flush passes a piece of a stream on.
func (c *CopyWriter) Flush() {
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

// maxBatch is how many records BatchGetItem reads.
const maxBatch = 100

// read returns the records of the keys that exist. It uses few calls, because the program that is measured waits.
func (p *Proxy) read(ctx context.Context, keys []recordKey) map[recordKey]capacity.Item {
	out := map[recordKey]capacity.Item{}
	for batch := range slices.Chunk(keys, maxBatch) {
		var in []map[string]types.AttributeValue
		for _, k := range batch {
			in = append(in, capacity.Item{
				"pk": &types.AttributeValueMemberS{Value: k.pk}, "sk": &types.AttributeValueMemberS{Value: k.sk},
			})
		}
		consistent := true
		for len(in) > 0 {
			request := map[string]types.KeysAndAttributes{p.Table.Name: {Keys: in, ConsistentRead: &consistent}}
			found, err := p.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: request})
			if err != nil {
				return out
			}
			for _, it := range found.Responses[p.Table.Name] {
				pk, _ := it["pk"].(*types.AttributeValueMemberS)
				sk, _ := it["sk"].(*types.AttributeValueMemberS)
				out[recordKey{pk.Value, sk.Value}] = it
			}
			in = found.UnprocessedKeys[p.Table.Name].Keys
		}
	}
	return out
}
