package pinecone

import (
	"github.com/pinecone-io/go-pinecone/v5/pinecone"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/throughline/throughline/internal/fault"
	"github.com/throughline/throughline/internal/vector"
)

// idField is the metadata field with the id of a vector that is stored under a hash.
const idField = "id"

// metadata turns a record's fields into the service's: strings, numbers, booleans and lists of strings.
func (s space) metadata(r vector.Record) (*structpb.Struct, error) {
	fields := make(map[string]any, len(r.Metadata)+2)
	for name, value := range r.Metadata {
		fields[name] = listed(value)
	}
	if !plain(r.ID) {
		fields[idField] = r.ID
	}
	if s.owner != "" {
		fields[ownerField] = s.owner
	}
	return encoded(fields)
}

func encoded(fields map[string]any) (*structpb.Struct, error) {
	out, err := structpb.NewStruct(fields)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "encode metadata", err)
	}
	return out, nil
}

// listed returns a value in which a list of strings is one that structpb takes.
func listed(value any) any {
	texts, ok := value.([]string)
	if !ok {
		return value
	}
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// operators are the service's names of the operators.
var operators = map[vector.Op]string{
	vector.All: "$and", vector.Any: "$or", vector.Equal: "$eq", vector.NotEqual: "$ne", vector.In: "$in",
	vector.NotIn: "$nin", vector.Above: "$gt", vector.AtLeast: "$gte", vector.Below: "$lt", vector.AtMost: "$lte",
}

// condition turns a filter into the service's form: {"$and": [...]}, or {"recordType": {"$in": [...]}}.
func condition(f vector.Filter) map[string]any {
	if f.Op != vector.All && f.Op != vector.Any {
		return map[string]any{f.Field: map[string]any{operators[f.Op]: listed(f.Value)}}
	}
	parts := make([]any, len(f.Of))
	for i, part := range f.Of {
		parts[i] = condition(part)
	}
	return map[string]any{operators[f.Op]: parts}
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
