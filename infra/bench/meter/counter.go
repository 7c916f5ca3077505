package meter

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/throughline/throughline/infra/bench/capacity"
)

// counter counts the units of calls. Single calls are charged as the engine reports them, and the absent records of a
// batch, which it leaves out. What it reports for transactions is wrong, and for failed conditions nothing, so these
// are charged by the records as they were before and are after. Nothing else may write those records at that time.
type counter struct {
	table  capacity.Table
	client *dynamodb.Client // of the engine, without a counter
}

// count sends a call and returns what it took, and how long the counter's own reads took. send returns the body of the
// answer.
func (c counter) count(ctx context.Context, operation string, body []byte, send func(body []byte) []byte,
) (units capacity.Units, own time.Duration, err error) {
	began := time.Now()
	var asked request
	_ = json.Unmarshal(body, &asked) // what is no JSON writes nothing
	keys := asked.writtenKeys()
	isTransaction := operation == "TransactWriteItems"
	var before map[recordKey]capacity.Item
	if isTransaction {
		before, err = c.read(ctx, keys)
	} else {
		body = withCapacity(body)
	}
	own = time.Since(began)
	sent := send(body)
	began = time.Now()
	var got answer
	_ = json.Unmarshal(sent, &got) // what is no JSON is no answer of the engine's
	_, refused, _ := strings.Cut(got.Type, "#")
	after, charge := before, capacity.Write.InTransaction
	switch {
	case err != nil, refused != "" && refused != cancelled && refused != conditionFailed:
		return capacity.Units{}, own, err // a request that is refused as invalid costs nothing
	case refused == conditionFailed:
		charge = capacity.Write.Alone
		before, err = c.read(ctx, keys)
		after = before
	case isTransaction && refused == "":
		after, err = c.read(ctx, keys)
	case operation == "Query", operation == "GetItem", operation == "BatchGetItem", operation == "Scan":
		return capacity.Units{Read: got.reportedUnits() + absentUnits(asked, got)}, own, nil
	case !isTransaction:
		return capacity.Units{Write: got.reportedUnits()}, own, nil
	}
	for _, key := range keys {
		units = units.Add(charge(c.table.Write(before[key], after[key])))
	}
	return units, own + time.Since(began), err
}

// The errors of calls that are charged all the same.
const (
	cancelled       = "TransactionCanceledException"
	conditionFailed = "ConditionalCheckFailedException"
)

// request is what counts of a request.
type request struct {
	part
	TransactItems []map[string]part
	RequestItems  map[string]struct {
		Keys           []json.RawMessage
		ConsistentRead bool
	}
}

// part is a single write, or one of a transaction.
type part struct{ Key, Item map[string]json.RawMessage }

// answer is what counts of an answer: the name of its error, if any, its units, and the records of a batch.
type answer struct {
	Type             string `json:"__type"`
	ConsumedCapacity json.RawMessage
	Responses        map[string][]json.RawMessage
	UnprocessedKeys  map[string]struct{ Keys []json.RawMessage }
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
func (a answer) reportedUnits() (units float64) {
	type report struct{ CapacityUnits float64 }
	var one report
	if json.Unmarshal(a.ConsumedCapacity, &one) == nil {
		return one.CapacityUnits
	}
	var many []report
	_ = json.Unmarshal(a.ConsumedCapacity, &many) // what is neither has no units
	for _, r := range many {
		units += r.CapacityUnits
	}
	return units
}

// absentUnits are those of the records that a batch asks for and that do not exist.
func absentUnits(asked request, got answer) (units float64) {
	for table, of := range asked.RequestItems {
		absent := len(of.Keys) - len(got.Responses[table]) - len(got.UnprocessedKeys[table].Keys)
		units += float64(absent) * capacity.Read(0, capacity.Consistency(of.ConsistentRead)).Read
	}
	return units
}

// recordKey is the key of a record of the table.
type recordKey struct{ pk, sk string }

// writtenKeys returns the keys of the records of a transaction, or of a single write.
func (r request) writtenKeys() []recordKey {
	parts := []part{r.part}
	for _, item := range r.TransactItems {
		parts = slices.AppendSeq(parts, maps.Values(item))
	}
	var keys []recordKey
	for _, p := range parts {
		from := p.Key
		if from == nil {
			from = p.Item
		}
		var pk, sk struct{ S string }
		_ = json.Unmarshal(from["pk"], &pk) // keys are texts
		_ = json.Unmarshal(from["sk"], &sk)
		if pk.S != "" {
			keys = append(keys, recordKey{pk.S, sk.S})
		}
	}
	return keys
}

// maxBatch is how many records BatchGetItem reads.
const maxBatch = 100

// read returns the records of the keys that exist. It uses few calls, because the program that is measured waits.
func (c counter) read(ctx context.Context, keys []recordKey) (map[recordKey]capacity.Item, error) {
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
			request := map[string]types.KeysAndAttributes{c.table.Name: {Keys: in, ConsistentRead: &consistent}}
			found, err := c.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: request})
			if err != nil {
				return nil, fmt.Errorf("read written records: %w", err)
			}
			for _, it := range found.Responses[c.table.Name] {
				out[recordKey{capacity.Text(it, "pk"), capacity.Text(it, "sk")}] = it
			}
			in = found.UnprocessedKeys[c.table.Name].Keys
		}
	}
	return out, nil
}
