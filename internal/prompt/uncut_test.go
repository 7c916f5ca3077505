package prompt_test

import (
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/prompt"
)

// A summary whose tags alone fill what is left of its section can't be cut: it is dropped whole, and the manifest names
// all that it would have taken.
func TestWhatCannotBeCutIsDroppedWhole(t *testing.T) {
	w := newWorld()
	r := japanTraveller(w, true)
	r.Recipe = prompt.ContextFormat05
	hits := w.user("u").hits
	hits[0].Summary.Text = strings.Repeat("word ", 255)
	hits[1].Summary.Text = strings.Repeat("kirschblütenwanderwege klosterübernachtungen teezeremonienschulen ", 12)
	item := itemOf(t, build(t, w.service(now), "u", r), "session_summaries", "trip2")
	if item.Decision != prompt.Dropped || item.Tokens < tokens.Count(hits[1].Summary.Text) {
		t.Errorf("item %+v of %d tokens", item, tokens.Count(hits[1].Summary.Text))
	}
}
