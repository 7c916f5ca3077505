package extraction

import (
	"slices"
	"strings"
	"sync"

	"github.com/throughline/throughline/internal/word"
)

// unnamed are beginnings of sentences that do not name what they are about.
var unnamed = []string{
	"it is ", "it was ", "it's ", "it has ", "it will ", "that is ", "that was ", "that's ", "this is ", "this was ",
	"these are ", "these were ", "those are ", "those were ",
	"es ist ", "es war ", "das ist ", "das war ", "dies ist ", "dies war ", "esto es ", "esto era ", "eso es ", "eso era ",
	"eso fue ", "c'est ", "c'etait ", "ce sont ", "cela est ", "isso e ", "isso era ", "isso foi ", "isto e ",
	"questo e ", "quello era ", "het is ", "het was ", "dat is ", "dat was ", "это ", "هذا هو ", "هذه هي ", "यह ",
	"এটা ", "یہ ", "itu ", "ini ", "그것은 ", "그건 ", "这是", "那是", "它", "这不是", "それは", "これは", "あれは",
}

// foldedUnnamed has them as facts are compared with them.
var foldedUnnamed = sync.OnceValue(func() []string {
	folded := make([]string, len(unnamed))
	for i, beginning := range unnamed {
		folded[i] = word.Fold(beginning)
	}
	return folded
})

// isUnnamed reports whether a fact does not name what it is about: "It was the user's mother."
func isUnnamed(content string) bool {
	folded := word.Fold(content)
	begins := func(beginning string) bool { return strings.HasPrefix(folded, beginning) }
	return slices.ContainsFunc(foldedUnnamed(), begins)
}
