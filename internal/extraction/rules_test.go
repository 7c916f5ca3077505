package extraction

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/registry"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/token"
)

// TestRulesAreShort counts the fixed part of a request, in tokens of o200k.
func TestRulesAreShort(t *testing.T) {
	t.Parallel()
	counter := token.New()
	var form bytes.Buffer
	check.OK(t, json.Compact(&form, schema().JSON))
	n, ofForm := counter.Count(rules()), counter.Count(form.String())
	t.Logf("the rules have %d tokens, the form of the answer %d", n, ofForm)
	if n > 900 || n+ofForm > 1400 {
		t.Errorf("the rules have %d tokens, the form of the answer %d", n, ofForm)
	}
	first, again := rules()+string(schema().JSON), rules()+string(schema().JSON)
	if first != again {
		t.Error("the fixed part differs from request to request")
	}
}

// TestRulesForOlderLines says what a model is told of a line that is older than what is known. Which of the two stays
// is not its business (medicine_replaced_before_the_line_is_read.txtar).
func TestRulesForOlderLines(t *testing.T) {
	t.Parallel()
	_, supersedes, _ := strings.Cut(rules(), "- supersedes: ")
	of, _, _ := strings.Cut(supersedes, "\n\n")
	if want := "what was said later than the line and has replaced it"; !strings.Contains(of, want) {
		t.Errorf("of what a fact supersedes the rules do not have %q:\n%s", want, of)
	}
}

// TestAppRules reads what an app adds to the rules. Without it nothing is added.
func TestAppRules(t *testing.T) {
	t.Parallel()
	check.Equal(t, "", appRules(&registry.App{}), "an app without wishes adds")
	got := appRules(&registry.App{
		Note: []string{"the seat that the user likes"}, Ignore: []string{"fares"},
		Examples: []registry.Example{
			{User: "Aisle, please.", Notes: []string{"The user likes the aisle."}}, {User: "Thanks!"},
		},
	})
	want := `
This app also notes:
- the seat that the user likes

This app never notes:
- fares

Examples, with what is noted of each:
- "Aisle, please.": The user likes the aisle.
- "Thanks!": nothing
`
	if got != want {
		t.Errorf("the app adds %q, want %q", got, want)
	}
}
