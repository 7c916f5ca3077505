// Package template reads template.yaml, the SAM template of everything that is deployed. It is the one reader for Go
// code. The local stack takes each function's environment, timeout and triggers from it, and tests compare it with the
// code.
package template

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Defaults of the service for what a mapping or a function leaves out.
const (
	defaultBatchSize = 100
	defaultTimeout   = 3
	defaultMemoryMB  = 128
	// Alias is the alias by which all callers invoke a function.
	Alias = "live"
	// Unlimited is how the service writes "no limit" for retries and record age.
	Unlimited = -1
)

// Template is what the template says.
type Template struct {
	Functions []Function // sorted by name
	CORS      *CORS      // nil where the API lets no other origin in
	// Resources are all resources by their logical ids.
	Resources map[string]Resource
}

// Resource is one resource of the template.
type Resource struct {
	Type, Condition                     string
	DeletionPolicy, UpdateReplacePolicy string
	Metadata                            struct{ BuildMethod string }
	// Properties are its properties as JSON, with the intrinsic functions evaluated.
	Properties json.RawMessage
}

// CORS is what an HTTP API allows pages of other origins, with lists in the template's order.
type CORS struct {
	AllowOrigins, AllowMethods, AllowHeaders, ExposeHeaders []string
	// MaxAge is how many seconds a page may keep the answer to a preflight; zero leaves that to the browser.
	MaxAge int
}

// Function is one deployed function.
type Function struct {
	// Name is the folder of its code, "messages" for functions/messages; PhysicalName is what the Lambda API knows
	// it by.
	Name, PhysicalName string
	Timeout            time.Duration
	MemoryMB           int
	// Environment holds the variables the template sets, with parameters at their given values or defaults.
	Environment map[string]string
	Routes      []Route
	Streams     []Stream
	Schedules   []Schedule
	// URL says that the function can have a function URL. The other door of the chat is in front of the same function,
	// and the local stack has the URL.
	URL bool
}

// Route is one route of the HTTP API.
type Route struct {
	Method string // upper case
	Path   string // "/v1/sessions/{id}" or "/v1/{proxy+}"
	// Authorized routes pass the JWT authorizer.
	Authorized bool
}

// Stream is one mapping of the table's stream to a function.
type Stream struct {
	Name         string
	BatchSize    int
	BatchWindow  time.Duration
	Filters      []string // filter patterns: a record that matches one passes; without filters every record does
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
	Off   bool   // it invokes nothing
}

// Function returns the function of that name.
func (t *Template) Function(name string) (Function, bool) {
	i := slices.IndexFunc(t.Functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return Function{}, false
	}
	return t.Functions[i], true
}

// Parse reads a template. parameters replace the defaults of its own. The error names the resource that could not be
// read, or an intrinsic function or event that the local stack does not know.
func Parse(source []byte, parameters map[string]string) (*Template, error) {
	doc := document{given: parameters}
	if err := yaml.Load(source, &doc); err != nil {
		return nil, err
	}
	var globals functionProperties
	if err := doc.decode(&doc.Globals.Function, &globals); err != nil {
		return nil, fmt.Errorf("read Globals: %w", err)
	}
	t := &Template{Resources: map[string]Resource{}}
	for _, id := range slices.Sorted(maps.Keys(doc.Resources)) {
		n, resource := doc.Resources[id], Resource{}
		if err := doc.decode(&n, &resource); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		t.Resources[id] = resource
		if err := t.add(resource, globals); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
	}
	for _, resource := range t.Resources {
		if resource.Type != "AWS::Lambda::Url" {
			continue
		}
		var url struct{ TargetFunctionArn string }
		if err := json.Unmarshal(resource.Properties, &url); err != nil {
			return nil, err
		}
		for i := range t.Functions {
			t.Functions[i].URL = t.Functions[i].URL || url.TargetFunctionArn == t.Functions[i].PhysicalName+":"+Alias
		}
	}
	slices.SortFunc(t.Functions, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return t, nil
}

// add reads what the local stack reproduces of a resource.
func (t *Template) add(r Resource, globals functionProperties) error {
	switch r.Type {
	case "AWS::Serverless::Function":
		var properties functionProperties
		if err := json.Unmarshal(r.Properties, &properties); err != nil {
			return err
		}
		f, err := properties.function(globals)
		t.Functions = append(t.Functions, f)
		return err
	case "AWS::Serverless::HttpApi":
		var properties struct{ CorsConfiguration json.RawMessage }
		if err := json.Unmarshal(r.Properties, &properties); err != nil || properties.CorsConfiguration == nil {
			return err
		}
		return decodeStrictly(properties.CorsConfiguration, &t.CORS)
	}
	return nil
}

// decode evaluates a part of the template into out. Names match in any case.
func (d *document) decode(n *yaml.Node, out any) error {
	value, err := d.value(n)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, out)
}

// decodeStrictly refuses properties that out has no field for, because the local stack would ignore them.
func decodeStrictly(raw json.RawMessage, out any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decoder.Decode(out)
}

// functionProperties is the part of AWS::Serverless::Function that the local stack reproduces.
type functionProperties struct {
	FunctionName string
	CodeURI      string
	Timeout      integer
	MemorySize   integer
	Environment  struct{ Variables map[string]scalar }
	Events       map[string]struct {
		Type       string
		Properties json.RawMessage
	}
	// AutoPublishAlias is the alias that follows the function's releases.
	AutoPublishAlias string
}

func (p functionProperties) function(globals functionProperties) (Function, error) {
	if alias := cmp.Or(p.AutoPublishAlias, globals.AutoPublishAlias); alias != Alias {
		return Function{}, fmt.Errorf("the callers of %s invoke the alias %s, and it has %q", p.FunctionName, Alias, alias)
	}
	f := Function{
		Name: path.Base(p.CodeURI), PhysicalName: p.FunctionName,
		Timeout:     time.Duration(cmp.Or(p.Timeout, globals.Timeout, defaultTimeout)) * time.Second,
		MemoryMB:    int(cmp.Or(p.MemorySize, globals.MemorySize, defaultMemoryMB)),
		Environment: map[string]string{},
	}
	for _, variables := range []map[string]scalar{globals.Environment.Variables, p.Environment.Variables} {
		for name, value := range variables {
			f.Environment[name] = string(value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Events)) {
		if err := f.addEvent(name, p.Events[name].Type, p.Events[name].Properties); err != nil {
			return f, fmt.Errorf("event %s: %w", name, err)
		}
	}
	return f, nil
}

// integer and scalar read what CloudFormation accepts for a number and for a text: the value of a parameter is always
// a string.
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
