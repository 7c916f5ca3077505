package conversation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SeqRange is the seqs from First to Last, both included.
type SeqRange struct{ First, Last int }

// SeqSet is a set of seqs, as ascending ranges with a gap between each two. A session has one of its deleted messages,
// so that a reader of an index can tell deleted messages from those that the index does not have yet.
type SeqSet []SeqRange

// MaxSeqRanges is the maximum number of ranges in a set. Add drops the lowest range of a full set. A reader then makes
// a read for messages that it does not find, which is correct and costs one read.
const MaxSeqRanges = 200

// Contains reports whether the set holds seq.
func (s SeqSet) Contains(seq int) bool {
	i, found := slices.BinarySearchFunc(s, seq, func(r SeqRange, seq int) int { return r.First - seq })
	return found || i > 0 && seq <= s[i-1].Last
}

// Add returns the set with seq added. It does not change s.
func (s SeqSet) Add(seq int) SeqSet {
	if s.Contains(seq) {
		return s
	}
	i, _ := slices.BinarySearchFunc(s, seq, func(r SeqRange, seq int) int { return r.First - seq })
	out := slices.Insert(slices.Clone(s), i, SeqRange{seq, seq})
	if i+1 < len(out) && out[i+1].First == seq+1 {
		out[i].Last = out[i+1].Last
		out = slices.Delete(out, i+1, i+2)
	}
	if i > 0 && out[i-1].Last == seq-1 {
		out[i-1].Last = out[i].Last
		out = slices.Delete(out, i, i+1)
	}
	return out[max(0, len(out)-MaxSeqRanges):]
}

// String writes the set as "3-7,9", the form that ParseSeqSet reads.
func (s SeqSet) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = strconv.Itoa(r.First)
		if r.Last > r.First {
			parts[i] += "-" + strconv.Itoa(r.Last)
		}
	}
	return strings.Join(parts, ",")
}

// ParseSeqSet reads what String wrote.
func ParseSeqSet(text string) (SeqSet, error) {
	if text == "" {
		return nil, nil
	}
	var set SeqSet
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		ascends := len(set) == 0 || a > set[len(set)-1].Last+1
		if errA != nil || errB != nil || a < 1 || b < a || !ascends {
			return nil, fmt.Errorf("parse seq set: %q is not an ascending range", part)
		}
		set = append(set, SeqRange{a, b})
	}
	if set.String() != text {
		return nil, fmt.Errorf("parse seq set: %q is not in canonical form", text)
	}
	return set, nil
}
