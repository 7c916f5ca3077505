package conversation_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/conversation"
	"github.com/throughline/throughline/internal/testing/check"
)

func TestPrepareDocument(t *testing.T) {
	t.Parallel()
	type word string
	in := map[string]any{
		"int": 3, "uint": uint8(4), "float": float32(0.5), "json": json.Number("1e3"), "word": word("w"),
		"list": []any{nil, true, []string{"a"}}, "map": map[string]any{"": 1},
	}
	got, wrong := conversation.PrepareDocument("m", in, 1000)
	if len(wrong) != 1 || wrong[0].Field != "m.map" {
		t.Errorf("wrong fields: %v", wrong)
	}
	want := map[string]any{
		"int": 3.0, "uint": 4.0, "float": 0.5, "json": 1000.0, "word": "w",
		"list": []any{nil, true, []any{"a"}}, "map": map[string]any{},
	}
	check.Same(t, want, got, "the result")
	if got, wrong := conversation.PrepareDocument("m", nil, 0); got != nil || wrong != nil {
		t.Errorf("a nil document becomes %v, %v", got, wrong)
	}
}

func TestInvalidDocuments(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range 20000 {
		deep = []any{deep}
	}
	names := map[string]any{}
	for _, letter := range "abcd" {
		names[strings.Repeat(string(letter), 250)] = nil
	}
	wide := map[string]any{}
	for i := range 50 {
		wide[strings.Repeat("y", i+1)] = math.NaN()
	}
	for name, v := range map[string]any{
		"nan": math.NaN(), "infinite": math.Inf(1), "large": 1e126, "small": 1e-131, "number": json.Number("x"),
		"bytes": "\xff", "channel": make(chan int), "struct": struct{}{}, "deep": deep, "long": strings.Repeat("x", 2000),
		"name": map[string]any{strings.Repeat("n", 256): 1}, "broken name": map[string]any{"\xff": 1},
		"wide": wide, "names": names,
	} {
		if _, wrong := conversation.PrepareDocument("m", map[string]any{"v": v}, 1000); len(wrong) == 0 || len(wrong) > 20 {
			t.Errorf("%s: %d wrong fields", name, len(wrong))
		}
	}
}
