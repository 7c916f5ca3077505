package prompt_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/prompt"
)

// byteCounter counts a token for each byte, so that the needs below can be added up by hand: a line takes its bytes and
// a line feed, a block one more.
type byteCounter struct{}

func (byteCounter) Count(text string) int { return len(text) }

// TestPack packs blocks of a few lines into budgets and caps that just hold them, or just don't.
func TestPack(t *testing.T) {
	t.Parallel()
	const ten, line = "0123456789", "0123456789\n"
	long := strings.Repeat("x", 100)
	lines := func(texts ...string) []prompt.Candidate {
		var candidates []prompt.Candidate
		for _, text := range texts {
			candidates = append(candidates, prompt.Candidate{Text: text})
		}
		return candidates
	}
	slot := func(limit prompt.Cap) prompt.Slot { return prompt.Slot{Style: prompt.Prose, Cap: limit} }
	none := prompt.Slot{Style: prompt.Prose, Empty: "nothing"}
	for name, tt := range map[string]struct {
		budget int
		blocks []prompt.Packing
		want   []string
	}{
		"the budget just holds it": {12, []prompt.Packing{{slot(prompt.Cap{}), lines(ten)}}, []string{line}},
		"the budget lacks one":     {11, []prompt.Packing{{slot(prompt.Cap{}), lines(ten)}}, []string{""}},
		"the cap just holds it": {
			99,
			[]prompt.Packing{{slot(prompt.Cap{Tokens: 12}), lines(ten, ten)}},
			[]string{line},
		},
		"the cap lacks one":    {99, []prompt.Packing{{slot(prompt.Cap{Tokens: 11}), lines(ten)}}, []string{""}},
		"only shortened if so": {99, []prompt.Packing{{slot(prompt.Cap{Tokens: 40}), lines(long)}}, []string{""}},
		"the least part": {
			25,
			[]prompt.Packing{{slot(prompt.Cap{Shorten: true}), lines(long)}},
			[]string{strings.Repeat("x", 19) + "…\n"},
		},
		"a long part": {
			199,
			[]prompt.Packing{{slot(prompt.Cap{Shorten: true}), lines(long + long + long)}},
			[]string{strings.Repeat("x", 176) + "…\n"},
		},
		"less than the least part": {
			24,
			[]prompt.Packing{{slot(prompt.Cap{Shorten: true}), lines(long)}},
			[]string{""},
		},
		"no part is the ellipsis alone": {
			25, []prompt.Packing{{
				prompt.Slot{Style: prompt.Attributed, Cap: prompt.Cap{Shorten: true}},
				[]prompt.Candidate{{Text: long, Label: strings.Repeat("l", 17)}},
			}}, []string{""},
		},
		"a guarded text takes its backslash": {
			len(long+"\n# x\n") + 1,
			[]prompt.Packing{{slot(prompt.Cap{}), lines(long + "\n# x")}},
			[]string{""},
		},
		"a cut message is not told whole": {
			999, []prompt.Packing{
				{slot(prompt.Cap{Tokens: 50, Shorten: true}), []prompt.Candidate{{Text: long, Message: true}}},
				{slot(prompt.Cap{}), []prompt.Candidate{{Text: ten, Replaces: 1}}},
			}, []string{strings.Repeat("x", 42) + "…\n", line},
		},
		"a message that is told whole": {
			999, []prompt.Packing{
				{slot(prompt.Cap{}), []prompt.Candidate{{Text: long, Message: true}}},
				{slot(prompt.Cap{}), []prompt.Candidate{{Text: ten, Replaces: 1}}},
			}, []string{long + "\n", ""},
		},
		"nothing to tell": {99, []prompt.Packing{{none, nil}}, []string{"nothing\n"}},
		"nothing but what was dropped before": {
			99,
			[]prompt.Packing{{none, []prompt.Candidate{{Text: ten, Dropped: true}}}},
			[]string{"nothing\n"},
		},
		"nothing, in a full prompt": {
			20,
			[]prompt.Packing{{slot(prompt.Cap{}), lines(long)}, {none, nil}},
			[]string{"", ""},
		},
		"nothing does not fit": {
			8,
			[]prompt.Packing{{none, nil}, {slot(prompt.Cap{}), lines("x")}},
			[]string{"", ""},
		},
		"the rest": {
			34,
			[]prompt.Packing{{slot(prompt.Cap{Tokens: 12, FillRest: true}), lines(ten, ten, ten)}},
			[]string{line + line + line},
		},
		"no rest in a full prompt": {
			99,
			[]prompt.Packing{
				{slot(prompt.Cap{Tokens: 12, FillRest: true}), lines(ten, ten)},
				{slot(prompt.Cap{}), lines(long)},
			},
			[]string{line, ""},
		},
		"a rest that says nothing": {
			99,
			[]prompt.Packing{{slot(prompt.Cap{Tokens: 12, FillRest: true}), lines(ten, ten, "\u200b", ten)}},
			[]string{line + line + line},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := prompt.Pack(byteCounter{}, tt.budget, tt.blocks)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
