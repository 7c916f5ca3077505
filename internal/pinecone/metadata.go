package pinecone

import (
	"fmt"

	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// idField is the metadata field with the id of a vector that is stored under a hash.
const idField = "id"

// metadata turns a record's fields into the service's: strings, numbers, booleans and lists of strings.
func (s space) metadata(r vector.Record) (*structpb.Struct, error) {
	out := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(r.Metadata)+2)}
	for name, value := range r.Metadata {
		v, err := field(name, value)
		if err != nil {
			return nil, err
		}
		out.Fields[name] = v
	}
	if !plain(r.ID) {
		out.Fields[idField] = structpb.NewStringValue(r.ID)
	}
	if s.owner != "" {
		out.Fields[ownerField] = structpb.NewStringValue(s.owner)
	}
	return out, nil
}

func field(name string, value any) (*structpb.Value, error) {
	switch v := value.(type) {
	case string:
		return structpb.NewStringValue(v), nil
	case float64:
		return structpb.NewNumberValue(v), nil
	case bool:
		return structpb.NewBoolValue(v), nil
	case []string:
		return stringList(v), nil
	}
	return nil, fault.Wrap(fault.Internal, "encode metadata", fmt.Errorf("field %s has a value of type %T", name, value))
}

func stringList(values []string) *structpb.Value {
	list := &structpb.ListValue{Values: make([]*structpb.Value, len(values))}
	for i, v := range values {
		list.Values[i] = structpb.NewStringValue(v)
	}
	return structpb.NewListValue(list)
}

// operators are the service's names of the operators.
var operators = map[vector.Op]string{
	vector.All: "$and", vector.Any: "$or", vector.Equal: "$eq", vector.NotEqual: "$ne", vector.In: "$in",
	vector.NotIn: "$nin", vector.Above: "$gt", vector.AtLeast: "$gte", vector.Below: "$lt", vector.AtMost: "$lte",
}

// condition turns a filter into the service's form: {"$and": [...]}, or {"recordType": {"$in": [...]}}.
func condition(f vector.Filter) (*structpb.Struct, error) {
	if f.Op == vector.All || f.Op == vector.Any {
		list := &structpb.ListValue{}
		for _, part := range f.Of {
			c, err := condition(part)
			if err != nil {
				return nil, err
			}
			list.Values = append(list.Values, structpb.NewStructValue(c))
		}
		return object(operators[f.Op], structpb.NewListValue(list)), nil
	}
	v, err := field(f.Field, f.Value)
	if err != nil {
		return nil, err
	}
	return object(f.Field, structpb.NewStructValue(object(operators[f.Op], v))), nil
}

func object(name string, value *structpb.Value) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{name: value}}
}

// selected returns fields of a vector's metadata.
func selected(v *pinecone.Vector, fields []string) map[string]any {
	if len(fields) == 0 {
		return nil
	}
	out := make(map[string]any, len(fields))
	for _, name := range fields {
		if value := v.Metadata.GetFields()[name]; value != nil {
			out[name] = value.AsInterface()
		}
	}
	return out
}
