// Package unitbench measures what a conversation uses of each service: calls, capacity units, tokens, vectors, bytes.
// It plays whole sessions on the local stack, with the functions of production. Between each function and each of its
// services is a proxy that counts. Nothing here depends on the clock.
package unitbench

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"

	"github.com/throughline/throughline/infra/bench/meter"
	"github.com/throughline/throughline/infra/bench/rig"
	"github.com/throughline/throughline/internal/dynamo/table"
)

// Use is what one function uses.
type Use struct {
	// Invocations are counted for the functions of the stream. The others have one for each request.
	Invocations float64 `json:"invocations"`
	// DynamoDBCalls take ReadUnits and WriteUnits.
	DynamoDBCalls float64 `json:"dynamodbCalls"`
	ReadUnits     float64 `json:"readUnits"`
	WriteUnits    float64 `json:"writeUnits"`
	// ModelCalls read InputTokens and answer with OutputTokens.
	ModelCalls      float64 `json:"modelCalls"`
	InputTokens     float64 `json:"inputTokens"`
	OutputTokens    float64 `json:"outputTokens"`
	EmbeddingCalls  float64 `json:"embeddingCalls"`
	EmbeddingTokens float64 `json:"embeddingTokens"`
	// VectorBytes are those of the written vectors without their dense values.
	IndexQueries float64 `json:"indexQueries"`
	IndexWrites  float64 `json:"indexWrites"`
	Vectors      float64 `json:"vectors"`
	VectorBytes  float64 `json:"vectorBytes"`
	// SentBytes went to the models and the index, LogBytes to the log with the metrics.
	SentBytes float64 `json:"sentBytes"`
	LogBytes  float64 `json:"logBytes"`
}

func (u *Use) fields() []*float64 {
	return []*float64{
		&u.Invocations, &u.DynamoDBCalls, &u.ReadUnits, &u.WriteUnits, &u.ModelCalls, &u.InputTokens, &u.OutputTokens,
		&u.EmbeddingCalls, &u.EmbeddingTokens, &u.IndexQueries, &u.IndexWrites, &u.Vectors, &u.VectorBytes, &u.SentBytes,
		&u.LogBytes,
	}
}

// Plus returns the sum.
func (u Use) Plus(v Use) Use {
	to, from := u.fields(), v.fields()
	for i := range to {
		*to[i] += *from[i]
	}
	return u
}

// Times returns the use n times.
func (u Use) Times(n float64) Use {
	for _, f := range u.fields() {
		*f *= n
	}
	return u
}

// tally adds up the use of each function. It is safe for concurrent use.
type tally struct {
	mu     sync.Mutex
	uses   map[string]Use
	meters []functionMeter
}

// functionMeter is DynamoDB as an instance of a function sees it.
type functionMeter struct {
	function string
	*meter.Meter
}

// meter returns DynamoDB at an address, for an instance of a function.
func (t *tally) meter(function, endpoint string) (http.Handler, error) {
	m := meter.New(rig.Client(endpoint), table.CreateTableInput(tableName))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.meters = append(t.meters, functionMeter{function, m})
	return m.Proxy()
}

func (t *tally) add(function string, u Use) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.uses[function] = t.uses[function].Plus(u)
}

// drain returns what was counted and begins anew.
func (t *tally) drain() (map[string]Use, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	uses := t.uses
	for _, m := range t.meters {
		used, err := m.Take()
		if err != nil {
			return nil, err
		}
		uses[m.function] = uses[m.function].Plus(Use{
			DynamoDBCalls: float64(used.Calls), ReadUnits: used.Units.Read, WriteUnits: used.Units.Write,
		})
	}
	t.uses = map[string]Use{}
	return uses, nil
}

// countingWriter counts what a function writes to its log or its metrics. A line of metrics is one invocation.
type countingWriter struct {
	tally     *tally
	function  string
	isMetrics bool
}

var _ io.Writer = countingWriter{}

func (w countingWriter) Write(p []byte) (int, error) {
	u := Use{LogBytes: float64(len(p))}
	if w.isMetrics {
		u.Invocations = float64(bytes.Count(p, []byte{'\n'}))
	}
	w.tally.add(w.function, u)
	return len(p), nil
}

// The usage in an answer of the models. The two interfaces and the embeddings have names of their own for it. Of a
// stream the last one counts.
var (
	inputTokens  = regexp.MustCompile(`"(?:prompt_tokens|input_tokens)":\s*(\d+)`)
	outputTokens = regexp.MustCompile(`"(?:completion_tokens|output_tokens)":\s*(\d+)`)
)

func lastNumber(pattern *regexp.Regexp, text []byte) float64 {
	found := pattern.FindAllSubmatch(text, -1)
	if len(found) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(string(found[len(found)-1][1])) // the pattern has digits only
	return float64(n)
}
