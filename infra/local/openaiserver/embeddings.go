package openaiserver

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
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
	Model          string          `json:"model"`
	Input          json.RawMessage `json:"input"`
	Dimensions     *int            `json:"dimensions"`
	EncodingFormat string          `json:"encoding_format"`
}

type embedding struct {
	Object string `json:"object"`
	Index  int    `json:"index"`
	// Embedding is a list of numbers, or their little-endian bytes in base64.
	Embedding any `json:"embedding"`
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
	dimensions := defaultDimensions
	if request.Dimensions != nil {
		dimensions = *request.Dimensions
	}
	if dimensions < 1 || dimensions > maxDimensions {
		return badRequest("dimensions", "Invalid value for 'dimensions': %d is not from 1 to %d.", dimensions, maxDimensions)
	}
	texts, count, err := s.embeddingInputs(request.Input)
	if err != nil {
		return err
	}
	vectors := make([]embedding, len(texts))
	for i, text := range texts {
		if r.Context().Err() != nil {
			return nil //nolint:nilerr // nobody is left to answer
		}
		vector := s.model.Embed(text, dimensions)
		vectors[i] = embedding{Object: "embedding", Index: i, Embedding: vector}
		if request.EncodingFormat == "base64" {
			vectors[i].Embedding = encodeVector(vector)
		}
	}
	return writeJSON(w, http.StatusOK, map[string]any{
		"object": "list", "data": vectors, "model": s.model.ID(),
		"usage": map[string]int{"prompt_tokens": count, "total_tokens": count},
	})
}

// embeddingInputs reads one text or several, and counts their tokens.
func (s *server) embeddingInputs(raw json.RawMessage) (texts []string, tokens int, err error) {
	if texts, err = parseInput(raw); err != nil {
		return nil, 0, err
	}
	if len(texts) > maxInputs {
		return nil, 0, badRequest("input", "'$.input' is invalid: at most %d inputs, got %d.", maxInputs, len(texts))
	}
	for _, text := range texts {
		if text == "" {
			return nil, 0, badRequest("input", emptyInputMessage)
		}
		count, err := s.tokens.countInput(text)
		if err != nil {
			return nil, 0, err
		}
		if count > maxInputTokens {
			return nil, 0, badRequest("input", "This model's maximum context length is %d tokens, however you requested "+
				"%d tokens.",
				maxInputTokens, count)
		}
		tokens += count
	}
	if tokens > maxRequestTokens {
		return nil, 0, badRequest("input", "Requested %d tokens, max %d tokens per request.", tokens, maxRequestTokens)
	}
	return texts, tokens, nil
}

func parseInput(raw json.RawMessage) ([]string, error) {
	texts := oneOrMore{}
	if json.Unmarshal(raw, &texts) != nil || len(texts) == 0 {
		return nil, badRequest("input", emptyInputMessage)
	}
	return texts, nil
}

func encodeVector(vector []float32) string {
	data := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(data)
}
