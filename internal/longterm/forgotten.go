package longterm

import (
	"slices"
	"strings"
	"time"
)

// Forgotten is what stays of a memory that the user asked to forget, or deleted. It does not have the text.
type Forgotten struct {
	// MemoryID is the memory's id, empty where it is not known.
	MemoryID string
	// Content and About are the likenesses of what it said and of whom it was about, Names that of the names in it.
	Content, About, Names Likeness
	// At is when the user asked for it. What is said later is a new statement.
	At time.Time
	// Rejected says that it waited for a review and was rejected: the same is not noted again, unless it is about safety.
	Rejected bool
	// said has all of its words, namesakes the names in it that others have, too. They are not stored.
	said      []string
	namesakes Likeness
}

// NewForgotten returns what stays of a memory that is forgotten at a time.
func NewForgotten(m Memory, at time.Time) Forgotten {
	return Forgotten{
		Content: NewLikeness(m.Content), About: newSubject(m.About), Names: namesIn(m.Content), At: at,
		Rejected: m.isRejected(), said: saidIn(m.Content),
	}
}

// Among returns what is forgotten with the names in it that others have of whom the user's memories are. A text that
// has such a name alone does not mention it.
func (f Forgotten) Among(memories []Memory) Forgotten {
	known := slices.Concat(f.About, f.Content)
	for _, m := range memories {
		of := newSubject(m.About)
		isUnknown := func(n uint16) bool { return !slices.Contains(known, n) }
		if !slices.ContainsFunc(of, isUnknown) || f.About.isSameSubject(of) {
			continue
		}
		for _, n := range of {
			if !isUnknown(n) && !isWho(n) {
				f.namesakes = append(f.namesakes, n)
			}
		}
	}
	return f
}

// Mentions reports whether a text says what was forgotten, or has one of its names and half of its words, or names the
// person if it only said who that is. One word that is no name says too little, as does the name of a namesake.
func (f Forgotten) Mentions(text string) bool {
	of := NewLikeness(text)
	isNamed := slices.ContainsFunc(f.Content, func(n uint16) bool {
		return slices.Contains(of, n) && slices.Contains(f.Names, n)
	})
	isSaid := isNamed && f.IsHalfIn(text) || len(f.Content) > 1 && f.Content.Resembles(text) ||
		f.person().isIn(text)
	return isSaid && !f.namesOther(text)
}

// IsHalfIn reports whether a text has half of the words of what was forgotten, and not those of a namesake alone.
func (f Forgotten) IsHalfIn(text string) bool {
	of, shared := NewLikeness(text), 0
	for _, n := range f.Content {
		if slices.Contains(of, n) {
			shared++
		}
	}
	return shared > 0 && 2*shared >= len(f.Content) && !f.namesOther(text)
}

// namesOther reports whether all that a text has of what was forgotten is the name of others.
func (f Forgotten) namesOther(text string) bool {
	isOther := false
	for _, s := range SubjectWords(text) {
		s, _, _ = strings.Cut(s, "'")
		switch n := hashOf(s); {
		case slices.Contains(f.namesakes, n):
			isOther = true
		case slices.Contains(f.Content, n), slices.Contains(f.About, n):
			return false
		}
	}
	return isOther
}

// Covers reports whether a memory says again what was forgotten, about the same subject: in whatever words if it was
// said before the user asked to forget it, and in the same ones if the same message says it or it was rejected.
func (f Forgotten) Covers(m Memory) bool {
	if !f.About.isSameSubject(newSubject(m.About)) {
		return false
	}
	switch since := m.SaidAt.Compare(f.At); {
	case since < 0:
		return f.Content.Resembles(m.Content)
	case since > 0 && (!f.Rejected || m.Pinned):
		return false
	case since == 0 && len(f.said) > 0:
		return slices.Equal(f.said, saidIn(m.Content))
	}
	lacks, adds := f.Content.difference(m.Content)
	return !lacks && !adds && f.Content.Resembles(m.Content)
}
