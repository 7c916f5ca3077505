package throughline

import "encoding/json"

// Nullable is a field of a change: not given, which keeps what is stored; a value; or null, which removes it. The zero
// value is not given.
type Nullable[T any] struct {
	value *T
	given bool
}

// Set returns a field with a value.
func Set[T any](value T) Nullable[T] { return Nullable[T]{value: &value, given: true} }

// Null returns a field that is null.
func Null[T any]() Nullable[T] { return Nullable[T]{given: true} }

// IsZero reports whether the field is not given.
func (n Nullable[T]) IsZero() bool { return !n.given }

// MarshalJSON returns the value or null.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// UnmarshalJSON reads a value or null.
func (n *Nullable[T]) UnmarshalJSON(text []byte) error {
	n.given = true
	return json.Unmarshal(text, &n.value)
}

// Ptr returns a pointer to a value, for a field that may be absent.
func Ptr[T any](value T) *T { return &value }
