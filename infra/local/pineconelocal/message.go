package pineconelocal

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"
)

// message reads and writes a message of the client by the names of its fields. The Go types are in an internal package
// of the client. A field name that the message doesn't have is a bug in this package, and panics.
type message struct{ protoreflect.Message }

// newMessage makes an empty message of a type that the client registered.
func newMessage(name protoreflect.FullName) message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		panic(fmt.Sprintf("pineconelocal: find message %s: %v", name, err))
	}
	return message{t.New()}
}

func (m message) field(name protoreflect.Name) protoreflect.FieldDescriptor {
	return m.Descriptor().Fields().ByName(name)
}

func (m message) has(name protoreflect.Name) bool    { return m.Has(m.field(name)) }
func (m message) text(name protoreflect.Name) string { return m.Get(m.field(name)).String() }
func (m message) number(name protoreflect.Name) int  { return int(m.Get(m.field(name)).Uint()) }

// object returns the JSON object in a field, or nil when the field is not set.
func (m message) object(name protoreflect.Name) *structpb.Struct {
	if !m.has(name) {
		return nil
	}
	return m.Get(m.field(name)).Message().Interface().(*structpb.Struct)
}

func (m message) texts(name protoreflect.Name) []string {
	return list(m, name, protoreflect.Value.String)
}

func (m message) floats(name protoreflect.Name) []float32 {
	return list(m, name, func(v protoreflect.Value) float32 { return float32(v.Float()) })
}

func (m message) messages(name protoreflect.Name) []message {
	return list(m, name, func(v protoreflect.Value) message { return message{v.Message()} })
}

func list[T any](m message, name protoreflect.Name, read func(protoreflect.Value) T) []T {
	values := m.Get(m.field(name)).List()
	out := make([]T, values.Len())
	for i := range out {
		out[i] = read(values.Get(i))
	}
	return out
}

// set writes a scalar of exactly the field's Go type.
func (m message) set(name protoreflect.Name, v any) { m.Set(m.field(name), protoreflect.ValueOf(v)) }

// message returns the message in a field, which it sets to an empty one first if it is not set.
func (m message) message(name protoreflect.Name) message {
	return message{m.Mutable(m.field(name)).Message()}
}

// add appends an empty message to a list field, and returns it.
func (m message) add(name protoreflect.Name) message {
	return message{m.Mutable(m.field(name)).List().AppendMutable().Message()}
}

// put adds an empty message to a map field, and returns it.
func (m message) put(name protoreflect.Name, key string) message {
	return message{m.Mutable(m.field(name)).Map().Mutable(protoreflect.ValueOfString(key).MapKey()).Message()}
}
