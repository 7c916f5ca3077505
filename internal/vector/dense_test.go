package vector_test

import (
	"encoding/json"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/vector"
)

func TestDenseCrossesAsText(t *testing.T) {
	t.Parallel()
	finite := func(v float32) bool { return v-v == 0 }
	rapid.Check(t, func(t *rapid.T) {
		want := vector.Dense(rapid.SliceOf(rapid.Float32().Filter(finite)).Draw(t, "vector"))
		text := check.Got(json.Marshal(want))(t)
		var got vector.Dense
		if err := json.Unmarshal(text, &got); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%v became %v, %v", want, got, err)
		}
	})
	if text, err := json.Marshal(make(vector.Dense, 1536)); err != nil || len(text) != 8192+2 {
		t.Errorf("1,536 dimensions take %d bytes, %v", len(text), err)
	}
}

func TestDenseRefusesWhatIsNoVector(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no base64": `"?"`, "half a value": `"AAA="`, "not a number": `"AADAfw=="`, "infinite": `"AACAfw=="`,
		"numbers": `[1]`,
	} {
		var got vector.Dense
		if err := json.Unmarshal([]byte(text), &got); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
