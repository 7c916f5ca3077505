package rank_test

import (
	"testing"

	"github.com/throughline/throughline/internal/recall/rank"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"unknown feature": `{"features":{"beauty":1}}`, "unknown field": `{"weights":{}}`, "no JSON": `x`,
	} {
		if _, err := rank.Parse([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if w := rank.Default(); w.Date == "" || w.Data == "" || len(w.Features) == 0 || w.Noise <= 0 {
		t.Errorf("the weights that ship lack something: %+v", w)
	}
}
