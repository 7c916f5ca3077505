package word_test

import (
	"testing"

	"github.com/throughline/throughline/internal/word"
)

// TestHasContent reads messages that search need not find.
func TestHasContent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"ok": false, "thanks!": false, "\U0001F44D": false, "...": false, "": false, "好的,谢谢!": false, "ठीक है": false,
		"No": true, "Yeah": true, "42": true, "Ok, 3 sets": true, "Mia \U0001F476": true, "膝": true,
		"Danke, bis Dienstag": true,
	} {
		if got := word.HasContent(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestIsReceipt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Noted.": true, "Ok, thanks!": true, "Got it \U0001F44D": true, "Alles klar, danke": true, "Vale, gracias": true,
		"Thank you very much": true, "Yes": true, "Noted: no peanuts.": false, "Ok, 3 sets": false, "No": false, "": false,
		"ok ok ok ok ok ok ok": false, "Done with the squats": false, "\U0001F44D": false,
	} {
		if got := word.IsReceipt(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
