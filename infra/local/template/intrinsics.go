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
		name := n.Content[i].Value
		if name == "Ref" || strings.HasPrefix(name, "Fn::") {
			return nil, fmt.Errorf("line %d: the local stack reads intrinsic functions in their short form only", n.Line)
		}
		value, err := d.value(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		if value != (noValue{}) {
			values[name] = value
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
	return name, ok && name != "" && !strings.HasPrefix(name, "!")
}

func (d *document) call(name string, n *yaml.Node) (any, error) {
	isText := n.Kind == yaml.ScalarNode
	switch {
	case name == "Ref" && isText:
		return d.ref(n.Value)
	case name == "GetAtt" && isText:
		return n.Value, nil
	case name == "Sub" && isText && !strings.Contains(n.Value, "${!"):
		return d.substitute(n.Value)
	case name == "Sub" && len(n.Content) == 2 && n.Content[1].Kind == yaml.MappingNode:
		return d.substituteGiven(n.Content[0].Value, n.Content[1])
	case name == "Select" && len(n.Content) == 2:
		return d.selectPart(n.Content[0].Value, n.Content[1])
	case name == "Split" && len(n.Content) == 2:
		return d.split(n.Content[0].Value, n.Content[1])
	case name == "If" && len(n.Content) == 3:
		return d.choose(n.Content[0].Value, n.Content[1], n.Content[2])
	case name == "Join" && len(n.Content) == 2:
		return d.join(n.Content[0].Value, n.Content[1])
	}
	return nil, errors.New("the local stack does not evaluate this form of it")
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

// substituteGiven replaces the names that are given with a text before those of parameters.
func (d *document) substituteGiven(text string, given *yaml.Node) (any, error) {
	values, err := d.mapping(given)
	if err != nil {
		return nil, err
	}
	for name, value := range values {
		text = strings.ReplaceAll(text, "${"+name+"}", fmt.Sprint(value))
	}
	return d.substitute(text)
}

// split returns the parts of a text.
func (d *document) split(separator string, n *yaml.Node) (any, error) {
	value, err := d.value(n)
	if err != nil {
		return nil, err
	}
	parts := []any{}
	for part := range strings.SplitSeq(fmt.Sprint(value), separator) {
		parts = append(parts, part)
	}
	return parts, nil
}

// selectPart returns the member of a list with that index.
func (d *document) selectPart(index string, n *yaml.Node) (any, error) {
	value, err := d.value(n)
	if err != nil {
		return nil, err
	}
	list, _ := value.([]any)
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(list) {
		return nil, fmt.Errorf("there is no member %s of %v", index, value)
	}
	return list[i], nil
}

func (d *document) choose(condition string, yes, no *yaml.Node) (any, error) {
	n := d.Conditions[condition]
	holds, err := d.holds(&n)
	switch {
	case err != nil:
		return nil, fmt.Errorf("condition %s: %w", condition, err)
	case holds:
		return d.value(yes)
	default:
		return d.value(no)
	}
}

// holds evaluates a condition.
func (d *document) holds(n *yaml.Node) (bool, error) {
	switch name, _ := functionName(n); {
	case name == "Not" && len(n.Content) == 1:
		holds, err := d.holds(n.Content[0])
		return !holds, err
	case name == "Equals" && len(n.Content) == 2:
		a, err := d.value(n.Content[0])
		if err != nil {
			return false, err
		}
		b, err := d.value(n.Content[1])
		return fmt.Sprint(a) == fmt.Sprint(b), err
	}
	return false, fmt.Errorf("the local stack evaluates !Equals and !Not in conditions, not %q", n.Tag)
}

func (d *document) join(separator string, n *yaml.Node) (any, error) {
	value, err := d.value(n)
	if err != nil {
		return nil, err
	}
	list, ok := value.([]any)
	if !ok {
		return nil, errors.New("it joins a list")
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	return strings.Join(texts, separator), nil
}
