package openaiserver

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/throughline/throughline/internal/token"
)

// tokenizers count as the service's models do: o200k for chat, cl100k for the inputs of text-embedding-3.
type tokenizers struct {
	chat      *token.Counter
	cutter    tokenizer.Codec // chat's vocabulary, for cutting
	embedding tokenizer.Codec
}

// sharedTokenizers are the tokenizers of all servers. Their vocabularies are built once.
var sharedTokenizers = sync.OnceValue(func() tokenizers {
	t := tokenizers{
		chat:      token.New(),
		cutter:    mustTokenizer(tokenizer.O200kBase),
		embedding: mustTokenizer(tokenizer.Cl100kBase),
	}
	t.chat.Warm()
	return t
})

func mustTokenizer(encoding tokenizer.Encoding) tokenizer.Codec {
	codec, err := tokenizer.Get(encoding)
	if err != nil {
		panic("openaiserver: " + err.Error()) // the encodings are compiled in
	}
	return codec
}

// cut returns the text of the first limit chat tokens, their number, and whether it left something out. It does not
// split a character.
func (t tokenizers) cut(text string, limit int) (kept string, count int, cut bool, err error) {
	if count = t.chat.Count(text); count <= limit {
		return text, count, false, nil
	}
	_, tokens, err := t.cutter.Encode(text)
	if err != nil {
		return "", 0, false, fmt.Errorf("cut answer: %w", err)
	}
	for _, next := range tokens[:min(limit, len(tokens))] {
		kept += next
	}
	for kept != "" && !utf8.ValidString(kept) {
		kept = kept[:len(kept)-1]
	}
	return kept, limit, true, nil
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
