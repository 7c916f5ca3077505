package config_test

import (
	"testing"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestKeysStayAtTheirAddress has the chat move to another service, and both services move together.
func TestKeysStayAtTheirAddress(t *testing.T) {
	t.Parallel()
	const own, other = "https://api.openai.com/v1", "https://other.example:8443/v1"
	for name, tt := range map[string]struct {
		environ                    map[string]string
		embeddings, key, embedding string
	}{
		"own": {
			map[string]string{}, own, "app/openai-api-key@api.openai.com", "chat-key",
		},
		"the chat moves": {
			map[string]string{"OPENAI_BASE_URL": other, "OPENAI_CHAT_MODEL": "m"},
			own, "app/openai-api-key@other.example+8443", "",
		},
		"both move": {
			map[string]string{
				"OPENAI_BASE_URL": other, "OPENAI_CHAT_MODEL": "m",
				"OPENAI_EMBEDDING_BASE_URL": other, "OPENAI_EMBEDDING_MODEL": "e@2",
			},
			other, "app/openai-api-key@other.example+8443", "chat-key",
		},
	} {
		tt.environ["TABLE_NAME"], tt.environ["OPENAI_API_KEY"] = "t", "chat-key"
		got, err := config.Parse(tt.environ)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		secret := config.OpenAIKey.Name("app", got.OpenAI.Address(config.OpenAIKey))
		if got.OpenAI.EmbeddingBaseURL != tt.embeddings || got.OpenAI.EmbeddingAPIKey != tt.embedding || secret != tt.key {
			t.Errorf("%s: embeddings at %s with the key %q, and the chat's key is in %s",
				name, got.OpenAI.EmbeddingBaseURL, got.OpenAI.EmbeddingAPIKey, secret)
		}
	}
	check.Equal(t, "app/pinecone-api-key", config.PineconeKey.Name("app", config.OpenAI{}.Address(config.PineconeKey)),
		"Pinecone's key is in")
}
