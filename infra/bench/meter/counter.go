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
	keys := writtenKeys(body)
	isTransaction := operation == "TransactWriteItems"
	var before map[recordKey]capacity.Item
	if isTransaction {
		before, err = c.read(ctx, keys)
	} else {
		body = withCapacity(body)
	}
	own = time.Since(began)
	answer := send(body)
	began = time.Now()
	after, charge := before, capacity.Write.InTransaction
	switch refused := refusalOf(answer); {
	case err != nil, refused != "" && refused != cancelled && refused != conditionFailed:
		return capacity.Units{}, own, err // a request that is refused as invalid costs nothing
	case refused == conditionFailed:
		charge = capacity.Write.Alone
		before, err = c.read(ctx, keys)
		after = before
	case isTransaction && refused == "":
		after, err = c.read(ctx, keys)
	case operation == "Query", operation == "GetItem", operation == "BatchGetItem", operation == "Scan":
		return capacity.Units{Read: reportedUnits(answer) + absentUnits(body, answer)}, own, nil
	case !isTransaction:
		return capacity.Units{Write: reportedUnits(answer)}, own, nil
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

// refusalOf returns the name of the error in an answer, "" for none.
func refusalOf(answer []byte) string {
	var out struct {
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(answer, &out) // what is no JSON is no answer of the engine's
	_, name, _ := strings.Cut(out.Type, "#")
	return name
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

// absentUnits are those of the records that a batch asks for and that do not exist.
func absentUnits(body, answer []byte) float64 {
	var in struct {
		RequestItems map[string]struct {
			Keys           []json.RawMessage
			ConsistentRead bool
		}
	}
	var out struct {
		Responses       map[string][]json.RawMessage
		UnprocessedKeys map[string]struct{ Keys []json.RawMessage }
	}
	if json.Unmarshal(body, &in) != nil || json.Unmarshal(answer, &out) != nil {
		return 0
	}
	units := 0.0
	for table, of := range in.RequestItems {
		absent := len(of.Keys) - len(out.Responses[table]) - len(out.UnprocessedKeys[table].Keys)
		units += float64(absent) * capacity.Read(0, capacity.Consistency(of.ConsistentRead)).Read
	}
	return units
}

// recordKey is the key of a record of the table.
type recordKey struct{ pk, sk string }

// writtenKeys returns the keys of the records of a transaction, or of a single write.
func writtenKeys(body []byte) []recordKey {
	type part struct{ Key, Item map[string]json.RawMessage }
	var in struct {
		part
		TransactItems []map[string]part
	}
	if json.Unmarshal(body, &in) != nil {
		return nil
	}
	parts := []part{in.part}
	for _, item := range in.TransactItems {
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
