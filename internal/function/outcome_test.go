package function_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	sdk "github.com/pinecone-io/go-pinecone/v5/pinecone"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

// outcome is what follows from a history: the table with its watermarks and summaries, the index, and what was paid
// for.
type outcome struct {
	items, vectors map[string]string
	paid           map[string]int
}

func (p *pipeline) outcome(t *testing.T) outcome {
	t.Helper()
	return outcome{p.items(t), p.vectors(t), p.model.paid()}
}

var (
	ordered     outcome
	playOrdered sync.Once
)

// inOrder returns the outcome of the history whose records are delivered once, in the order of the stream, to one
// instance of each function. It is played once for all tests.
func inOrder(t *testing.T) outcome {
	t.Helper()
	playOrdered.Do(func() {
		p := newPipeline(t, nil)
		p.play(t, p.deliverInOrder)
		p.finish(t)
		ordered = p.outcome(t)
	})
	if ordered.items == nil {
		t.Fatal("the history in order was not played")
	}
	return ordered
}

// compare compares the table and the index with those of another outcome.
func (o outcome) compare(t *testing.T, want outcome) {
	t.Helper()
	if diff := cmp.Diff(want.items, o.items); diff != "" {
		t.Errorf("table (-in order +got)\n%s", diff)
	}
	if diff := cmp.Diff(want.vectors, o.vectors); diff != "" {
		t.Errorf("index (-in order +got)\n%s", diff)
	}
}

// volatile are attributes that are random, or depend on when a record was handled, or on which of several reasons came
// first.
var volatile = []string{
	"creation", "updatedAt", "summaryUpdatedAt", "summaryIndexedAt", "dueAt", "dueShard", "triggerReason", "coveredTo",
}

func stable(record map[string]any) map[string]any {
	maps.DeleteFunc(record, func(name string, _ any) bool { return slices.Contains(volatile, name) })
	for _, v := range record {
		if nested, ok := v.(map[string]any); ok {
			stable(nested)
		}
	}
	return record
}

// randomPart finds the random parts of ids, without which every id in the history is still unique.
var randomPart = regexp.MustCompile(`(msg_\w+_\d+_|msg#[^#"]+#|check_in_|memory_)\w+`)

// dump adds a record to others, as JSON without random parts.
func dump(t *testing.T, all map[string]string, name string, record any) {
	t.Helper()
	text := check.Got(json.Marshal(record))(t)
	all[randomPart.ReplaceAllString(name, "$1")] = randomPart.ReplaceAllString(string(text), "$1")
}

// items returns the table's records by their keys.
func (p *pipeline) items(t *testing.T) map[string]string {
	t.Helper()
	out, err := p.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &p.table, ConsistentRead: aws.Bool(true)})
	if err != nil || out.LastEvaluatedKey != nil {
		t.Fatalf("scan: %v, or too much for a page", err)
	}
	items := map[string]string{}
	for _, it := range out.Items {
		var record map[string]any
		check.OK(t, attributevalue.UnmarshalMap(it, &record))
		if lapsed(t, record["indexingUntil"]) {
			delete(record, "indexingUntil")
		}
		if record["pk"] == "sweep" && lapsed(t, record["leaseUntil"]) {
			continue
		}
		if sk := fmt.Sprint(record["sk"]); strings.HasPrefix(sk, "ltm#spine#") {
			// How often it was written, and in which order, depends on when its sessions were summarised.
			delete(record, "version")
			sentences := strings.Split(fmt.Sprint(record["content"]), ". ")
			record["content"] = slices.Sorted(slices.Values(sentences))
		}
		dump(t, items, fmt.Sprint(record["pk"], " ", record["sk"]), stable(record))
	}
	return items
}

// lapsed reports whether a worker that died left a claim until a time that is past. That keeps nobody from work:
// whoever comes next takes the session or the shard as if there were no claim.
func lapsed(t *testing.T, until any) bool {
	t.Helper()
	if until == nil {
		return false
	}
	at := check.Got(time.Parse(conversation.TimeFormat, fmt.Sprint(until)))(t)
	return at.Before(time.Now())
}

// vectors returns the records of the index by their namespaces and ids.
func (p *pipeline) vectors(t *testing.T) map[string]string {
	t.Helper()
	client := check.Got(sdk.NewClient(sdk.NewClientParams{ApiKey: "local"}))(t)
	all := map[string]string{}
	for _, namespace := range []string{"ann", "bob"} {
		index := check.Got(client.Index(sdk.NewIndexConnParams{Host: p.host, Namespace: namespace}))(t)
		listed := check.Got(index.ListVectors(t.Context(), &sdk.ListVectorsRequest{}))(t)
		var ids []string
		for _, id := range listed.VectorIds {
			ids = append(ids, *id)
		}
		fetched := check.Got(index.FetchVectors(t.Context(), ids))(t)
		for id, v := range fetched.Vectors {
			metadata := stable(v.Metadata.AsMap())
			name := fmt.Sprint(namespace, " ", id, " ", metadata["sessionId"], " ", metadata["seq"]) // a second may have two
			dump(t, all, name, []any{v.Values, v.SparseValues, metadata})
		}
		check.OK(t, index.Close())
	}
	return all
}
