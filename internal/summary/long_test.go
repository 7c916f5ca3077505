package summary_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/throughline/throughline/internal/conversation"
)

// TestOneLongMessageEmptiesNoSummary has a message of the largest size, words or data, at each place among small ones:
// the model reads the small ones, and something of the long one, and the summary covers all.
func TestOneLongMessageEmptiesNoSummary(t *testing.T) {
	t.Parallel()
	for name, long := range map[string]string{"words": "word ", "data": "aGVsbG8/+="} {
		long = "the long one " + strings.Repeat(long, conversation.MaxContentBytes/len(long)-10)
		for place := range 3 {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				for i, small := range []string{"the first", "the second", "the third"} {
					if i == place {
						f.say("s", long)
					}
					f.say("s", small)
				}
				consume(t, f.service(), f.complete("s"))
				_ = f.sweep(t, f.service())
				read := strings.Join(f.prompts, "\n")
				for _, want := range []string{"the first", "the second", "the third", "the long one"} {
					if !strings.Contains(read, want) {
						t.Errorf("%s, place %d: the model does not read %q", name, place, want)
					}
				}
				if s := f.session("s"); s.Summarized.Seq != 4 || len(read) > 40_000 {
					t.Errorf("%s, place %d: summarised through %d with %d bytes", name, place, s.Summarized.Seq, len(read))
				}
			})
		}
	}
}
