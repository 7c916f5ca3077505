package pack_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/prompt/block"
	"github.com/throughline/throughline/internal/prompt/choose"
	"github.com/throughline/throughline/internal/prompt/pack"
	"github.com/throughline/throughline/internal/prompt/render"
)

// byteCounter counts a token for each byte, so that the needs below can be added up by hand: a line takes its bytes and
// a line feed, a block one more.
type byteCounter struct{}

func (byteCounter) Count(text string) int { return len(text) }

// layout is how a block is packed and written, by default as prose.
type layout struct {
	pack.Slot
	style *render.Style
	empty string
}

// packing is a block to be packed.
type packing struct {
	layout     layout
	candidates []choose.Candidate
}

// packBlocks packs blocks within a budget, of whose tokens the standing ones may have half. It returns the text of each
// block, empty if the prompt does not have it.
func packBlocks(budget pack.Cost, packings []packing) ([]string, error) {
	plan := pack.Plan{Budget: budget, Standing: 50}
	blocks := make([]choose.Block, len(packings))
	slots := make([]render.Slot, len(packings))
	for i, from := range packings {
		name := cmp.Or(from.layout.Block, fmt.Sprint("block ", i))
		blocks[i].Name, from.layout.Block = name, name
		plan.Slots = append(plan.Slots, from.layout.Slot)
		slots[i] = render.Slot{Block: name, Style: cmp.Or(from.layout.style, render.Prose), Empty: from.layout.empty}
		for _, c := range from.candidates {
			c.Tokens = len(c.Text)
			blocks[i].Candidates = append(blocks[i].Candidates, &c)
		}
	}
	renderer := render.New(render.Markdown, slots, time.UTC, byteCounter{}, &render.Constants{})
	packed, err := pack.Pack(blocks, plan, renderer)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(packings))
	for i, b := range packed.Blocks {
		if b.Started {
			texts[i] = renderer.Write(pack.Packing{Blocks: []*pack.Block{b}}).System + "\n"
		}
	}
	return texts, nil
}

// TestPack packs blocks of a few lines into budgets and caps that just hold them, or just don't.
func TestPack(t *testing.T) {
	t.Parallel()
	const ten, line = "0123456789", "0123456789\n"
	long := strings.Repeat("x", 100)
	lines := func(texts ...string) []choose.Candidate {
		var candidates []choose.Candidate
		for _, text := range texts {
			candidates = append(candidates, choose.Candidate{Text: text})
		}
		return candidates
	}
	none := layout{empty: "nothing"}
	for name, tt := range map[string]struct {
		budget int
		blocks []packing
		want   []string
	}{
		"the budget just holds it": {12, []packing{{layout{}, lines(ten)}}, []string{line}},
		"the session's messages have their place in the order of value": {
			12,
			[]packing{{layout{}, lines(ten)}, {layout{Slot: pack.Slot{Block: block.Recent}}, lines(ten)}},
			[]string{line, ""},
		},
		"half is kept for what was found": {
			48,
			[]packing{{layout{}, lines(ten, ten, ten, ten)}, {layout{Slot: pack.Slot{Relevant: true}}, lines(ten, ten)}},
			[]string{line + line, line + line},
		},
		"half of what the session's messages leave": {
			60,
			[]packing{
				{layout{Slot: pack.Slot{Block: block.Recent}}, lines(ten)},
				{layout{}, lines(ten, ten, ten, ten)},
				{layout{Slot: pack.Slot{Relevant: true}}, lines(ten, ten)},
			},
			[]string{line, line + line, line + line},
		},
		"no more is kept than was found": {
			59,
			[]packing{{layout{}, lines(ten, ten, ten, ten)}, {layout{Slot: pack.Slot{Relevant: true}}, lines("0")}},
			[]string{line + line + line + line, "0\n"},
		},
		"standing blocks share their part": {
			48,
			[]packing{
				{layout{Slot: pack.Slot{Standing: true}}, lines(ten, long)},
				{layout{Slot: pack.Slot{Standing: true}}, lines(ten, "0")},
			},
			[]string{line, line},
		},
		"the budget lacks one": {11, []packing{{layout{}, lines(ten)}}, []string{""}},
		"the cap just holds it": {
			99,
			[]packing{{layout{Slot: pack.Slot{Tokens: 12}}, lines(ten, ten)}},
			[]string{line},
		},
		"the cap lacks one":    {99, []packing{{layout{Slot: pack.Slot{Tokens: 11}}, lines(ten)}}, []string{""}},
		"only shortened if so": {99, []packing{{layout{Slot: pack.Slot{Tokens: 40}}, lines(long)}}, []string{""}},
		"the least part": {
			25,
			[]packing{{layout{Slot: pack.Slot{Shorten: true}}, lines(long)}},
			[]string{strings.Repeat("x", 19) + "…\n"},
		},
		"a long part": {
			199,
			[]packing{{layout{Slot: pack.Slot{Shorten: true}}, lines(long + long + long)}},
			[]string{strings.Repeat("x", 176) + "…\n"},
		},
		"less than the least part": {
			24,
			[]packing{{layout{Slot: pack.Slot{Shorten: true}}, lines(long)}},
			[]string{""},
		},
		"no part is the ellipsis alone": {
			25, []packing{{
				layout{Slot: pack.Slot{Shorten: true}, style: render.Attributed},
				[]choose.Candidate{{Text: long, Label: strings.Repeat("l", 17)}},
			}}, []string{""},
		},
		"a guarded text takes its backslash": {
			len(long+"\n# x\n") + 1,
			[]packing{{layout{}, lines(long + "\n# x")}},
			[]string{""},
		},
		"a cut message is not in the prompt whole": {
			999, []packing{
				{layout{Slot: pack.Slot{Tokens: 50, Shorten: true}}, []choose.Candidate{{Text: long, Kind: choose.KindMessage}}},
				{layout{}, []choose.Candidate{{Text: ten, Replaces: 1}}},
			}, []string{strings.Repeat("x", 42) + "…\n", line},
		},
		"a message that is in the prompt whole": {
			999, []packing{
				{layout{}, []choose.Candidate{{Text: long, Kind: choose.KindMessage}}},
				{layout{}, []choose.Candidate{{Text: ten, Replaces: 1}}},
			}, []string{long + "\n", ""},
		},
		"protected items behind one that does not fit": {
			60, []packing{{
				layout{Slot: pack.Slot{Protected: true, Shorten: true}}, lines(ten, ten, ten, ten, ten, "0123456789ab", "0"),
			}}, []string{line + line + line + line + line + "0\n"},
		},
		"a protected item is cut to a quarter": {
			200,
			[]packing{{layout{Slot: pack.Slot{Protected: true, Shorten: true}}, lines(long+long+long, ten)}},
			[]string{strings.Repeat("x", 42) + "…\n" + line},
		},
		"nothing to tell": {99, []packing{{none, nil}}, []string{"nothing\n"}},
		"nothing but what was dropped before": {
			99,
			[]packing{{none, []choose.Candidate{{Text: ten, Left: "by its selector"}}}},
			[]string{"nothing\n"},
		},
		"nothing, in a full prompt": {
			46,
			[]packing{{layout{}, lines(ten, ten, ten, ten, ten)}, {none, nil}},
			[]string{line + line + line + line, ""},
		},
		"one long thing, and what is less valuable": {
			99,
			[]packing{{layout{}, lines(ten, long, ten)}, {layout{}, lines(ten)}},
			[]string{line + line, line},
		},
		"a long message is cut to a quarter": {
			120, []packing{
				{layout{Slot: pack.Slot{Shorten: true}}, []choose.Candidate{{Text: long, Kind: choose.KindMessage}}},
				{layout{}, lines(ten)},
			}, []string{strings.Repeat("x", 24) + "…\n", line},
		},
		"nothing does not fit": {
			8,
			[]packing{{none, nil}, {layout{}, lines("x")}},
			[]string{"", ""},
		},
		"the rest": {
			34,
			[]packing{{layout{Slot: pack.Slot{Tokens: 12, FillRest: true}}, lines(ten, ten, ten)}},
			[]string{line + line + line},
		},
		"no rest in a full prompt": {
			45,
			[]packing{
				{layout{Slot: pack.Slot{Tokens: 12, FillRest: true}}, lines(ten, ten)},
				{layout{}, lines(ten, ten, ten)},
			},
			[]string{line, line + line},
		},
		"a rest that says nothing": {
			99,
			[]packing{{layout{Slot: pack.Slot{Tokens: 12, FillRest: true}}, lines(ten, ten, "\u200b", ten)}},
			[]string{line + line + line},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := packBlocks(pack.Cost{Tokens: tt.budget}, tt.blocks)
			if diff := gocmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestPackCharacters cuts a protected item to what a budget has of characters.
func TestPackCharacters(t *testing.T) {
	t.Parallel()
	blocks := []packing{{
		layout{Slot: pack.Slot{Protected: true, Shorten: true}},
		[]choose.Candidate{{Text: strings.Repeat("x", 100)}, {Text: "0"}},
	}}
	got, err := packBlocks(pack.Cost{Tokens: 999, Chars: 60}, blocks)
	if err != nil || len(got[0]) < 45 || len([]rune(got[0])) > 60 || !strings.HasSuffix(got[0], "…\n0\n") {
		t.Errorf("%q, %v", got, err)
	}
}
