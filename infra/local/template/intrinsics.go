package template

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// stackName is the name of a default deployment, so that names made from it are the same here and there.
const stackName = "throughline"

// document is a parsed template. It evaluates the intrinsic functions that template.yaml uses, and refuses the others.
// What only a deployment knows, such as an attribute of a resource, becomes its name: "Table.Arn".
type document struct {
	Parameters map[string]struct {
		Type    string `yaml:"Type"`
		Default string `yaml:"Default"`
	} `yaml:"Parameters"`
	Conditions map[string]yaml.Node `yaml:"Conditions"`
	Globals    struct {
		Function yaml.Node `yaml:"Function"`
	} `yaml:"Globals"`
	Resources map[string]yaml.Node `yaml:"Resources"`

	given map[string]string // values of parameters that replace their defaults
}

// noValue removes the property that it is the value of.
type noValue struct{}

// value returns a part of the template as plain maps, lists and scalars.
func (d *document) value(n *yaml.Node) (any, error) {
	if name, ok := functionName(n); ok {
		value, err := d.call(name, n)
		if err != nil {
			return nil, fmt.Errorf("line %d: !%s: %w", n.Line, name, err)
		}
		return value, nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		return d.mapping(n)
	case yaml.SequenceNode:
		return d.list(n)
	case yaml.ScalarNode:
		var value any
		err := n.Load(&value)
		return value, err
	case 0:
		return nil, nil //nolint:nilnil // a property that is not there is null
	}
	return nil, fmt.Errorf("line %d: the local stack reads no YAML aliases", n.Line)
}

func (d *document) mapping(n *yaml.Node) (map[string]any, error) {
	values := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value, err := d.value(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		if value != (noValue{}) {
			values[n.Content[i].Value] = value
		}
	}
	return values, nil
}

func (d *document) list(n *yaml.Node) ([]any, error) {
	values := []any{}
	for _, item := range n.Content {
		value, err := d.value(item)
		if err != nil {
			return nil, err
		}
		if value != (noValue{}) {
			values = append(values, value)
		}
	}
	return values, nil
}

// functionName returns the name of the intrinsic function that a node calls: "Ref" for !Ref.
func functionName(n *yaml.Node) (string, bool) {
	name, ok := strings.CutPrefix(n.Tag, "!")
	return name, ok && !strings.HasPrefix(name, "!")
}

func (d *document) call(name string, n *yaml.Node) (any, error) {
	if n.Kind == yaml.ScalarNode {
		switch {
		case name == "Ref":
			return d.ref(n.Value)
		case name == "GetAtt":
			return n.Value, nil
		case name == "Sub" && !strings.Contains(n.Value, "${!"):
			return d.substitute(n.Value)
		}
	}
	if name == "If" && len(n.Content) == 3 {
		condition := d.Conditions[n.Content[0].Value]
		holds, err := d.value(&condition)
		isTrue, known := holds.(bool)
		switch {
		case err != nil || !known:
			return nil, fmt.Errorf("condition %s is %v: %w", n.Content[0].Value, holds, err)
		case isTrue:
			return d.value(n.Content[1])
		}
		return d.value(n.Content[2])
	}
	arguments, err := d.list(n)
	if err != nil {
		return nil, err
	}
	return d.apply(name, arguments)
}

// apply applies a function to a list of values.
func (d *document) apply(name string, arguments []any) (any, error) {
	if len(arguments) == 1 && name == "Not" {
		return arguments[0] != true, nil
	}
	if len(arguments) != 2 {
		return nil, errors.New("the local stack does not evaluate this form of it")
	}
	first := fmt.Sprint(arguments[0])
	switch second := arguments[1].(type) {
	case []any:
		switch i, err := strconv.Atoi(first); {
		case name == "Join":
			texts := make([]string, len(second))
			for i, item := range second {
				texts[i] = fmt.Sprint(item)
			}
			return strings.Join(texts, first), nil
		case name == "Select" && err == nil && i >= 0 && i < len(second):
			return second[i], nil
		case name == "Select" && err == nil && len(second) == 1 && second[0] == "": // of a parameter without a value
			return "", nil
		}
	case map[string]any:
		if name == "Sub" {
			for name, value := range second { // before those of parameters
				first = strings.ReplaceAll(first, "${"+name+"}", fmt.Sprint(value))
			}
			return d.substitute(first)
		}
	default:
		switch name {
		case "Equals":
			return first == fmt.Sprint(second), nil
		case "Split":
			parts := []any{}
			for part := range strings.SplitSeq(fmt.Sprint(second), first) {
				parts = append(parts, part)
			}
			return parts, nil
		}
	}
	return nil, fmt.Errorf("the local stack does not evaluate it for %v", arguments)
}

// ref returns a parameter's value, or a function's physical name. SAM calls the alias of a function Function.Alias. Any
// other name is returned as it is.
func (d *document) ref(name string) (any, error) {
	switch name {
	case "AWS::NoValue":
		return noValue{}, nil
	case "AWS::StackName":
		return stackName, nil
	}
	if declared, ok := d.Parameters[name]; ok {
		value, ok := d.given[name]
		if !ok {
			value = declared.Default
		}
		if declared.Type != "CommaDelimitedList" {
			return value, nil
		}
		members := []any{}
		for member := range strings.SplitSeq(value, ",") {
			members = append(members, strings.TrimSpace(member)) // CloudFormation trims members too
		}
		return members, nil
	}
	var resource struct {
		Properties struct {
			FunctionName yaml.Node `yaml:"FunctionName"`
		} `yaml:"Properties"`
	}
	function, isAlias := strings.CutSuffix(name, ".Alias")
	if n, ok := d.Resources[function]; ok && n.Load(&resource) == nil && resource.Properties.FunctionName.Kind != 0 {
		physical, err := d.value(&resource.Properties.FunctionName)
		if isAlias {
			physical = fmt.Sprint(physical, ":", Alias)
		}
		return physical, err
	}
	return name, nil
}

var placeholder = regexp.MustCompile(`\$\{([^}]+)\}`)

func (d *document) substitute(text string) (any, error) {
	var wrong error
	text = placeholder.ReplaceAllStringFunc(text, func(match string) string {
		value, err := d.ref(match[len("${") : len(match)-len("}")])
		wrong = errors.Join(wrong, err)
		return fmt.Sprint(value)
	})
	return text, wrong
}
