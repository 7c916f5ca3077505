package template

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

type httpAPIEvent struct {
	Path, Method string
	Auth         struct {
		Authorizer          string
		AuthorizationScopes []string
	}
}

// route follows the template's default: a route is authorized unless it says Authorizer: NONE.
func (e httpAPIEvent) route() (Route, error) {
	r := Route{
		Method: strings.ToUpper(e.Method), Path: e.Path,
		Authorized: e.Auth.Authorizer != "NONE", Scopes: e.Auth.AuthorizationScopes,
	}
	if r.Method == "*" || r.Method == "X-AMAZON-APIGATEWAY-ANY-METHOD" {
		r.Method = "ANY"
	}
	if r.Path == "" || r.Method == "" {
		return r, fmt.Errorf("it needs a path and a method")
	}
	return r, nil
}

type streamEvent struct {
	StartingPosition               string
	BatchSize                      integer
	MaximumBatchingWindowInSeconds integer
	MaximumRetryAttempts           *integer
	MaximumRecordAgeInSeconds      *integer
	BisectBatchOnFunctionError     bool
	ParallelizationFactor          integer
	FunctionResponseTypes          []string
	FilterCriteria                 struct{ Filters []struct{ Pattern string } }
	DestinationConfig              *struct{ OnFailure struct{ Destination string } }
}

func (e streamEvent) stream(name string) (Stream, error) {
	s := Stream{
		Name: name, BatchSize: int(firstOf(e.BatchSize, defaultBatchSize)),
		BatchWindow: seconds(e.MaximumBatchingWindowInSeconds),
		MaxRetries:  Unlimited, MaxAge: Unlimited,
		Bisect: e.BisectBatchOnFunctionError, Parallel: int(firstOf(e.ParallelizationFactor, 1)),
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

type scheduleEvent struct {
	Schedule, ScheduleExpression string
	Input                        string
}

// schedule knows rate(N unit) only: cron expressions would need a clock of their own.
func (e scheduleEvent) schedule(name string) (Schedule, error) {
	every, err := parseRate(e.Schedule + e.ScheduleExpression)
	return Schedule{Name: name, Every: every, Input: e.Input}, err
}

func parseRate(expression string) (time.Duration, error) {
	inner, ok := strings.CutPrefix(expression, "rate(")
	inner, closed := strings.CutSuffix(inner, ")")
	count, unit, spaced := strings.Cut(inner, " ")
	n, err := strconv.Atoi(count)
	units := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}
	length, known := units[strings.TrimSuffix(unit, "s")]
	if !ok || !closed || !spaced || err != nil || n < 1 || !known {
		return 0, fmt.Errorf("the local stack runs rate(N minutes|hours|days), not %q", expression)
	}
	return time.Duration(n) * length, nil
}
