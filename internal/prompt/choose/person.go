package choose

import (
	"slices"

	"github.com/throughline/throughline/internal/longterm"
)

// personsIn returns whom memories are about, by the words that say so: "mia" has "Mia, the user's daughter".
func personsIn(memories []longterm.Memory) map[string][]string {
	persons := map[string][]string{}
	for _, m := range memories {
		for _, w := range longterm.SubjectWords(m.About) {
			if !slices.Contains(persons[w], m.About) {
				persons[w] = append(persons[w], m.About)
			}
		}
	}
	return persons
}

// told is a memory as prompts tell it: its content, and before it whom it is about, where the content does not say that
// or says it with a word that is somebody else's, too: "Mia" is the daughter or the cousin.
func told(c *chooser, m longterm.Memory) string {
	about := longterm.SubjectWords(m.About)
	if len(about) == 0 {
		return m.Content
	}
	said := longterm.SubjectWords(m.Content)
	isAnother := func(person string) bool { return !longterm.IsSameSubject(person, m.About) }
	isSaid := func(w string) bool { return slices.Contains(said, w) }
	isShared := func(w string) bool { return isSaid(w) && slices.ContainsFunc(c.persons[w], isAnother) }
	isMissing := func(w string) bool { return !isSaid(w) }
	hasName := slices.ContainsFunc(about, isSaid) && !slices.ContainsFunc(about, isShared)
	if hasName || !slices.ContainsFunc(about, isMissing) {
		return m.Content
	}
	return m.About + ": " + m.Content
}

// memoryCandidate returns the candidate of a memory as it is told.
func (c *chooser) memoryCandidate(m longterm.Memory) *Candidate {
	e := &Candidate{
		Kind: KindMemory, ID: m.ID, At: m.CreatedAt, Text: told(c, m), Tokens: m.Tokens, Note: c.memoryNote(m),
	}
	if e.Text != m.Content {
		e.Tokens = 0
	}
	return e
}

// claimMemory returns the candidate of a memory, claimed for a block by what is told of it.
func claimMemory(c *chooser, m longterm.Memory, name string) *Candidate {
	e := c.memoryCandidate(m)
	return c.claimCandidate(e, factKey(e.Text), name)
}
