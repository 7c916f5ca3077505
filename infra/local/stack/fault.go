package stack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/throughline/throughline/infra/local/devapi"
	"github.com/throughline/throughline/infra/local/faults"
	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/httpapi"
)

// maxDelay bounds what can be set, so that a mistake does not stop the stack for good.
const maxDelay = time.Minute

// doorSettings are one service's faults as the interface names them; only DynamoDB has indexes that can lag.
type doorSettings struct {
	ErrorRate  float64 `json:"errorRate"`
	LatencyMS  float64 `json:"latencyMs"`
	DropRate   float64 `json:"dropRate"`
	IndexLagMS float64 `json:"indexLagMs,omitempty"`
}

// serveFaults sets the doors. A service that is not named keeps what it had; all of it is checked before any of it
// is set.
func (s *Stack) serveFaults(w http.ResponseWriter, r *http.Request) {
	var in map[string]json.RawMessage
	if err := devapi.Read(r, &in); err != nil {
		httpapi.WriteProblem(w, err)
		return
	}
	settings, err := s.readFaults(in)
	if err != nil {
		httpapi.WriteProblem(w, err)
		return
	}
	s.faulting.Lock()
	defer s.faulting.Unlock()
	for name, set := range settings {
		s.doors()[name].Set(faults.Rates{
			ErrorRate: set.ErrorRate, DropRate: set.DropRate, Latency: duration(set.LatencyMS),
		})
		if name != dynamodbName {
			continue
		}
		if err := s.lag.Set(r.Context(), duration(set.IndexLagMS)); err != nil {
			httpapi.WriteProblem(w, err)
			return
		}
	}
	devapi.Write(w, s.faultState())
}

// dynamodbName is what the interface calls the table's service.
const dynamodbName = "dynamodb"

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (s *Stack) doors() map[string]*faults.Injector {
	return map[string]*faults.Injector{dynamodbName: s.dynamodb.door, "pinecone": s.pinecone.door, "openai": s.openai.door}
}

func (s *Stack) faultState() map[string]doorSettings {
	out := map[string]doorSettings{}
	for name, door := range s.doors() {
		if door == nil {
			continue
		}
		r := door.Rates()
		set := doorSettings{ErrorRate: r.ErrorRate, DropRate: r.DropRate, LatencyMS: milliseconds(r.Latency)}
		if name == dynamodbName {
			set.IndexLagMS = milliseconds(s.lag.Duration())
		}
		out[name] = set
	}
	return out
}

func (s *Stack) readFaults(in map[string]json.RawMessage) (map[string]doorSettings, error) {
	var wrong []fault.Field
	out := map[string]doorSettings{}
	for name, raw := range in {
		door, known := s.doors()[name]
		switch {
		case !known:
			wrong = append(wrong, fault.Field{Field: name, Message: "is not dynamodb, pinecone or openai"})
		case door == nil:
			wrong = append(wrong, fault.Field{Field: name, Message: "is a service outside of this machine, which no door stands before"})
		default:
			set, fields := readDoor(name, raw)
			out[name], wrong = set, append(wrong, fields...)
		}
	}
	if len(wrong) > 0 {
		slices.SortFunc(wrong, func(a, b fault.Field) int { return strings.Compare(a.Field, b.Field) })
		return nil, fault.InvalidFields(wrong...)
	}
	return out, nil
}

// readDoor reads one service's object and names each field that is wrong.
func readDoor(service string, raw json.RawMessage) (set doorSettings, wrong []fault.Field) {
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
	limits := map[string]limit{
		"errorRate": {&set.ErrorRate, 1}, "dropRate": {&set.DropRate, 1}, "latencyMs": {&set.LatencyMS, milliseconds(maxDelay)},
	}
	if service == dynamodbName {
		limits["indexLagMs"] = limit{&set.IndexLagMS, milliseconds(maxDelay)}
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
	return set, wrong
}
