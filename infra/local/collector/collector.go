// Package collector is a collector of spans for tests and for "throughline trace": it takes what the functions send in
// OpenTelemetry's protocol over HTTP, and shows the spans of a trace as a tree.
package collector

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span that was sent.
type Span struct {
	TraceID, ID, Parent string
	// Service is the function that made it, such as local-coach.
	Service, Name, Kind string
	Start, End          time.Time
	IsError             bool
	Attributes          map[string]string
}

// Collector keeps spans. It is safe for concurrent use.
type Collector struct {
	mu    sync.Mutex
	spans []Span
	// more is closed and replaced when spans arrive.
	more chan struct{}
}

// New returns an empty collector.
func New() *Collector { return &Collector{more: make(chan struct{})} }

// ServeHTTP takes spans at /v1/traces.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	spans, err := read(r)
	if r.URL.Path != "/v1/traces" || err != nil {
		http.Error(w, fmt.Sprint("not spans: ", err), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	c.spans = append(c.spans, spans...)
	close(c.more)
	c.more = make(chan struct{})
	c.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// Spans returns what has arrived, and a channel that is closed when more arrives.
func (c *Collector) Spans() ([]Span, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans), c.more
}

func read(r *http.Request) ([]Span, error) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		body = unpacked
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var sent coltrace.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &sent); err != nil {
		return nil, err
	}
	var spans []Span
	for _, of := range sent.GetResourceSpans() {
		service := attributes(of.GetResource().GetAttributes())["service.name"]
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				spans = append(spans, span(service, s))
			}
		}
	}
	return spans, nil
}

func span(service string, s *otlp.Span) Span {
	at := func(nanoseconds uint64) time.Time { return time.Unix(0, int64(nanoseconds)) }
	return Span{
		TraceID: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
		Parent: hex.EncodeToString(s.GetParentSpanId()), Service: service, Name: s.GetName(),
		Kind:  strings.ToLower(strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_")),
		Start: at(s.GetStartTimeUnixNano()), End: at(s.GetEndTimeUnixNano()),
		IsError: s.GetStatus().GetCode() == otlp.Status_STATUS_CODE_ERROR, Attributes: attributes(s.GetAttributes()),
	}
}

func attributes(of []*common.KeyValue) map[string]string {
	out := make(map[string]string, len(of))
	for _, kv := range of {
		out[kv.GetKey()] = text(kv.GetValue())
	}
	return out
}

func text(v *common.AnyValue) string {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return fmt.Sprint(v.BoolValue)
	case *common.AnyValue_IntValue:
		return fmt.Sprint(v.IntValue)
	case *common.AnyValue_DoubleValue:
		return fmt.Sprintf("%.3f", v.DoubleValue)
	case *common.AnyValue_ArrayValue:
		var items []string
		for _, item := range v.ArrayValue.GetValues() {
			items = append(items, text(item))
		}
		return strings.Join(items, " ")
	}
	return ""
}

// Tree is a span with the spans below it, in the order of their beginnings.
type Tree struct {
	Span
	Children []Tree
}

// TreeOf returns the spans of a trace below its first one. It is false where a span's parent, but for the caller's, is
// missing.
func TreeOf(spans []Span, traceID string) (Tree, bool) {
	below, known := map[string][]Span{}, map[string]bool{}
	for _, s := range spans {
		if s.TraceID == traceID {
			below[s.Parent], known[s.ID] = append(below[s.Parent], s), true
		}
	}
	var roots []Span
	for parent, of := range below {
		if !known[parent] {
			roots = append(roots, of...)
		}
	}
	if len(roots) != 1 {
		return Tree{}, false
	}
	return grow(roots[0], below), true
}

func grow(of Span, below map[string][]Span) Tree {
	t := Tree{Span: of}
	children := below[of.ID]
	slices.SortStableFunc(children, func(a, b Span) int { return a.Start.Compare(b.Start) })
	for _, child := range children {
		t.Children = append(t.Children, grow(child, below))
	}
	return t
}

// Walk calls do with each span and its depth, parents first.
func (t Tree) Walk(do func(depth int, s Span)) { t.walk(0, do) }

func (t Tree) walk(depth int, do func(int, Span)) {
	do(depth, t.Span)
	for _, child := range t.Children {
		child.walk(depth+1, do)
	}
}

// Names returns the names of a span's attributes, sorted.
func (s Span) Names() []string { return slices.Sorted(maps.Keys(s.Attributes)) }
