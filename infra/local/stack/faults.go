package stack

import (
	"net/http"
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
// its faults, and a request that names none clears all. Everything is checked before anything is set.
func (c *faultControl) set(r *http.Request) (map[string]faultSettings, error) {
	var in map[string]faultSettings
	if err := devapi.Read(r, &in); err != nil {
		return nil, err
	}
	if in != nil && len(in) == 0 {
		for name := range c.state() {
			in[name] = faultSettings{}
		}
	}
	for name, s := range in {
		if c.injectors()[name] == nil {
			return nil, fault.InvalidField(name, "is no service of this machine that can be given faults")
		}
		if !s.isPossible(name) {
			return nil, fault.InvalidField(name, "must have rates from 0 to 1 and times from 0 to 60000 milliseconds")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, s := range in {
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

// isPossible reports whether a service can have the faults.
func (s faultSettings) isPossible(service string) bool {
	longest := milliseconds(maxDelay)
	return min(s.ErrorRate, s.DropRate, s.LatencyMS, s.IndexLagMS) >= 0 && max(s.ErrorRate, s.DropRate) <= 1 &&
		max(s.LatencyMS, s.IndexLagMS) <= longest && (s.IndexLagMS == 0 || service == dynamodbName)
}

// injectors returns the services' injectors by the names of the services in requests.
func (c *faultControl) injectors() map[string]*faults.Injector {
	return map[string]*faults.Injector{
		dynamodbName: c.services.dynamodb.injector, "pinecone": c.services.pinecone.injector,
		"openai": c.services.openai.injector, "eventbridge": c.services.events.injector,
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

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
