package template

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// addEvent adds the trigger that an event describes. Its error names a kind or a property that the local stack would
// ignore.
func (f *Function) addEvent(name, kind string, properties json.RawMessage) error {
	switch kind {
	case "HttpApi":
		return addTo(&f.Routes, properties, httpAPIEvent.route)
	case "DynamoDB":
		return addTo(&f.Streams, properties, func(e streamEvent) (Stream, error) { return e.stream(name) })
	case "ScheduleV2":
		return addTo(&f.Schedules, properties, func(e scheduleEvent) (Schedule, error) { return e.schedule(name) })
	}
	return fmt.Errorf("the local stack has no events of type %q", kind)
}

func addTo[E, T any](list *[]T, properties json.RawMessage, convert func(E) (T, error)) error {
	var event E
	if err := decodeStrictly(properties, &event); err != nil {
		return err
	}
	converted, err := convert(event)
	if err == nil {
		*list = append(*list, converted)
	}
	return err
}

type httpAPIEvent struct {
	APIID        string
	Path, Method string
	Auth         struct{ Authorizer string }
}

// route reads a route. A route is authorized unless it says Authorizer: NONE, which is the template's default. It has
// to name its method: a route of any method would take preflights, which the gateway answers itself.
func (e httpAPIEvent) route() (Route, error) {
	r := Route{Method: strings.ToUpper(e.Method), Path: e.Path, Authorized: e.Auth.Authorizer != "NONE"}
	if r.Path == "" || r.Method == "" || r.Method == "ANY" || r.Method == "*" {
		return r, fmt.Errorf("a route needs a path and one method, not %q %q", e.Method, e.Path)
	}
	return r, nil
}

type streamEvent struct {
	Stream                         string
	StartingPosition               string
	BatchSize                      integer
	MaximumBatchingWindowInSeconds integer
	MaximumRetryAttempts           *integer
	MaximumRecordAgeInSeconds      *integer
	BisectBatchOnFunctionError     bool
	ParallelizationFactor          integer
	FunctionResponseTypes          []string
	FilterCriteria                 struct{ Filters []struct{ Pattern string } }
	DestinationConfig              *struct {
		OnFailure struct{ Type, Destination string }
	}
}

func (e streamEvent) stream(name string) (Stream, error) {
	s := Stream{
		Name: name, BatchSize: int(cmp.Or(e.BatchSize, defaultBatchSize)),
		BatchWindow: seconds(e.MaximumBatchingWindowInSeconds),
		MaxRetries:  Unlimited, MaxAge: Unlimited,
		Bisect: e.BisectBatchOnFunctionError, Parallel: int(cmp.Or(e.ParallelizationFactor, 1)),
		DeadLetters: e.DestinationConfig != nil && e.DestinationConfig.OnFailure.Destination != "",
		TrimHorizon: e.StartingPosition == "TRIM_HORIZON",
	}
	if e.MaximumRetryAttempts != nil {
		s.MaxRetries = int(*e.MaximumRetryAttempts)
	}
	if e.MaximumRecordAgeInSeconds != nil && *e.MaximumRecordAgeInSeconds != Unlimited {
		s.MaxAge = seconds(*e.MaximumRecordAgeInSeconds)
	}
	for _, kind := range e.FunctionResponseTypes {
		s.ReportsItems = s.ReportsItems || kind == "ReportBatchItemFailures"
	}
	for _, f := range e.FilterCriteria.Filters {
		s.Filters = append(s.Filters, f.Pattern)
	}
	return s, nil
}

func seconds(n integer) time.Duration { return time.Duration(n) * time.Second }

// scheduleEvent names all properties of template.yaml's schedule. The local stack needs neither its name, its
// description nor its retries: each invocation is waited for, and the next tick repeats a failed one.
type scheduleEvent struct {
	Name               string
	Description        string
	ScheduleExpression string
	Input              string
	FlexibleTimeWindow struct{ Mode string }
	State              string
	RetryPolicy        struct{ MaximumRetryAttempts, MaximumEventAgeInSeconds integer }
}

func (e scheduleEvent) schedule(name string) (Schedule, error) {
	every, err := parseRate(e.ScheduleExpression)
	return Schedule{Name: name, Every: every, Input: e.Input, Off: e.State == "DISABLED"}, err
}

// parseRate reads rate(N minutes), hours or days. It reads no cron expression.
func parseRate(expression string) (time.Duration, error) {
	var n int
	var unit string
	_, err := fmt.Sscanf(expression, "rate(%d %s", &n, &unit)
	units := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	length := units[strings.TrimRight(unit, "s)")]
	if err != nil || n < 1 || length == 0 {
		return 0, fmt.Errorf("the local stack runs rate(N minutes|hours|days), not %q", expression)
	}
	return time.Duration(n) * length, nil
}
