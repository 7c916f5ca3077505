package architecture_test

import (
	"go/constant"
	"go/types"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/ssa"

	"github.com/throughline/throughline/internal/config"
)

// reach follows a function from its main through all code of this module that it can call, and notes the calls of AWS.
// A function counts as called when code that is reached calls it or takes its value. An interface's method counts as
// called in every type that code which is reached has converted to an interface.
type reach struct {
	t       *testing.T
	program *ssa.Program
	seen    map[*ssa.Function]bool
	todo    []*ssa.Function
	// converted are the types that were converted to an interface, methods the interfaces' methods that were called.
	converted map[types.Type]bool
	methods   map[*types.Func]*types.Interface
	// actions are the actions of AWS, such as "dynamodb:Query" and, for an index, "dynamodb:Query recent". The reading of
	// secrets is there for each key that the code uses.
	actions map[string]bool
}

// actionsOf lists the actions that a function's code can take.
func actionsOf(t *testing.T, program *ssa.Program, main *ssa.Function) []string {
	t.Helper()
	r := &reach{
		t: t, program: program, seen: map[*ssa.Function]bool{}, converted: map[types.Type]bool{},
		methods: map[*types.Func]*types.Interface{}, actions: map[string]bool{},
	}
	r.function(main)
	for len(r.todo) > 0 {
		f := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		for _, block := range f.Blocks {
			for _, instruction := range block.Instrs {
				r.instruction(f, instruction)
			}
		}
	}
	var actions []string
	for a := range r.actions {
		actions = append(actions, a)
	}
	slices.Sort(actions)
	return actions
}

func (r *reach) function(f *ssa.Function) {
	if f == nil || r.seen[f] {
		return
	}
	r.seen[f] = true
	if key := keyUsers[f.String()]; key != "" {
		r.actions["secretsmanager:GetSecretValue "+string(key)] = true
	}
	r.external(f)
	if len(f.Blocks) > 0 {
		r.todo = append(r.todo, f)
	}
}

func (r *reach) instruction(f *ssa.Function, i ssa.Instruction) {
	switch i := i.(type) {
	case ssa.CallInstruction:
		if c := i.Common(); c.IsInvoke() {
			r.invoke(c.Method, c.Value.Type())
		}
	case *ssa.MakeInterface:
		r.convert(i.X.Type(), i.Type())
	case *ssa.Alloc:
		r.part(i.Type().Underlying().(*types.Pointer).Elem())
	}
	for _, operand := range i.Operands(nil) {
		switch v := (*operand).(type) {
		case *ssa.Function:
			r.function(v)
		case *ssa.Const:
			r.index(f, v)
		}
	}
}

// invoke notes that an interface's method is called.
func (r *reach) invoke(method *types.Func, on types.Type) {
	i, ok := on.Underlying().(*types.Interface)
	if !ok || r.methods[method] != nil {
		return
	}
	r.methods[method] = i
	if isNamed(on, module+"/internal/dynamo/table", "API") ||
		isNamed(on, module+"/internal/migration/adopt", "ScanAPI") ||
		isNamed(on, module+"/internal/dynamo/preflight", "TableAPI") {
		r.call("dynamodb", method.Name())
	}
	for t := range r.converted {
		r.implement(t, method, i)
	}
}

// convert notes that a type was converted to an interface. Code outside of this module may call the methods of an
// interface of its own.
func (r *reach) convert(t, to types.Type) {
	if i, ok := to.Underlying().(*types.Interface); ok && !isOurs(to) {
		for m := range i.Methods() {
			r.implement(t, m, i)
		}
	}
	if r.converted[t] {
		return
	}
	r.converted[t] = true
	for m, i := range r.methods {
		r.implement(t, m, i)
	}
}

func (r *reach) implement(t types.Type, method *types.Func, i *types.Interface) {
	if !types.Implements(t, i) {
		return
	}
	if s := r.program.MethodSets.MethodSet(t).Lookup(method.Pkg(), method.Name()); s != nil {
		r.function(r.program.MethodValue(s))
	}
}

// external notes a call of a client of AWS.
func (r *reach) external(f *ssa.Function) {
	receiver := f.Signature.Recv()
	if receiver == nil {
		return
	}
	t := receiver.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	for service, prefix := range map[string]string{
		"secretsmanager": "secretsmanager", "lambda": "lambda", "kms": "kms", "sqs": "sqs",
		"eventbridge": "events",
	} {
		if isNamed(t, "github.com/aws/aws-sdk-go-v2/service/"+service, "Client") {
			r.call(prefix, f.Name())
		}
	}
}

func (r *reach) call(service, method string) {
	switch {
	case service == "secretsmanager" && method == "GetSecretValue": // function notes which
	case method == "TransactWriteItems": // it needs the permissions of its parts and none of its own
	case service == "lambda" && strings.HasPrefix(method, "Invoke"):
		r.actions["lambda:InvokeFunction"] = true
	case method != "Options":
		r.actions[service+":"+method] = true
	}
}

// part notes a part of a transaction.
func (r *reach) part(t types.Type) {
	for part, action := range map[string]string{
		"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem",
		"Get": "GetItem",
	} {
		if isNamed(t, "github.com/aws/aws-sdk-go-v2/service/dynamodb/types", part) {
			r.actions["dynamodb:"+action] = true
		}
	}
}

// index notes the name of an index that the store queries. The definition of the table names them too.
func (r *reach) index(f *ssa.Function, c *ssa.Const) {
	if c.Value == nil || c.Value.Kind() != constant.String || f.Pkg == nil || f.Name() == "CreateTableInput" {
		return
	}
	store := []string{"/internal/dynamo", "/internal/dynamo/table", "/internal/migration/adopt"}
	if !slices.Contains(store, strings.TrimPrefix(f.Pkg.Pkg.Path(), module)) {
		return
	}
	if name := constant.StringVal(c.Value); slices.Contains(indexesInCode(), name) {
		r.actions["dynamodb:Query "+name] = true
	}
}

// keyUsers are the functions that use a key.
var keyUsers = map[string]config.Secret{
	"(*" + module + "/internal/openai.Client).Complete": config.OpenAIKey,
	"(*" + module + "/internal/openai.Client).Stream":   config.OpenAIKey,
	"(*" + module + "/internal/openai.Client).Embed":    config.EmbeddingKey,
	module + "/internal/pinecone.New":                   config.PineconeKey,
	module + "/internal/httpapi.ParseCursorKey":         config.CursorKey,
}

func isNamed(t types.Type, pkg, name string) bool {
	n, ok := t.(*types.Named)
	return ok && n.Obj().Name() == name && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == pkg
}

func isOurs(t types.Type) bool {
	n, ok := t.(*types.Named)
	return ok && n.Obj().Pkg() != nil && strings.HasPrefix(n.Obj().Pkg().Path(), module)
}
