// Package config reads a function's configuration from its environment, once, and reports every problem together.
// The variables are the standard ones of each service where there is one, so that a local server, Ollama or another
// table can take any dependency's place (design 5).
package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Config is the configuration of every function; each uses its part.
type Config struct {
	// TableName is the one table.
	TableName string `env:"TABLE_NAME,required,notEmpty"`
	Region    string `env:"AWS_REGION" envDefault:"us-east-1"`
	// DynamoDBEndpoint and LambdaEndpoint replace the AWS services; empty means AWS.
	DynamoDBEndpoint string `env:"AWS_ENDPOINT_URL_DYNAMODB"`
	LambdaEndpoint   string `env:"AWS_ENDPOINT_URL_LAMBDA"`
	// AccessKeyID and SecretAccessKey are for local engines; in Lambda the execution role gives them.
	AccessKeyID     string `env:"AWS_ACCESS_KEY_ID"`
	SecretAccessKey string `env:"AWS_SECRET_ACCESS_KEY"`
	SessionToken    string `env:"AWS_SESSION_TOKEN"`

	OpenAI   OpenAI
	Pinecone Pinecone
	Triggers Triggers
	Auth     Auth

	// SecretName is the Secrets Manager secret that holds openaiApiKey, pineconeApiKey and cursorKey as one JSON
	// object; empty where the environment holds them.
	SecretName string `env:"SECRET_NAME"`
	// CursorKey signs list cursors: "<version>:<base64 of 32 bytes>".
	CursorKey string `env:"CURSOR_KEY"`
	// PromptFunction is the name the coach function invokes prompt by.
	PromptFunction string `env:"PROMPT_FUNCTION" envDefault:"throughline-prompt"`
	// KeepPromptText keeps rendered prompts beside their manifests.
	KeepPromptText bool `env:"KEEP_PROMPT_TEXT"`
	// PromptDays is how long manifests are kept.
	PromptDays int `env:"PROMPT_DAYS" envDefault:"7"`
	// BackgroundModel is the switch that stops all background model calls (design 4.8).
	BackgroundModel bool `env:"BACKGROUND_MODEL_CALLS" envDefault:"true"`
	// ChatTimeout bounds one generation of the coach.
	ChatTimeout time.Duration `env:"CHAT_TIMEOUT" envDefault:"120s"`
	LogLevel    string        `env:"LOG_LEVEL" envDefault:"INFO"`
}

// OpenAI says where the chat model and the embeddings are; each side can be another service.
type OpenAI struct {
	BaseURL          string `env:"OPENAI_BASE_URL" envDefault:"https://api.openai.com/v1"`
	APIKey           string `env:"OPENAI_API_KEY"`
	ChatModel        string `env:"OPENAI_CHAT_MODEL" envDefault:"gpt-4o-mini"`
	EmbeddingModel   string `env:"OPENAI_EMBEDDING_MODEL" envDefault:"text-embedding-3-small"`
	EmbeddingBaseURL string `env:"OPENAI_EMBEDDING_BASE_URL"`
	EmbeddingAPIKey  string `env:"OPENAI_EMBEDDING_API_KEY"`
	// Dimensions is the width of dense vectors, the same as the Pinecone index's.
	Dimensions int `env:"OPENAI_EMBEDDING_DIMENSIONS" envDefault:"1536"`
}

// Pinecone says where the index is. A host that begins with http:// is spoken to in plaintext.
type Pinecone struct {
	IndexHost string `env:"PINECONE_INDEX_HOST"`
	APIKey    string `env:"PINECONE_API_KEY"`
}

// Triggers say when a session is summarised (design 4.2).
type Triggers struct {
	// Messages is how many messages after the last summary bring the next.
	Messages int `env:"SUMMARY_MESSAGES" envDefault:"20"`
	// Idle is how long a session has to be quiet before the sweep summarises it.
	Idle time.Duration `env:"SUMMARY_IDLE" envDefault:"15m"`
	// TimeoutMS is how long the model has before an extractive summary stands in
	// (prompt-assembly-map, "v1.3.2 changes").
	TimeoutMS int `env:"SUMMARY_TIMEOUT_MS" envDefault:"2500"`
}

// Auth says whose tokens the coach function accepts; the HTTP API's authorizer checks the same for the others.
type Auth struct {
	Issuer   string `env:"JWT_ISSUER"`
	Audience string `env:"JWT_AUDIENCE"`
	// JWKSURL is where the issuer's keys are; empty means the issuer's /.well-known/jwks.json.
	JWKSURL string `env:"JWT_JWKS_URL"`
	// CORSOrigins are the origins a browser may call the coach's function URL from.
	CORSOrigins []string `env:"CORS_ORIGINS"`
}

// Parse reads the configuration from an environment, given as a map so that several stacks can run in one process.
// Its error names every variable that is missing or malformed, and what it has to be.
func Parse(environ map[string]string) (Config, error) {
	cfg, err := env.ParseAsWithOptions[Config](env.Options{Environment: environ})
	var all env.AggregateError
	if !errors.As(err, &all) {
		return cfg, err
	}
	wrong := make([]string, len(all.Errors))
	for i, e := range all.Errors {
		wrong[i] = inWords(e, environ)
	}
	return Config{}, errors.New(strings.Join(wrong, "; "))
}

// FromEnvironment reads the configuration from the process's environment.
func FromEnvironment() (Config, error) { return Parse(env.ToMap(os.Environ())) }

// inWords says which variable is wrong with the environment, and what it has to be.
func inWords(err error, environ map[string]string) string {
	var missing env.VarIsNotSetError
	var empty env.EmptyVarError
	var malformed env.ParseError
	switch {
	case errors.As(err, &missing):
		return missing.Key + " is not set"
	case errors.As(err, &empty):
		return empty.Key + " is empty"
	case errors.As(err, &malformed):
		name := variable(reflect.TypeFor[Config](), malformed.Name)
		return fmt.Sprintf("%s=%s: must be %s", name, environ[name], kinds[malformed.Type])
	}
	return err.Error()
}

// kinds are the types of variables that are not just text, as they have to be written.
var kinds = map[reflect.Type]string{
	reflect.TypeFor[int]():           "a whole number",
	reflect.TypeFor[bool]():          "true or false",
	reflect.TypeFor[time.Duration](): "a span such as 90s or 15m",
}

// variable is the name of the variable that a field is read from. Fields of those kinds have names of their own.
func variable(of reflect.Type, field string) string {
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
		switch {
		case f.Name == field && name != "":
			return name
		case f.Type.Kind() == reflect.Struct:
			if name := variable(f.Type, field); name != "" {
				return name
			}
		}
	}
	return ""
}
