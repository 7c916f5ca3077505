package pineconelocal

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

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
	maxIDLength        = 512
	maxNamespaceLength = 512
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

// rejectFields answers Unimplemented when a field is set that this server has no use for, rather than ignoring it.
func rejectFields(in message, names ...protoreflect.Name) error {
	for _, name := range names {
		if in.has(name) {
			return status.Errorf(codes.Unimplemented, "%s.%s is not served locally", in.Descriptor().Name(), name)
		}
	}
	return nil
}

// checkReceived refuses a message that is too large for any method, as the service's transport does.
func checkReceived(size int) error {
	if size > maxRequestBytes {
		return status.Errorf(codes.OutOfRange,
			"Error, message length too large: found %d bytes, the limit is: %d bytes", size, maxRequestBytes)
	}
	return nil
}

func checkID(id string) error {
	switch {
	case id == "":
		return invalid("Vector ID must not be empty")
	case strings.ContainsRune(id, 0):
		return invalid("Vector ID must not contain null character")
	case !isASCII(id):
		return invalid("Vector ID must be ASCII, but got '%s'", id)
	case len(id) > maxIDLength:
		return invalid("Vector ID has %d characters, which exceeds the limit of %d", len(id), maxIDLength)
	}
	return nil
}

func checkNamespace(name string) error {
	if strings.ContainsRune(name, 0) || !isASCII(name) {
		return invalid("Namespace must be ASCII without null characters, but got '%s'", name)
	}
	if len(name) > maxNamespaceLength {
		return invalid("Namespace has %d characters, which exceeds the limit of %d", len(name), maxNamespaceLength)
	}
	return nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 127 })
}

// checkNamespaceName is checkNamespace for calls that don't take the default namespace by the empty name.
func checkNamespaceName(name string) error {
	if name == "" {
		return invalid("Namespace name must not be empty")
	}
	return checkNamespace(name)
}

func checkIDCount(n int) error {
	if n == 0 {
		return invalid("At least one ID must be given")
	}
	if n > maxIDs {
		return invalid("Request has %d IDs, which exceeds the limit of %d", n, maxIDs)
	}
	return nil
}

// checkDimension compares a dimension with that of the index, which is 0 when it has none yet.
func checkDimension(got, index int) error {
	if index == 0 && got == 0 {
		return invalid("Vector dimension 0 is not between 1 and %d", maxDimension)
	}
	if index != 0 && got != index {
		return invalid("Vector dimension %d does not match the dimension of the index %d", got, index)
	}
	if got > maxDimension {
		return invalid("Vector dimension %d is not between 1 and %d", got, maxDimension)
	}
	return nil
}

func checkFinite(values []float32) error {
	for _, v := range values {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			return invalid("Vector values must be finite numbers, got %v", v)
		}
	}
	return nil
}

// checkDense holds the rules for stored dense values, except their number.
func checkDense(id string, values []float32) error {
	if err := checkFinite(values); err != nil {
		return err
	}
	if len(values) > 0 && !slices.ContainsFunc(values, func(v float32) bool { return v != 0 }) {
		return invalid("Dense vectors must contain at least one non-zero value. Vector ID '%s' contains only zeros", id)
	}
	return nil
}

func checkSparse(s vector.Sparse) error {
	switch {
	case len(s.Indices) != len(s.Values):
		return invalid("Sparse vector has %d indices and %d values, they must be as many", len(s.Indices), len(s.Values))
	case len(s.Values) == 0:
		return invalid("Sparse vector must contain at least one value")
	case len(s.Values) > maxSparse:
		return invalid("Sparse vector has %d values, which exceeds the limit of %d", len(s.Values), maxSparse)
	}
	return checkFinite(s.Values)
}

// checkMetadata holds the rules for stored metadata: flat, no nulls, lists of strings only, at most 40 KB.
func checkMetadata(md *structpb.Struct) error {
	for name, v := range md.GetFields() {
		if name == "" || strings.HasPrefix(name, "$") {
			return invalid("Metadata field name '%s' must not be empty nor start with '$'", name)
		}
		if !storable(v) {
			return invalid("Metadata value must be a string, number, boolean or list of strings, got '%s' for field '%s'",
				excerpt(v, 16), name)
		}
	}
	if size := len(asJSON(md.AsMap())); size > maxMetadataBytes {
		return invalid("Metadata size is %d bytes, which exceeds the limit of %d bytes per vector", size, maxMetadataBytes)
	}
	return nil
}

func storable(v *structpb.Value) bool {
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue, *structpb.Value_BoolValue:
		return true
	case *structpb.Value_NumberValue:
		return !math.IsNaN(k.NumberValue) && !math.IsInf(k.NumberValue, 0)
	case *structpb.Value_ListValue:
		return allOf[*structpb.Value_StringValue](k.ListValue.GetValues())
	default:
		return false
	}
}

// allOf reports whether every value is of kind K.
func allOf[K any](values []*structpb.Value) bool {
	isOther := func(v *structpb.Value) bool { _, ok := v.GetKind().(K); return !ok }
	return !slices.ContainsFunc(values, isOther)
}

// excerpt returns v as JSON, cut after n bytes.
func excerpt(v *structpb.Value, n int) string {
	b := asJSON(v.AsInterface())
	if len(b) > n {
		return truncate.Bytes(string(b), n) + "..."
	}
	return string(b)
}

// asJSON encodes what structpb returns for a value. It can't fail: structpb turns infinite numbers into strings.
func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
