package openaiserver

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer"

	"github.com/throughline/throughline/internal/token"
)

// tokenizers count as the service's models do: o200k for chat, cl100k for the inputs of text-embedding-3.
type tokenizers struct {
	chat      *token.Counter
	embedding tokenizer.Codec
}

// sharedTokenizers are the tokenizers of all servers. Their vocabularies are built once.
var sharedTokenizers = sync.OnceValue(func() tokenizers {
	embedding, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		panic(err) // the encoding is compiled in
	}
	t := tokenizers{token.New(), embedding}
	t.chat.Warm()
	return t
})

// cut returns the words of the text's beginning that a limit of chat tokens has room for, how many tokens the answer
// takes, and whether something is left out.
func (t tokenizers) cut(text string, limit int) (kept string, count int, cut bool) {
	if count = t.chat.Count(text); count <= limit {
		return text, count, false
	}
	for _, word := range splitPieces(text, 1) {
		if t.chat.Count(kept+word) > limit {
			break
		}
		kept += word
	}
	return kept, limit, true
}

// longBlank matches white space that is longer than any text needs.
var longBlank = regexp.MustCompile(`[\s\p{Z}]{200,}`)

// countInput counts an embedding's input. It counts long white space as less than it is, because the tokenizer's time
// grows with the square of its length.
func (t tokenizers) countInput(text string) (int, error) {
	text = longBlank.ReplaceAllStringFunc(text, func(blank string) string {
		return strings.ToValidUTF8(blank[:200], "")
	})
	count, err := t.embedding.Count(text)
	if err != nil {
		return 0, fmt.Errorf("count input: %w", err)
	}
	return count, nil
}
