package template

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The pseudo parameters as the local stack has them. The stack is named for the project, so that names made from it
// are those of a default deployment.
var pseudoParameters = map[string]any{
	"AWS::StackName": "throughline", "AWS::Region": "us-east-1", "AWS::AccountId": "000000000000",
	"AWS::Partition": "aws", "AWS::URLSuffix": "amazonaws.com", "AWS::NoValue": noValue{},
}

// noValue removes the property it is the value of.
type noValue struct{}

// document evaluates CloudFormation's intrinsic functions over a parsed template. What only a deployment can know,
// such as an attribute of a resource, becomes its name: "Table.Arn".
type document struct {
	root       map[string]any
	parameters map[string]any
}

// call is an intrinsic function not evaluated yet.
type call struct {
	name string
	arg  any
}

func newDocument(source []byte, parameters map[string]string) (*document, error) {
	var node yaml.Node
	if err := yaml.Load(source, &node); err != nil {
		return nil, err
	}
	tree, err := build(&node)
	if err != nil {
		return nil, err
	}
	root, ok := tree.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is no mapping")
	}
	d := &document{root: root, parameters: maps.Clone(pseudoParameters)}
	for name, declared := range mapping(root["Parameters"]) {
		d.parameters[name] = parameter(mapping(declared), parameters, name)
	}
	return d, nil
}

func parameter(declared map[string]any, given map[string]string, name string) any {
	value := fmt.Sprint(declared["Default"])
	if declared["Default"] == nil {
		value = ""
	}
	if v, ok := given[name]; ok {
		value = v
	}
	if kind, _ := declared["Type"].(string); kind == "CommaDelimitedList" || strings.HasPrefix(kind, "List<") {
		members := strings.Split(value, ",")
		for i, member := range members {
			members[i] = strings.TrimSpace(member) // as CloudFormation does
		}
		return anys(members)
	}
	return value
}

// section returns an evaluated part of the template.
func (d *document) section(path ...string) any {
	var value any = d.root
	for _, name := range path {
		value = mapping(value)[name]
	}
	return d.eval(value)
}

// resources yields the logical ids and evaluated properties of the resources of a type, in order of their ids.
func (d *document) resources(kind string) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		all := mapping(d.root["Resources"])
		for _, id := range sortedKeys(all) {
			resource := mapping(all[id])
			if resource["Type"] == kind && !yield(id, d.eval(resource["Properties"])) {
				return
			}
		}
	}
}

// build turns YAML into plain values, tags and the long form of functions into calls.
func build(n *yaml.Node) (any, error) {
	if n.Kind == yaml.AliasNode {
		return build(n.Alias)
	}
	if name, ok := functionTag(n.Tag); ok {
		plain := *n
		plain.Tag = ""
		arg, err := build(&plain)
		return call{name: name, arg: arg}, err
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return build(n.Content[0])
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			var err error
			if list[i], err = build(item); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.MappingNode:
		return buildMapping(n)
	default:
		var value any
		err := n.Load(&value)
		return value, err
	}
}

func buildMapping(n *yaml.Node) (any, error) {
	out := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		value, err := build(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		out[n.Content[i].Value] = value
	}
	if len(out) == 1 {
		for name, arg := range out {
			if function, ok := strings.CutPrefix(name, "Fn::"); ok || name == "Ref" {
				return call{name: function, arg: arg}, nil
			}
		}
	}
	return out, nil
}

func functionTag(tag string) (string, bool) {
	name, ok := strings.CutPrefix(tag, "!")
	return name, ok && name != "" && !strings.HasPrefix(name, "!")
}

func (d *document) eval(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for name, v := range value {
			if e := d.eval(v); e != (noValue{}) {
				out[name] = e
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(value))
		for _, v := range value {
			if e := d.eval(v); e != (noValue{}) {
				out = append(out, e)
			}
		}
		return out
	case call:
		return d.apply(value)
	default:
		return value
	}
}

func (d *document) apply(c call) any {
	if c.name == "If" {
		return d.branch(c.arg)
	}
	if c.name == "Sub" {
		return d.sub(c.arg)
	}
	switch arg := d.eval(c.arg); c.name {
	case "Ref":
		return d.ref(fmt.Sprint(arg))
	case "Join":
		return d.join(arg)
	case "Select":
		return selectItem(arg)
	case "Split":
		parts, _ := arg.([]any)
		if len(parts) == 2 {
			return anys(strings.Split(fmt.Sprint(parts[1]), fmt.Sprint(parts[0])))
		}
	case "GetAtt":
		if parts, ok := arg.([]any); ok {
			return fmt.Sprintf("%v.%v", parts[0], parts[1])
		}
		return arg
	}
	return c.name // what the local stack has no use for
}

// ref is a parameter's value, or what a reference to a resource is locally: its physical name where it has one.
func (d *document) ref(name string) any {
	if value, ok := d.parameters[name]; ok {
		return value
	}
	properties := mapping(mapping(mapping(d.root["Resources"])[name])["Properties"])
	for _, field := range []string{"FunctionName", "TableName", "QueueName"} {
		if physical := properties[field]; physical != nil {
			return d.eval(physical)
		}
	}
	return name
}

var placeholder = regexp.MustCompile(`\$\{([^!}][^}]*)\}`)

func (d *document) sub(arg any) any {
	text, own := arg, map[string]any(nil)
	if parts, ok := arg.([]any); ok && len(parts) == 2 {
		text, own = parts[0], mapping(parts[1])
	}
	return placeholder.ReplaceAllStringFunc(fmt.Sprint(text), func(match string) string {
		name := strings.TrimSpace(match[2 : len(match)-1])
		if value, ok := own[name]; ok {
			return fmt.Sprint(d.eval(value))
		}
		return fmt.Sprint(d.ref(name))
	})
}

func (d *document) branch(arg any) any {
	parts, _ := arg.([]any)
	if len(parts) != 3 {
		return noValue{}
	}
	if d.condition(fmt.Sprint(parts[0])) {
		return d.eval(parts[1])
	}
	return d.eval(parts[2])
}

func (d *document) condition(name string) bool {
	return d.holds(mapping(d.root["Conditions"])[name])
}

func (d *document) holds(value any) bool {
	c, ok := value.(call)
	if !ok {
		if named, isMap := value.(map[string]any); isMap {
			return d.condition(fmt.Sprint(named["Condition"]))
		}
		return value == true
	}
	args, _ := c.arg.([]any)
	switch c.name {
	case "Condition":
		return d.condition(fmt.Sprint(c.arg))
	case "Equals":
		return len(args) == 2 && fmt.Sprint(d.eval(args[0])) == fmt.Sprint(d.eval(args[1]))
	case "Not":
		return len(args) == 1 && !d.holds(args[0])
	case "And":
		return !slices.ContainsFunc(args, func(a any) bool { return !d.holds(a) })
	case "Or":
		return slices.ContainsFunc(args, d.holds)
	}
	return false
}

func (d *document) join(arg any) any {
	parts, _ := arg.([]any)
	if len(parts) != 2 {
		return ""
	}
	list, _ := parts[1].([]any)
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	return strings.Join(texts, fmt.Sprint(parts[0]))
}

func selectItem(arg any) any {
	parts, _ := arg.([]any)
	if len(parts) != 2 {
		return noValue{}
	}
	list, _ := parts[1].([]any)
	var index int
	if _, err := fmt.Sscan(fmt.Sprint(parts[0]), &index); err != nil || index < 0 || index >= len(list) {
		return noValue{}
	}
	return list[index]
}

func mapping(value any) map[string]any { m, _ := value.(map[string]any); return m }

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
