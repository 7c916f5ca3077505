package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// IsOpenAI reports whether a base URL is that of OpenAI's own service, in any of its regions.
func IsOpenAI(baseURL string) bool {
	u, err := url.Parse(baseURL)
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".api.openai.com"))
}

// withServices gives the embeddings the chat's key if both services have one address: a key is never sent to an address
// that it was not given for. The error says which model has no name: the names that are the defaults are OpenAI's.
func (o OpenAI) withServices(environ map[string]string) (OpenAI, error) {
	if o.BaseURL == o.EmbeddingBaseURL {
		o.EmbeddingAPIKey = cmp.Or(o.EmbeddingAPIKey, o.APIKey)
	}
	return o, errors.Join(
		Named(environ, "OPENAI_BASE_URL", o.BaseURL, "OPENAI_CHAT_MODEL"),
		Named(environ, "OPENAI_EMBEDDING_BASE_URL", o.EmbeddingBaseURL, "OPENAI_EMBEDDING_MODEL"))
}

// Named returns an error if a service is not OpenAI's and the environment has no name of its model. variable has the
// service's address, and model is the variable for the name.
func Named(environ map[string]string, variable, address, model string) error {
	if IsOpenAI(address) || environ[model] != "" {
		return nil
	}
	return fmt.Errorf("%s is not set: %s=%s is not OpenAI's, so name a model of that service", model, variable, address)
}
