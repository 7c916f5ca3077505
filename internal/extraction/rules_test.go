package extraction

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/throughline/throughline/internal/token"
)

// TestRulesAreShort counts the fixed part of a request, in tokens of o200k.
func TestRulesAreShort(t *testing.T) {
	t.Parallel()
	counter := token.New()
	var form bytes.Buffer
	if err := json.Compact(&form, schema().JSON); err != nil {
		t.Fatal(err)
	}
	n, ofForm := counter.Count(rules()), counter.Count(form.String())
	t.Logf("the rules have %d tokens, the form of the answer %d", n, ofForm)
	if n > 900 || n+ofForm > 1400 {
		t.Errorf("the rules have %d tokens, the form of the answer %d", n, ofForm)
	}
	if rules() != rules() || !bytes.Equal(schema().JSON, schema().JSON) {
		t.Error("the fixed part differs from request to request")
	}
}
