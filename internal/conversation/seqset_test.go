package conversation_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/throughline/throughline/internal/conversation"
)

// TestSeqSet compares a set with a map that has the same seqs.
func TestSeqSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var set conversation.SeqSet
		model := map[int]bool{}
		for _, seq := range rapid.SliceOfN(rapid.IntRange(1, 60), 0, 60).Draw(rt, "added") {
			before := slices.Clone(set)
			grown := set.Add(seq)
			if !slices.Equal(before, set) {
				rt.Fatal("Add changed its receiver")
			}
			set, model[seq] = grown, true
		}
		for seq := range 62 {
			if set.Contains(seq) != model[seq] {
				rt.Fatalf("%v contains %d: %v", set, seq, set.Contains(seq))
			}
		}
		again, err := conversation.ParseSeqSet(set.String())
		if err != nil || !slices.Equal(set, again) {
			rt.Fatalf("%q reads as %v, %v", set.String(), again, err)
		}
	})
}

func TestSeqSetIsBounded(t *testing.T) {
	t.Parallel()
	var set conversation.SeqSet
	for seq := 1; seq <= 4*conversation.MaxSeqRanges; seq += 2 {
		set = set.Add(seq)
	}
	if len(set) != conversation.MaxSeqRanges || set.Contains(1) || !set.Contains(4*conversation.MaxSeqRanges-1) {
		t.Errorf("%d ranges, the first is %v", len(set), set[0])
	}
}

// FuzzSeqSet checks that a text which ParseSeqSet accepts is the text that String returns.
func FuzzSeqSet(f *testing.F) {
	for _, s := range []string{"", "1", "1-3,5", "3-1", "1,2", "0", "1-1", "01", "+1", "1-2-3", ","} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if set, err := conversation.ParseSeqSet(s); err == nil && set.String() != s {
			t.Errorf("%q reads as %v", s, set)
		}
	})
}
