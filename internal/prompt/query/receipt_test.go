package query_test

import (
	"testing"

	"github.com/throughline/throughline/internal/prompt/query"
)

func TestIsReceipt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Noted.": true, "Ok, thanks!": true, "Got it \U0001F44D": true, "Alles klar, danke": true, "Vale, gracias": true,
		"Thank you very much": true, "Yes": true, "Noted: no peanuts.": false, "Ok, 3 sets": false, "No": false, "": false,
		"ok ok ok ok ok ok ok": false, "Done with the squats": false, "\U0001F44D": false,
	} {
		if got := query.IsReceipt(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
