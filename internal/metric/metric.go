// Package metric writes CloudWatch metrics as log lines in the embedded metric format (EMF), one for each invocation.
// Counts and times are values, and the request's id is a property. The dimensions are the function and
// its stack, so that two stages in one region have metrics, and alarms, of their own. There are no others, because each
// combination of values is billed as a metric.
package metric

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Namespace is the CloudWatch namespace of all metrics.
const Namespace = "Throughline"

// Unit is a CloudWatch unit.
type Unit string

// The units in use.
const (
	Count        Unit = "Count"
	Milliseconds Unit = "Milliseconds"
)

// Recorder writes the lines of one function of one stack. It is safe for concurrent use.
type Recorder struct {
	stack    string
	function string
	now      func() time.Time
	mu       sync.Mutex
	out      io.Writer
}

// NewRecorder returns a recorder that writes to out, which in Lambda is standard output.
func NewRecorder(out io.Writer, stack, function string, now func() time.Time) *Recorder {
	return &Recorder{stack: stack, function: function, now: now, out: out}
}

type invocation struct {
	requestID string
	mu        sync.Mutex
	values    map[string]float64
	units     map[string]Unit
}

type key struct{}

// Begin starts an invocation. All values that are added to the returned context until end is called are in one line.
func (r *Recorder) Begin(ctx context.Context, requestID string) (_ context.Context, end func()) {
	inv := &invocation{requestID: requestID, values: map[string]float64{}, units: map[string]Unit{}}
	started := r.now()
	return context.WithValue(ctx, key{}, inv), func() {
		inv.add("Duration", float64(r.now().Sub(started).Milliseconds()), Milliseconds)
		r.write(inv)
	}
}

// Add adds to a value of the context's invocation. Outside an invocation it does nothing.
func Add(ctx context.Context, name string, value float64, unit Unit) {
	if inv, ok := ctx.Value(key{}).(*invocation); ok {
		inv.add(name, value, unit)
	}
}

func (i *invocation) add(name string, value float64, unit Unit) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.values[name] += value
	i.units[name] = unit
}

type definition struct {
	Name string
	Unit Unit
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

func (r *Recorder) write(inv *invocation) {
	inv.mu.Lock()
	defer inv.mu.Unlock()
	line := map[string]any{"Function": r.function, "Stack": r.stack}
	metrics := make([]definition, 0, len(inv.values))
	for _, name := range slices.Sorted(maps.Keys(inv.values)) {
		metrics = append(metrics, definition{name, inv.units[name]})
		line[name] = inv.values[name]
	}
	if inv.requestID != "" {
		line["requestId"] = inv.requestID
	}
	line["_aws"] = map[string]any{
		"Timestamp":         r.now().UnixMilli(),
		"CloudWatchMetrics": []directive{{Namespace, [][]string{{"Function", "Stack"}}, metrics}},
	}
	text, err := json.Marshal(line)
	if err != nil {
		return // numbers and strings always marshal
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "%s\n", text)
}
