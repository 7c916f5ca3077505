package pineconelocal

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/structpb"
)

// message reads and writes a message of the client by the names of its fields. The types themselves are in an
// internal package of the client. A name that the message doesn't have is a mistake in this package, and panics.
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
	fd := m.Descriptor().Fields().ByName(name)
	if fd == nil {
		panic(fmt.Sprintf("pineconelocal: %s has no field %s", m.Descriptor().FullName(), name))
	}
	return fd
}

func (m message) has(name protoreflect.Name) bool    { return m.Has(m.field(name)) }
func (m message) text(name protoreflect.Name) string { return m.Get(m.field(name)).String() }
func (m message) flag(name protoreflect.Name) bool   { return m.Get(m.field(name)).Bool() }
func (m message) count(name protoreflect.Name) int   { return int(m.Get(m.field(name)).Uint()) }

func (m message) sub(name protoreflect.Name) message {
	return message{m.Get(m.field(name)).Message()}
}

// object is the JSON object in a field, nil when the field is not set.
func (m message) object(name protoreflect.Name) *structpb.Struct {
	if !m.has(name) {
		return nil
	}
	return m.Get(m.field(name)).Message().Interface().(*structpb.Struct)
}

func (m message) texts(name protoreflect.Name) []string {
	return items(m, name, func(v protoreflect.Value) string { return v.String() })
}

func (m message) floats(name protoreflect.Name) []float32 {
	return items(m, name, func(v protoreflect.Value) float32 { return float32(v.Float()) })
}

func (m message) uints(name protoreflect.Name) []uint32 {
	return items(m, name, func(v protoreflect.Value) uint32 { return uint32(v.Uint()) })
}

func (m message) subs(name protoreflect.Name) []message {
	return items(m, name, func(v protoreflect.Value) message { return message{v.Message()} })
}

func items[T any](m message, name protoreflect.Name, read func(protoreflect.Value) T) []T {
	list := m.Get(m.field(name)).List()
	out := make([]T, list.Len())
	for i := range out {
		out[i] = read(list.Get(i))
	}
	return out
}

// set writes a scalar of exactly the field's Go type.
func (m message) set(name protoreflect.Name, v any) {
	m.Set(m.field(name), protoreflect.ValueOf(v))
}

// setObject shares v with the message: neither may change afterwards. A nil v leaves the field unset.
func (m message) setObject(name protoreflect.Name, v *structpb.Struct) {
	if v != nil {
		m.Set(m.field(name), protoreflect.ValueOfMessage(v.ProtoReflect()))
	}
}

func setItems[T any](m message, name protoreflect.Name, values []T) {
	if len(values) == 0 {
		return
	}
	list := m.Mutable(m.field(name)).List()
	for _, v := range values {
		list.Append(protoreflect.ValueOf(v))
	}
}

// open sets a message field, if it isn't yet, and returns its message.
func (m message) open(name protoreflect.Name) message {
	return message{m.Mutable(m.field(name)).Message()}
}

// add appends an empty message to a list.
func (m message) add(name protoreflect.Name) message {
	return message{m.Mutable(m.field(name)).List().AppendMutable().Message()}
}

// put adds an empty message to a map.
func (m message) put(name protoreflect.Name, key string) message {
	return message{m.Mutable(m.field(name)).Map().Mutable(protoreflect.ValueOfString(key).MapKey()).Message()}
}

// setReadUnits tells what the call cost.
func (m message) setReadUnits(n int) {
	m.open("usage").set("read_units", uint32(n))
}
