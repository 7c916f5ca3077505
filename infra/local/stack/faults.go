package stack

import (
	"maps"
	"net/http"
	"time"

	"github.com/throughline/throughline/infra/local/devapi"
	"github.com/throughline/throughline/infra/local/faults"
	"github.com/throughline/throughline/internal/fault"
)

// maxDelay bounds what can be set, in milliseconds, so that a mistake does not stop the stack for good.
const maxDelay = 60_000

// dynamodbName is DynamoDB's name in requests.
const dynamodbName = "dynamodb"

// faultSettings are the faults of one service as requests name them. Only DynamoDB has indexes that can lag.
type faultSettings struct {
	ErrorRate  float64 `json:"errorRate"`
	LatencyMS  float64 `json:"latencyMs"`
	DropRate   float64 `json:"dropRate"`
	IndexLagMS float64 `json:"indexLagMs,omitempty"`
}

// setFaults sets the faults that a request names, and returns the faults of all services. A service that is not named
// keeps its faults, and a request that names none clears all. Everything is checked before anything is set.
func (s *services) setFaults(r *http.Request) (any, error) {
	var in map[string]faultSettings
	if err := devapi.Read(r, &in); err != nil {
		return nil, err
	}
	s.faultsMu.Lock()
	defer s.faultsMu.Unlock()
	injectors := s.injectors()
	if in != nil && len(in) == 0 {
		for name := range injectors {
			in[name] = faultSettings{}
		}
	}
	for name, set := range in {
		if injectors[name] == nil {
			return nil, fault.InvalidField(name, "is no service of this machine that can be given faults")
		}
		if !set.isPossible(name) {
			return nil, fault.InvalidField(name, "must have rates from 0 to 1 and times from 0 to 60000 milliseconds")
		}
	}
	for name, set := range in {
		injectors[name].Set(faults.Rates{
			ErrorRate: set.ErrorRate, DropRate: set.DropRate, Latency: duration(set.LatencyMS),
		})
		if name == dynamodbName {
			if err := s.lag.Set(r.Context(), duration(set.IndexLagMS)); err != nil {
				return nil, err
			}
		}
		s.faults[name] = set
	}
	state := map[string]faultSettings{}
	for name := range injectors {
		state[name] = s.faults[name]
	}
	return state, nil
}

// isPossible reports whether a service can have the faults.
func (s faultSettings) isPossible(service string) bool {
	return min(s.ErrorRate, s.DropRate, s.LatencyMS, s.IndexLagMS) >= 0 && max(s.ErrorRate, s.DropRate) <= 1 &&
		max(s.LatencyMS, s.IndexLagMS) <= maxDelay && (s.IndexLagMS == 0 || service == dynamodbName)
}

// injectors returns the injectors of the services on this machine by the names of the services in requests.
func (s *services) injectors() map[string]*faults.Injector {
	all := map[string]*faults.Injector{
		dynamodbName: s.dynamodb.injector, "pinecone": s.pinecone.injector, "openai": s.openai.injector,
		"eventbridge": s.events.injector,
	}
	maps.DeleteFunc(all, func(_ string, i *faults.Injector) bool { return i == nil })
	return all
}

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
