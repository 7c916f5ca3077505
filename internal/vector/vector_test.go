package vector_test

import (
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

func TestUnion(t *testing.T) {
	t.Parallel()
	var got []string
	for _, m := range vector.Union([]vector.Match{{ID: "b"}, {ID: "a"}}, nil, []vector.Match{{ID: "c"}, {ID: "b"}}) {
		got = append(got, m.ID)
	}
	check.Same(t, []string{"b", "a", "c"}, got, "ids")
}
