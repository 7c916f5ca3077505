package pineconelocal

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/throughline/throughline/internal/truncate"
	"github.com/throughline/throughline/internal/vector"
)

// The service's documented limits ("Pinecone Database limits").
const (
	maxDimension       = 20_000
	maxSparse          = 2_048
	maxUpsertVectors   = 1_000
	maxUpsertBytes     = 2 << 20
	maxRequestBytes    = 4 << 20
	maxResultBytes     = 4 << 20
	maxIDs             = 1_000
	maxName            = 512 // of an id and of a namespace
	maxMetadataBytes   = 40 << 10
	maxTopK            = 10_000
	maxTopKWithContent = 1_000
	maxListLimit       = 100
	maxFilterValues    = 10_000
)

// maxReceived is the transport's limit. It is higher than maxRequestBytes, so that an oversized request gets the
// service's own answer.
const maxReceived = 64 << 20

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

// require returns an error with a text unless a condition holds.
func require(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return invalid(format, args...)
}

// checkName holds the rules for ids and namespaces.
func checkName(what, name string) error {
	return cmp.Or(
		require(!strings.ContainsFunc(name, func(r rune) bool { return r == 0 || r > 127 }),
			"%s must be ASCII without null characters, but got '%s'", what, name),
		require(len(name) <= maxName, "%s has %d characters, which exceeds the limit of %d", what, len(name), maxName))
}

func checkNamespace(in message) error { return checkName("Namespace", in.text("namespace")) }

func readIDs(in message) ([]string, error) {
	ids := in.texts("ids")
	return ids, cmp.Or(checkNamespace(in), require(len(ids) > 0, "At least one ID must be given"),
		require(len(ids) <= maxIDs, "Request has %d IDs, which exceeds the limit of %d", len(ids), maxIDs))
}

func checkUpsert(in message) error {
	vectors, size := len(in.messages("vectors")), proto.Size(in.Interface())
	return cmp.Or(checkNamespace(in), require(vectors > 0, "At least one vector must be given"),
		require(vectors <= maxUpsertVectors, "Request has %d vectors, which exceeds the limit of %d", vectors,
			maxUpsertVectors),
		require(size <= maxUpsertBytes, "Request size %dMB exceeds the maximum supported size of %dMB",
			(size+1<<20-1)>>20, maxUpsertBytes>>20))
}

// checkDimension compares a dimension with that of the index, which is 0 when it has none yet.
func checkDimension(got, index int) error {
	return cmp.Or(
		require(index == 0 || got == index, "Vector dimension %d does not match the dimension of the index %d", got, index),
		require(got >= 1 && got <= maxDimension, "Vector dimension %d is not between 1 and %d", got, maxDimension))
}

func checkFinite(values []float32) error {
	for _, v := range values {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return invalid("Vector values must be finite numbers, got %v", v)
		}
	}
	return nil
}

// checkRecord holds the rules for stored records, except the dimension.
func checkRecord(r *record) error {
	hasValue := slices.ContainsFunc(r.dense, func(v float32) bool { return v != 0 })
	return cmp.Or(require(r.id != "", "Vector ID must not be empty"), checkName("Vector ID", r.id), checkFinite(r.dense),
		require(hasValue || len(r.dense) == 0,
			"Dense vectors must contain at least one non-zero value. Vector ID '%s' contains only zeros", r.id),
		checkMetadata(r.fields))
}

// readSparse reads a field of type SparseValues, whose indices have to ascend; an unset field has none.
func readSparse(m message, name protoreflect.Name) (s vector.Sparse, err error) {
	if !m.has(name) {
		return s, nil
	}
	of := message{m.Get(m.field(name)).Message()}
	s.Values = of.floats("values")
	s.Indices = list(of, "indices", func(v protoreflect.Value) uint32 { return uint32(v.Uint()) })
	indices, values := len(s.Indices), len(s.Values)
	ascend := len(slices.Compact(slices.Clone(s.Indices))) == indices && slices.IsSorted(s.Indices)
	return s, cmp.Or(
		require(indices == values, "Sparse vector has %d indices and %d values, they must be as many", indices, values),
		require(values > 0, "Sparse vector must contain at least one value"),
		require(values <= maxSparse, "Sparse vector has %d values, which exceeds the limit of %d", values, maxSparse),
		require(ascend, "Sparse vector indices must ascend"), checkFinite(s.Values))
}

// checkMetadata holds the rules for stored metadata: flat, no nulls, lists of strings only, at most 40 KB.
func checkMetadata(fields map[string]any) error {
	for name, v := range fields {
		items, isList := v.([]any)
		err := cmp.Or(
			require(name != "" && name[0] != '$', "Metadata field name '%s' must not be empty nor start with '$'", name),
			require(isScalar(v) || isList && allOf[string](items),
				"Metadata value must be a string, number, boolean or list of strings, got '%s' for field '%s'", quote{v}, name))
		if err != nil {
			return err
		}
	}
	size := len(asJSON(fields))
	return require(size <= maxMetadataBytes, "Metadata size is %d bytes, which exceeds the limit of %d bytes per vector",
		size, maxMetadataBytes)
}

// quote is a value as error messages quote it.
type quote struct{ value any }

// String returns the beginning of the value's JSON.
func (q quote) String() string {
	const most = 200
	return truncate.Bytes(string(asJSON(q.value)), most)
}

// asJSON encodes what structpb returns for a value. It can't fail: structpb turns infinite numbers into strings.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
