package config

import (
	"net/url"
	"strings"
)

// Secret is one key that a function may read from Secrets Manager. Each key is a secret of its own, because a role can
// allow the reading of a secret and not of a part of it.
type Secret string

// The keys, by the last part of their secrets' names. The values are the keys themselves.
const (
	OpenAIKey    Secret = "openai-api-key"
	EmbeddingKey Secret = "embedding-api-key"
	PineconeKey  Secret = "pinecone-api-key"
	CursorKey    Secret = "cursor-key"
	// BackgroundKey is that of the background model's calls, where these have one of their own.
	BackgroundKey Secret = "background-api-key"
	// OTLPHeaders are the headers that the collector of spans asks for.
	OTLPHeaders Secret = "otlp-headers"
)

// Secrets lists the keys that a stage needs. Some depend on its settings.
func Secrets(ownBackgroundKey, hasCollector bool) []Secret {
	keys := []Secret{OpenAIKey, EmbeddingKey, PineconeKey, CursorKey}
	if ownBackgroundKey {
		keys = append(keys, BackgroundKey)
	}
	if hasCollector {
		keys = append(keys, OTLPHeaders)
	}
	return keys
}

// Name returns the name of the secret in a stage. The name of a model service's key has the host of the address that
// the key was given for, so that a function never sends a key to another service: after a change of the address there
// is no secret of that name until somebody makes it. The address is empty for other keys.
func (s Secret) Name(prefix, address string) string {
	name := prefix + "/" + string(s)
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		name += "@" + strings.ReplaceAll(u.Host, ":", "+") // a secret's name has no colon
	}
	return name
}

// Address returns the base URL of the service that a key is for, empty for keys of no model service.
func (o OpenAI) Address(s Secret) string {
	switch s {
	case OpenAIKey, BackgroundKey:
		return o.BaseURL
	case EmbeddingKey:
		return o.EmbeddingBaseURL
	}
	return ""
}

// Key returns where the configuration has a key.
func (c *Config) Key(s Secret) *string {
	switch s {
	case OpenAIKey:
		return &c.OpenAI.APIKey
	case EmbeddingKey:
		return &c.OpenAI.EmbeddingAPIKey
	case BackgroundKey:
		return &c.OpenAI.BackgroundAPIKey
	case PineconeKey:
		return &c.Pinecone.APIKey
	case OTLPHeaders:
		return &c.Tracing.Headers
	default:
		return &c.CursorKey
	}
}
