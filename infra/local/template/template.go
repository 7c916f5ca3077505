// Package template reads from the SAM template what the local stack has to reproduce: each function's environment,
// timeout and triggers, and whom the API lets in. The stack is wired from the file that is deployed, so that the two agree by construction.
package template

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Defaults of the service for what a mapping or a function leaves out.
const (
	defaultBatchSize = 100
	defaultTimeout   = 3
	// Unlimited is how the service writes "no limit" for retries and record age.
	Unlimited = -1
)

// Template is what the local stack needs of a SAM template.
type Template struct {
	Functions []Function // sorted by name
	CORS      *CORS      // nil where the API lets no other origin in
}

// Function is one deployed function.
type Function struct {
	// Name is the folder of its code, "messages" for functions/messages; PhysicalName is what the Lambda API knows
	// it by.
	Name, PhysicalName string
	Timeout            time.Duration
	// Environment holds the variables the template sets, with parameters at their given values or defaults.
	Environment map[string]string
	Routes      []Route
	Streams     []Stream
	Schedules   []Schedule
	// URL tells that the function has a function URL.
	URL bool
}

// Route is one route of the HTTP API.
type Route struct {
	Method string // upper case, or ANY
	Path   string // "/v1/sessions/{id}", "/v1/{proxy+}", or "$default"
	// Authorized routes pass the JWT authorizer, and need one of Scopes where there are any.
	Authorized bool
	Scopes     []string
}

// Stream is one mapping of the table's stream to a function.
type Stream struct {
	Name         string
	BatchSize    int
	BatchWindow  time.Duration
	Filters      []string // filter patterns; a record passes that matches one, or when there are none
	MaxRetries   int      // Unlimited, or the retries after the first attempt
	MaxAge       time.Duration
	Bisect       bool
	ReportsItems bool // ReportBatchItemFailures
	Parallel     int
	DeadLetters  bool // an on-failure destination is named
	TrimHorizon  bool
}

// Schedule is one timer of a function.
type Schedule struct {
	Name  string
	Every time.Duration
	Input string // the event, as JSON; empty means EventBridge's own event
}

// Function returns the function of that name.
func (t *Template) Function(name string) (Function, bool) {
	i := slices.IndexFunc(t.Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return Function{}, false
	}
	return t.Functions[i], true
}

// Parse reads a template. parameters replace the defaults of the template's own. Its error names the resource that
// could not be read, or an event of a kind that the local stack does not know.
func Parse(source []byte, parameters map[string]string) (*Template, error) {
	doc, err := newDocument(source, parameters)
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	globals, err := decode[functionProperties](doc.section("Globals", "Function"))
	if err != nil {
		return nil, fmt.Errorf("parse template: Globals: %w", err)
	}
	t := &Template{}
	if t.CORS, err = doc.cors(); err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	for id, resource := range doc.resources("AWS::Serverless::Function") {
		properties, err := decode[functionProperties](resource)
		if err != nil {
			return nil, fmt.Errorf("parse template: %s: %w", id, err)
		}
		f, err := properties.function(globals)
		if err != nil {
			return nil, fmt.Errorf("parse template: %s: %w", id, err)
		}
		t.Functions = append(t.Functions, f)
	}
	slices.SortFunc(t.Functions, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return t, nil
}

// functionProperties is the part of AWS::Serverless::Function that matters here, its intrinsic functions evaluated.
type functionProperties struct {
	FunctionName string
	CodeUri      string //nolint:revive,staticcheck // SAM's name
	Timeout      integer
	Environment  struct{ Variables map[string]scalar }
	Events       map[string]struct {
		Type       string
		Properties json.RawMessage
	}
	FunctionUrlConfig *struct{} //nolint:revive,staticcheck // SAM's name
}

func (p functionProperties) function(globals functionProperties) (Function, error) {
	f := Function{
		Name: path.Base(p.CodeUri), PhysicalName: p.FunctionName, URL: p.FunctionUrlConfig != nil,
		Timeout:     time.Duration(firstOf(p.Timeout, globals.Timeout, defaultTimeout)) * time.Second,
		Environment: map[string]string{},
	}
	for _, variables := range []map[string]scalar{globals.Environment.Variables, p.Environment.Variables} {
		for name, value := range variables {
			f.Environment[name] = string(value)
		}
	}
	for _, name := range sortedKeys(p.Events) {
		if err := f.addEvent(name, p.Events[name].Type, p.Events[name].Properties); err != nil {
			return f, fmt.Errorf("event %s: %w", name, err)
		}
	}
	return f, nil
}

func (f *Function) addEvent(name, kind string, properties json.RawMessage) error {
	switch kind {
	case "HttpApi":
		return add(&f.Routes, properties, httpAPIEvent.route)
	case "DynamoDB":
		return add(&f.Streams, properties, func(e streamEvent) (Stream, error) { return e.stream(name) })
	case "Schedule", "ScheduleV2":
		return add(&f.Schedules, properties, func(e scheduleEvent) (Schedule, error) { return e.schedule(name) })
	}
	return fmt.Errorf("the local stack knows no event of type %q", kind)
}

func add[E, T any](list *[]T, properties json.RawMessage, convert func(E) (T, error)) error {
	var event E
	if err := json.Unmarshal(properties, &event); err != nil {
		return err
	}
	converted, err := convert(event)
	if err == nil {
		*list = append(*list, converted)
	}
	return err
}

func decode[T any](value any) (out T, err error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(raw, &out)
}

// integer and scalar take what CloudFormation takes for one: parameters are strings, whatever they stand for.
type (
	integer int
	scalar  string
)

// UnmarshalJSON reads a number or a string of one.
func (i *integer) UnmarshalJSON(raw []byte) error {
	n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	*i = integer(n)
	return err
}

// UnmarshalJSON reads a string, a number or a boolean.
func (s *scalar) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		*s = scalar(text)
		return err
	}
	if len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') {
		return fmt.Errorf("%s is no scalar", raw)
	}
	*s = scalar(raw)
	return nil
}

func firstOf(values ...integer) integer {
	for _, v := range values {
		if v != 0 {
			return v
		}
	}
	return 0
}
