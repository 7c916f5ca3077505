// Package config reads a function's configuration from its environment, once, and reports all problems together. Where
// a service has standard variables, these are used, so that a local server, Ollama or another table can replace any
// dependency.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"
)

// Config is the configuration of all functions. Each function uses a part of it.
type Config struct {
	TableName string `env:"TABLE_NAME,required,notEmpty"`
	// ErasuresTable is the table of the ledger of erasures, which a restore of the other does not touch. Empty means that
	// there is none.
	ErasuresTable string `env:"ERASURES_TABLE"`
	Region        string `env:"AWS_REGION" envDefault:"us-east-1"`
	// DynamoDBEndpoint and the other endpoints replace those of AWS unless they are empty.
	DynamoDBEndpoint string `env:"AWS_ENDPOINT_URL_DYNAMODB"`
	LambdaEndpoint   string `env:"AWS_ENDPOINT_URL_LAMBDA"`
	SecretsEndpoint  string `env:"AWS_ENDPOINT_URL_SECRETS_MANAGER"`
	SQSEndpoint      string `env:"AWS_ENDPOINT_URL_SQS"`
	EventsEndpoint   string `env:"AWS_ENDPOINT_URL_EVENTBRIDGE"`
	// AccessKeyID, SecretAccessKey and SessionToken are set by Lambda from the execution role, or for local engines.
	AccessKeyID     string `env:"AWS_ACCESS_KEY_ID"`
	SecretAccessKey string `env:"AWS_SECRET_ACCESS_KEY"`
	SessionToken    string `env:"AWS_SESSION_TOKEN"`

	OpenAI   OpenAI
	Pinecone Pinecone
	Auth     Auth
	Tracing  Tracing

	// Triggers are when sessions are summarised and read for memories. The template leaves them as they are.
	Triggers Triggers `env:"TRIGGERS" envDefault:"messages=20"`

	// AppVersion is the version of the app's registry (docs/extending.md), which "throughline app" stores in the table.
	// Empty means the example that ships.
	AppVersion string `env:"APP_VERSION"`

	// InitialStage is the stage of the migration of a table that has no record of it.
	InitialStage MigrationStage `env:"INITIAL_STAGE" envDefault:"shared"`

	// SecretPrefix is what the names of the stage's secrets begin with. It is empty where the environment holds all keys.
	SecretPrefix string `env:"SECRET_PREFIX"`
	// CursorKey signs list cursors: "<version>:<base64 of 32 bytes>".
	CursorKey string `env:"CURSOR_KEY"`
	// StackName is the name of the CloudFormation stack, which the metrics have.
	StackName string `env:"STACK_NAME" envDefault:"throughline"`
	// DeadLetterQueues are the URLs of the queues for what the stream's functions could not work on, by their names.
	DeadLetterQueues map[string]string `env:"DEAD_LETTER_QUEUES" envKeyValSeparator:"="`
	// EventBusName is the bus of Amazon EventBridge that gets what happens, as events. Empty means that none is sent.
	// EventContent says that the events have their contents.
	EventBusName string `env:"EVENT_BUS_NAME"`
	EventContent bool   `env:"EVENT_CONTENT"`
	// KeepPromptText keeps rendered prompts beside their manifests.
	KeepPromptText bool `env:"KEEP_PROMPT_TEXT"`
	// DailyTokens is how many tokens of the chat and background models a user may spend in a day of UTC. 0 means any
	// number.
	DailyTokens int `env:"DAILY_TOKENS"`
	// RequestsPerMinute is how much a user may ask for in a minute, in requests. 0 means any number.
	RequestsPerMinute int `env:"REQUESTS_PER_MINUTE"`
	// AnswersAtOnce is how many answers of a user may be generated at once. 0 means any number, and any number
	// of exports; else a user has one export at a time.
	AnswersAtOnce int `env:"ANSWERS_AT_ONCE"`
	// AnswerTokens limits the text of one answer of the coach. 0 means any length.
	AnswerTokens int    `env:"ANSWER_TOKENS" envDefault:"4096"`
	LogLevel     string `env:"LOG_LEVEL" envDefault:"INFO"`
	// RecallWeights names a file of weights for the ranking of recall, for benchmarks. Empty means those that ship.
	RecallWeights string `env:"RECALL_WEIGHTS"`
}

// OpenAI configures the chat model and the embeddings, which can be different services.
type OpenAI struct {
	BaseURL   string `env:"OPENAI_BASE_URL" envDefault:"https://api.openai.com/v1"`
	APIKey    string `env:"OPENAI_API_KEY"`
	ChatModel string `env:"OPENAI_CHAT_MODEL" envDefault:"gpt-6-luna"`
	// BackgroundModel writes summaries. Empty means the chat model.
	BackgroundModel string `env:"OPENAI_BACKGROUND_MODEL"`
	// ChatEffort is how much the chat's model reasons, if it can. Empty means low, as for the background model. A model
	// that does not accept an effort gets the nearest that it accepts.
	ChatEffort Effort `env:"OPENAI_CHAT_EFFORT"`
	// OwnBackgroundKey says that the calls of the background model have a key of their own, whose limits the chat does
	// not share. BackgroundAPIKey is that key.
	OwnBackgroundKey bool   `env:"BACKGROUND_KEY"`
	BackgroundAPIKey string `env:"OPENAI_BACKGROUND_API_KEY"`
	// BackgroundTier is the service's tier for answers that nobody waits for. TierNone stops all background model calls.
	BackgroundTier Tier `env:"OPENAI_BACKGROUND_TIER" envDefault:"auto"`
	// Embedding is the model of the embeddings. Its dimension must be that of the Pinecone index.
	Embedding Embedding `env:"OPENAI_EMBEDDING_MODEL" envDefault:"text-embedding-3-small@768"`
	// EmbeddingBaseURL does not follow BaseURL: vectors of another model in the same index would spoil every search.
	EmbeddingBaseURL string `env:"OPENAI_EMBEDDING_BASE_URL" envDefault:"https://api.openai.com/v1"`
	// EmbeddingAPIKey is by default the chat's key if the services have one address, else empty.
	EmbeddingAPIKey string `env:"OPENAI_EMBEDDING_API_KEY"`
}

// PromptFunction is the function that is invoked for prompts, by its alias.
func (c Config) PromptFunction() string { return c.StackName + "-prompt:live" }

// WorkerFunction is the function whose invocations are the sweep's workers, by its alias.
func (c Config) WorkerFunction() string { return c.StackName + "-summarize:live" }

// BackgroundSecret is the secret with the key of the background model's calls.
func (o OpenAI) BackgroundSecret() Secret {
	if o.OwnBackgroundKey {
		return BackgroundKey
	}
	return OpenAIKey
}

// WithEmbedding returns the configuration with another embedding model of the same service.
func (o OpenAI) WithEmbedding(e Embedding) OpenAI {
	o.Embedding = e
	return o
}

// Background returns the configuration with the background model in the place of the chat model, and with its key.
func (o OpenAI) Background() OpenAI {
	o.APIKey = cmp.Or(o.BackgroundAPIKey, o.APIKey)
	o.ChatModel, o.ChatEffort = cmp.Or(o.BackgroundModel, o.ChatModel), ""
	return o
}

// CallsInBackground reports whether the background model is called at all.
func (o OpenAI) CallsInBackground() bool { return o.BackgroundTier != TierNone }

// Effort is how much a model reasons before it answers. Empty leaves it to the model's family.
type Effort string

// UnmarshalText refuses an effort that no model has.
func (e *Effort) UnmarshalText(text []byte) error {
	*e = Effort(text)
	switch *e {
	case "", "none", "minimal", "low", "medium", "high", "xhigh", "max":
		return nil
	}
	return fmt.Errorf("unknown effort %q", text)
}

// Tier is a service tier. TierAuto is flex where the model has it and the service is OpenAI's own. TierDefault is never
// flex, and TierFlex asks for it at any service, such as a gateway that knows it. With TierNone nothing is asked for.
type Tier string

// The tiers.
const (
	TierAuto    Tier = "auto"
	TierDefault Tier = "default"
	TierFlex    Tier = "flex"
	TierNone    Tier = "none"
)

// UnmarshalText refuses what is no tier.
func (t *Tier) UnmarshalText(text []byte) error {
	*t = Tier(text)
	switch *t {
	case TierAuto, TierDefault, TierFlex, TierNone:
		return nil
	}
	return fmt.Errorf("unknown tier %q", text)
}

// MigrationStage is a stage of a migration (docs/adr/0023).
type MigrationStage string

// UnmarshalText refuses what is no stage.
func (s *MigrationStage) UnmarshalText(text []byte) error {
	*s = MigrationStage(text)
	switch *s {
	case "embedded", "dual", "shared-read", "shared":
		return nil
	}
	return fmt.Errorf("unknown stage %q", text)
}

// Auth configures which tokens the coach function accepts. For the other functions the HTTP API's authorizer does the
// same checks.
type Auth struct {
	Issuer string `env:"JWT_ISSUER"`
	// Audiences are those of the users' tokens and of the servers that act on their behalf.
	Audiences []string `env:"JWT_AUDIENCE"`
	// CORSOrigins are the origins from which a browser may call the coach's function URL.
	CORSOrigins []string `env:"CORS_ORIGINS"`
}

// Parse reads the configuration from an environment. The environment is a map, so that several stacks can run in one
// process. The error names every variable that is missing or malformed, and says what it must be.
func Parse(environ map[string]string) (Config, error) {
	cfg, err := Read[Config](environ)
	if err != nil {
		return Config{}, err
	}
	cfg.OpenAI, err = cfg.OpenAI.withServices(environ)
	return cfg, err
}

// Read reads a configuration whose fields name their variables. Its error is that of Parse. A field of a type that this
// package does not know says itself what it must be.
func Read[C any](environ map[string]string) (C, error) {
	cfg, err := env.ParseAsWithOptions[C](env.Options{
		Environment: environ, FuncMap: map[reflect.Type]env.ParserFunc{
			reflect.TypeFor[bool](): parseSwitch, reflect.TypeFor[int](): parseCount,
		},
	})
	var all env.AggregateError
	if !errors.As(err, &all) {
		return cfg, err
	}
	wrong := make([]string, len(all.Errors))
	for i, e := range all.Errors {
		wrong[i] = describe(e, reflect.TypeFor[C](), environ)
	}
	return cfg, errors.New(strings.Join(wrong, "; "))
}

// FromEnvironment reads the configuration from the process's environment.
func FromEnvironment() (Config, error) { return Parse(env.ToMap(os.Environ())) }

// parseCount reads a whole number. No setting of this project is below 0.
func parseCount(text string) (any, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	return int(n), err
}

// parseSwitch reads on and off, and Go's spellings of true and false. Empty is off.
func parseSwitch(text string) (any, error) {
	switch text {
	case "on":
		return true, nil
	case "off", "":
		return false, nil
	}
	return strconv.ParseBool(text)
}

// describe says which variable is wrong and what it must be.
func describe(err error, of reflect.Type, environ map[string]string) string {
	var missing env.VarIsNotSetError
	var empty env.EmptyVarError
	var malformed env.ParseError
	switch {
	case errors.As(err, &missing):
		return missing.Key + " is not set"
	case errors.As(err, &empty):
		return empty.Key + " is empty"
	case errors.As(err, &malformed):
		name := variable(of, malformed.Name)
		rule := kinds[malformed.Type]
		if rule == "" {
			rule = malformed.Err.Error()
		}
		return fmt.Sprintf("%s=%s: must be %s", name, environ[name], rule)
	}
	return err.Error()
}

// kinds describe the values of variables that are not plain text.
var kinds = map[reflect.Type]string{
	reflect.TypeFor[int]():               "a whole number of 0 or more",
	reflect.TypeFor[bool]():              "true or false",
	reflect.TypeFor[map[string]string](): "names and addresses, such as a=https://…,b=https://…",
	reflect.TypeFor[Index]():             IndexForm,
	reflect.TypeFor[Namespaces]():        "user, or a number of namespaces from 1 to 100000",
	reflect.TypeFor[MigrationStage]():    "embedded, dual, shared-read or shared",
	reflect.TypeFor[Endpoint]():          "a URL that begins with http:// or https://",
	reflect.TypeFor[Embedding]():         "a model and the dimension of its vectors, such as m@3072",
	reflect.TypeFor[Triggers]():          triggersRule,
	reflect.TypeFor[Tier]():              "auto, default, flex or none",
	reflect.TypeFor[Effort]():            "none, minimal, low, medium, high, xhigh or max",
}

// variable returns the name of the variable that a field of Config is read from. The names of fields with those kinds
// are unique.
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
