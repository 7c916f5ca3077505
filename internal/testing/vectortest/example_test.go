package vectortest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/pineconetest"
	"github.com/throughline/throughline/internal/testing/vectortest"
	"github.com/throughline/throughline/internal/vector"
)

// The worked example of docs/extending.md. TestExtending compares the two.

// New returns the indexes of a stage that has one.
func New(index vector.Index, model vector.Model) vector.Indexes {
	return vector.Indexes{Serving: vector.Held{Index: index, Model: model}}
}

// where turns a filter into a condition on the column metadata, of the type jsonb, and its arguments.
func where(f vector.Filter) (condition string, arguments []any) {
	signs := map[vector.Op]string{vector.Above: ">", vector.AtLeast: ">=", vector.Below: "<", vector.AtMost: "<="}
	switch f.Op {
	case "":
		return "true", nil
	case vector.All:
		return join(" AND ", f.Of)
	case vector.Any:
		return join(" OR ", f.Of)
	case vector.Equal: // of a list, one item
		return "metadata -> ? @> to_jsonb(?)", []any{f.Field, f.Value}
	case vector.In:
		var each []vector.Filter
		for _, value := range f.Value.([]string) {
			each = append(each, vector.Where(f.Field, vector.Equal, value))
		}
		return join(" OR ", each)
	case vector.NotEqual, vector.NotIn: // also without the field
		opposite := map[vector.Op]vector.Op{vector.NotEqual: vector.Equal, vector.NotIn: vector.In}
		condition, arguments = where(vector.Where(f.Field, opposite[f.Op], f.Value))
		return "(" + condition + ") IS NOT TRUE", arguments
	}
	return "(metadata -> ?)::float8 " + signs[f.Op] + " ?", []any{f.Field, f.Value}
}

func join(word string, filters []vector.Filter) (condition string, arguments []any) {
	parts := make([]string, len(filters))
	for i, f := range filters {
		part, more := where(f)
		parts[i], arguments = "("+part+")", append(arguments, more...)
	}
	return strings.Join(parts, word), arguments
}

// TestExtending checks that the code of docs/extending.md is the one above, and that it translates every operator.
func TestExtending(t *testing.T) {
	t.Parallel()
	page, source := readFile(t, "..", "..", "..", "docs", "extending.md"), readFile(t, "example_test.go")
	for _, begin := range []string{"// New returns", "// where turns", "func TestConforms("} {
		_, example, _ := strings.Cut(page, "```go\n"+begin)
		example, _, found := strings.Cut(example, "```")
		if !found || !strings.Contains(source, begin+example) {
			t.Errorf("docs/extending.md and example_test.go differ in what begins with %q", begin)
		}
	}
	condition, arguments := where(vector.AllOf(
		vector.Where("recordType", vector.NotIn, []string{"message", "memory"}),
		vector.AnyOf(vector.Where("sessionId", vector.NotEqual, "s"), vector.Where("timestamp", vector.AtLeast, 5.0)),
	))
	const want = "(((metadata -> ? @> to_jsonb(?)) OR (metadata -> ? @> to_jsonb(?))) IS NOT TRUE) AND " +
		"(((metadata -> ? @> to_jsonb(?)) IS NOT TRUE) OR ((metadata -> ?)::float8 >= ?))"
	check.Same(t, want, condition, "condition")
	all := []any{"recordType", "message", "recordType", "memory", "sessionId", "s", "timestamp", 5.0}
	check.Same(t, all, arguments, "arguments")
	indexes := New(pineconetest.Client(t, vectortest.Dimensions), vector.Model{})
	records := []vector.Record{{ID: "m", Dense: []float32{1, 0}}}
	if err := indexes.Serving.Upsert(t.Context(), "ann", 0, records); err != nil || indexes.Source() != "pinecone" {
		t.Errorf("the indexes of a stage that has one: %v", err)
	}
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text := check.Got(os.ReadFile(filepath.Join(path...)))(t)
	return string(text)
}

func TestConforms(t *testing.T) {
	t.Parallel()
	vectortest.Run(t, func(t *testing.T) vector.Index { return pineconetest.Client(t, vectortest.Dimensions) })
}
