package stack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/throughline/throughline/infra/local/devapi"
	"github.com/throughline/throughline/infra/local/faults"
	"github.com/throughline/throughline/internal/fault"
)

// maxDelay bounds what can be set, so that a mistake does not stop the stack for good.
const maxDelay = time.Minute

// dynamodbName is DynamoDB's name in requests.
const dynamodbName = "dynamodb"

// faultSettings are the faults of one service as requests name them. Only DynamoDB has indexes that can lag.
type faultSettings struct {
	ErrorRate  float64 `json:"errorRate"`
	LatencyMS  float64 `json:"latencyMs"`
	DropRate   float64 `json:"dropRate"`
	IndexLagMS float64 `json:"indexLagMs,omitempty"`
}

// faultControl sets the services' faults at run time.
type faultControl struct {
	mu       sync.Mutex // held while faults are set
	services *services
}

// set sets the faults that a request names, and returns the faults of all services. A service that is not named keeps
// its faults. Everything is checked before anything is set.
func (c *faultControl) set(r *http.Request) (map[string]faultSettings, error) {
	var in map[string]json.RawMessage
	if err := devapi.Read(r, &in); err != nil {
		return nil, err
	}
	settings, err := c.read(in)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, s := range settings {
		c.injectors()[name].Set(faults.Rates{
			ErrorRate: s.ErrorRate, DropRate: s.DropRate, Latency: duration(s.LatencyMS),
		})
		if name != dynamodbName {
			continue
		}
		if err := c.services.lag.Set(r.Context(), duration(s.IndexLagMS)); err != nil {
			return nil, err
		}
	}
	return c.state(), nil
}

// injectors returns the services' injectors by the names of the services in requests.
func (c *faultControl) injectors() map[string]*faults.Injector {
	return map[string]*faults.Injector{
		dynamodbName: c.services.dynamodb.injector, "pinecone": c.services.pinecone.injector,
		"openai": c.services.openai.injector,
	}
}

func (c *faultControl) state() map[string]faultSettings {
	state := map[string]faultSettings{}
	for name, injector := range c.injectors() {
		if injector == nil {
			continue
		}
		r := injector.Rates()
		s := faultSettings{ErrorRate: r.ErrorRate, DropRate: r.DropRate, LatencyMS: milliseconds(r.Latency)}
		if name == dynamodbName {
			s.IndexLagMS = milliseconds(c.services.lag.Duration())
		}
		state[name] = s
	}
	return state
}

func (c *faultControl) read(in map[string]json.RawMessage) (map[string]faultSettings, error) {
	var wrong []fault.Field
	settings := map[string]faultSettings{}
	for name, raw := range in {
		injector, known := c.injectors()[name]
		switch {
		case !known:
			wrong = append(wrong, fault.Field{Field: name, Message: "is not dynamodb, pinecone or openai"})
		case injector == nil:
			message := "is a service outside of this machine, which cannot be given faults"
			wrong = append(wrong, fault.Field{Field: name, Message: message})
		default:
			s, fields := readSettings(name, raw)
			settings[name], wrong = s, append(wrong, fields...)
		}
	}
	if len(wrong) > 0 {
		slices.SortFunc(wrong, func(a, b fault.Field) int { return strings.Compare(a.Field, b.Field) })
		return nil, fault.InvalidFields(wrong...)
	}
	return settings, nil
}

// readSettings reads one service's faults, and names each field that is wrong.
func readSettings(service string, raw json.RawMessage) (s faultSettings, wrong []fault.Field) {
	refuse := func(field, message string) {
		wrong = append(wrong, fault.Field{Field: field, Message: message})
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		refuse(service, "must be an object")
	}
	type limit struct {
		target *float64
		most   float64
	}
	longest := milliseconds(maxDelay)
	limits := map[string]limit{
		"errorRate": {&s.ErrorRate, 1}, "dropRate": {&s.DropRate, 1}, "latencyMs": {&s.LatencyMS, longest},
	}
	if service == dynamodbName {
		limits["indexLagMs"] = limit{&s.IndexLagMS, longest}
	}
	for name, value := range fields {
		limit, known := limits[name]
		number, isNumber := value.(float64)
		switch {
		case !known:
			refuse(service+"."+name, "is not a fault of this service")
		case !isNumber || number < 0 || number > limit.most:
			refuse(service+"."+name, fmt.Sprintf("must be a number between 0 and %v", limit.most))
		default:
			*limit.target = number
		}
	}
	return s, wrong
}

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
