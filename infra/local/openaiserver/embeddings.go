package openaiserver

import (
	"cmp"
	"net/http"
	"slices"
)

// The service's limits on one embeddings call.
const (
	maxInputs         = 2048
	maxInputTokens    = 8192
	maxRequestTokens  = 300_000
	emptyInputMessage = "'$.input' is invalid: input is a text or a list of texts, and cannot be an empty string or an " +
		"empty list."
)

type embeddingsRequest struct {
	Input          oneOrMore `json:"input"`
	Dimensions     *int      `json:"dimensions"`
	EncodingFormat string    `json:"encoding_format"`
}

type embedding struct {
	Object    string    `json:"object"`
	Index     int       `json:"index"`
	Embedding []float32 `json:"embedding"`
}

func (s *server) embeddings(w http.ResponseWriter, r *http.Request) error {
	data, err := readBody(r)
	if err != nil {
		return err
	}
	var request embeddingsRequest
	if err := decodeJSON(data, &request); err != nil {
		return err
	}
	if request.EncodingFormat == "base64" {
		return badRequest("encoding_format", "The local server answers with numbers: ask for 'float'.")
	}
	dimensions := *cmp.Or(request.Dimensions, new(defaultDimensions))
	if dimensions < 1 || dimensions > maxDimensions {
		return badRequest("dimensions", "Invalid value for 'dimensions': %d is not from 1 to %d.", dimensions, maxDimensions)
	}
	texts := request.Input
	count, err := s.countInputs(texts)
	if err != nil {
		return err
	}
	vectors := make([]embedding, len(texts))
	for i, text := range texts {
		if r.Context().Err() != nil {
			return nil //nolint:nilerr // nobody is left to answer
		}
		vectors[i] = embedding{Object: "embedding", Index: i, Embedding: s.model.Embed(text, dimensions)}
	}
	return writeJSON(w, http.StatusOK, map[string]any{
		"object": "list", "data": vectors, "model": s.name,
		"usage": map[string]int{"prompt_tokens": count, "total_tokens": count},
	})
}

// countInputs counts the tokens of texts, and refuses what the service refuses.
func (s *server) countInputs(texts []string) (tokens int, err error) {
	if len(texts) > maxInputs {
		return 0, badRequest("input", "'$.input' is invalid: at most %d inputs, got %d.", maxInputs, len(texts))
	}
	if len(texts) == 0 || slices.Contains(texts, "") {
		return 0, badRequest("input", emptyInputMessage)
	}
	for _, text := range texts {
		count, err := s.tokens.countInput(text)
		if err != nil {
			return 0, err
		}
		if count > maxInputTokens {
			return 0, badRequest("input", "This model's maximum context length is %d tokens, however you requested %d tokens.",
				maxInputTokens, count)
		}
		tokens += count
	}
	if tokens > maxRequestTokens {
		return 0, badRequest("input", "Requested %d tokens, max %d tokens per request.", tokens, maxRequestTokens)
	}
	return tokens, nil
}
