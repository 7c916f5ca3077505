package stack

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/throughline/throughline/internal/config"
	"github.com/throughline/throughline/internal/migration"
)

// DefaultTable is the name of the table unless TABLE_NAME gives another.
const DefaultTable = "throughline"

// Config says what a stack runs. Its environment variables are listed in README; AWS_*, PINECONE_* and OPENAI_* are the
// services' own.
type Config struct {
	// Port is where the HTTP API listens. The other ports are those of the services. 0 takes a free one.
	Port         int `env:"PORT" envDefault:"8080"`
	DynamoDBPort int `env:"DYNAMODB_PORT"`
	PineconePort int `env:"PINECONE_PORT"`
	OpenAIPort   int `env:"OPENAI_PORT"`
	LambdaPort   int `env:"LAMBDA_PORT"`

	// App is the file of the app's registry (docs/extending.md). Without one it is that of the example.
	App string `env:"APP"`
	// DataDir is the folder that keeps everything between runs. Without one everything is in memory.
	DataDir string `env:"DATA_DIR"`
	// TableName is the table. It is made unless it exists.
	TableName string `env:"TABLE_NAME" envDefault:"throughline"`
	// ErasuresTable is the ledger of erasures. It is made unless it exists.
	ErasuresTable string `env:"ERASURES_TABLE" envDefault:"throughline-erasures"`
	// Triggers replace the template's values, as in "messages=20,idle=15m,sweep=1m".
	Triggers Triggers `env:"TRIGGERS"`
	// InitialStage is the migration stage of a table that has no state yet.
	InitialStage MigrationStage `env:"INITIAL_STAGE" envDefault:"shared"`
	// Issuer and Audience, if set, are those of an own issuer, whose tokens the stack takes in the place of its own.
	// JWKSURL is where its keys are, if its configuration does not say so (OpenID Connect Discovery).
	Issuer   string `env:"JWT_ISSUER"`
	Audience string `env:"JWT_AUDIENCE"`
	JWKSURL  string `env:"JWT_JWKS_URL"`
	// CORSOrigins are the origins, or "*", whose pages may use the stack.
	CORSOrigins Origins `env:"CORS_ORIGINS"`
	// KeepPromptText keeps rendered prompts beside their manifests.
	KeepPromptText bool `env:"KEEP_PROMPT_TEXT" envDefault:"true"`
	// CacheFirst keeps what changes with each turn of a chat small beside what a model's server may have in its cache.
	CacheFirst bool `env:"CACHE_FIRST" envDefault:"true"`

	// The endpoints replace a local service with another.
	DynamoDBEndpoint    string `env:"AWS_ENDPOINT_URL_DYNAMODB"`
	StreamsEndpoint     string `env:"AWS_ENDPOINT_URL_DYNAMODB_STREAMS"`
	SQSEndpoint         string `env:"AWS_ENDPOINT_URL_SQS"`
	PineconeHost        string `env:"PINECONE_INDEX_HOST"`
	OpenAIBaseURL       string `env:"OPENAI_BASE_URL"`
	EmbeddingBaseURL    string `env:"OPENAI_EMBEDDING_BASE_URL"`
	Region              string `env:"AWS_REGION" envDefault:"us-east-1"`
	AccessKeyID         string `env:"AWS_ACCESS_KEY_ID" envDefault:"local"`
	SecretAccessKey     string `env:"AWS_SECRET_ACCESS_KEY" envDefault:"local"`
	SessionToken        string `env:"AWS_SESSION_TOKEN"`
	EmbeddingDimensions int    `env:"OPENAI_EMBEDDING_DIMENSIONS" envDefault:"1536"`
	// MaxNamespaces is how many namespaces the local vector index allows. 0 is no limit.
	MaxNamespaces int `env:"PINECONE_MAX_NAMESPACES"`

	// MetricsFile, if set, is the file to which the functions' EMF lines are added, as CloudWatch would read them.
	MetricsFile string `env:"METRICS_FILE"`

	// Environment holds the user's values for the functions' own variables. Parse sets it.
	Environment map[string]string `env:"-"`
	// Functions build the handlers, by the names of their folders. Each function of template.yaml needs one.
	Functions map[string]Constructor `env:"-"`
	// Repeat is the share of stream batches that are delivered once more after they succeeded.
	Repeat float64 `env:"-"`
	// Logger takes the logs of the stack and of the functions, Metrics the functions' EMF lines, and Out a line for
	// each service. Nil discards.
	Logger  *slog.Logger `env:"-"`
	Metrics io.Writer    `env:"-"`
	Out     io.Writer    `env:"-"`
}

// dataPath returns a path in the data folder, or "" if nothing is stored.
func (c Config) dataPath(name string) string {
	if c.DataDir == "" {
		return ""
	}
	return filepath.Join(c.DataDir, name)
}

// where describes to the user where data is stored.
func (c Config) where() string {
	if c.DataDir == "" {
		return "in memory"
	}
	return "kept in " + c.DataDir
}

// Parse reads a configuration from an environment. The error is one line that names every variable with a wrong value,
// and says what each must be.
func Parse(environ map[string]string) (Config, error) {
	cfg, err := env.ParseAsWithOptions[Config](env.Options{
		Environment: environ, FuncMap: map[reflect.Type]env.ParserFunc{reflect.TypeFor[bool](): parseSwitch},
	})
	wrong := unreadable(err, environ)
	if err == nil {
		wrong = append(cfg.unusable(), cfg.unnamed(environ)...)
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return Config{}, errors.New(strings.Join(wrong, "; "))
	}
	cfg.Environment = environ
	return cfg, nil
}

// parseSwitch reads on and off, and Go's spellings of true and false.
func parseSwitch(text string) (any, error) {
	switch strings.ToLower(text) {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return strconv.ParseBool(text)
}

// unreadable rewords the parser's errors. The parser names fields and Go types; users know variables and values.
func unreadable(err error, environ map[string]string) (wrong []string) {
	if err == nil {
		return nil
	}
	all, _ := errors.AsType[env.AggregateError](err)
	for _, one := range all.Errors {
		parse, ok := errors.AsType[env.ParseError](one)
		field, known := reflect.TypeFor[Config]().FieldByName(parse.Name)
		if !ok || !known {
			wrong = append(wrong, one.Error())
			continue
		}
		name := field.Tag.Get("env")
		switch field.Type.Kind() {
		case reflect.Int:
			wrong = append(wrong, fmt.Sprintf("%s=%s: must be %s", name, environ[name], numberRule(name)))
		case reflect.Bool:
			wrong = append(wrong, fmt.Sprintf("%s=%s: must be on or off, or true or false", name, environ[name]))
		default: // a type of this package, whose own error is complete
			wrong = append(wrong, parse.Err.Error())
		}
	}
	if len(wrong) == 0 {
		wrong = []string{err.Error()}
	}
	return wrong
}

func numberRule(variable string) string {
	if strings.HasSuffix(variable, "PORT") {
		return "a port from 1 to 65535, or 0 for any that is free"
	}
	return "a whole number above 0"
}

// unusable lists the values that could be read and are out of range.
func (c Config) unusable() (wrong []string) {
	refuse := func(variable string, value any, rule string) {
		wrong = append(wrong, fmt.Sprintf("%s=%v: must be %s", variable, value, rule))
	}
	for variable, port := range map[string]int{
		"PORT": c.Port, "DYNAMODB_PORT": c.DynamoDBPort, "PINECONE_PORT": c.PineconePort, "OPENAI_PORT": c.OpenAIPort,
		"LAMBDA_PORT": c.LambdaPort,
	} {
		if port < 0 || port > 65535 {
			refuse(variable, port, numberRule(variable))
		}
	}
	if c.EmbeddingDimensions < 1 {
		refuse("OPENAI_EMBEDDING_DIMENSIONS", c.EmbeddingDimensions, numberRule(""))
	}
	if c.MaxNamespaces < 0 {
		refuse("PINECONE_MAX_NAMESPACES", c.MaxNamespaces, numberRule(""))
	}
	for variable, address := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": c.DynamoDBEndpoint, "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": c.StreamsEndpoint,
		"OPENAI_BASE_URL": c.OpenAIBaseURL, "OPENAI_EMBEDDING_BASE_URL": c.EmbeddingBaseURL,
		"JWT_ISSUER": c.Issuer, "JWT_JWKS_URL": c.JWKSURL,
	} {
		if address != "" && !isURL(address) {
			refuse(variable, address, "a URL that begins with http:// or https://")
		}
	}
	switch {
	case c.Issuer != "" && c.Audience == "":
		wrong = append(wrong, "JWT_AUDIENCE: must be set with JWT_ISSUER, to what the issuer writes into aud")
	case c.Issuer == "" && c.Audience+c.JWKSURL != "":
		wrong = append(wrong, "JWT_ISSUER: must be set with JWT_AUDIENCE and JWT_JWKS_URL, to the iss of the tokens")
	}
	return wrong
}

// unnamed lists the models without a name of services that have no default.
func (c Config) unnamed(environ map[string]string) (wrong []string) {
	for _, s := range []struct{ variable, address, model string }{
		{"OPENAI_BASE_URL", c.OpenAIBaseURL, "OPENAI_CHAT_MODEL"},
		{"OPENAI_EMBEDDING_BASE_URL", c.EmbeddingBaseURL, "OPENAI_EMBEDDING_MODEL"},
	} {
		if isURL(s.address) {
			if err := config.Named(environ, s.variable, s.address, s.model); err != nil {
				wrong = append(wrong, err.Error())
			}
		}
	}
	return wrong
}

// hasOwnIssuer reports whether the tokens of another issuer are taken.
func (c Config) hasOwnIssuer() bool { return c.Issuer != "" }

func isURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// MigrationStage is a stage of the migration.
type MigrationStage string

// UnmarshalText reads a stage.
func (s *MigrationStage) UnmarshalText(text []byte) error {
	if _, err := migration.ParseStage(string(text)); err != nil {
		return fmt.Errorf("INITIAL_STAGE=%s: must be embedded, dual, shared-read or shared", text)
	}
	*s = MigrationStage(text)
	return nil
}

// Origins are origins of web pages, as a browser names them.
type Origins []string

// UnmarshalText reads "http://localhost:3000,https://app.example", or "*" for all.
func (o *Origins) UnmarshalText(text []byte) error {
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		if u, err := url.Parse(part); part != "*" && (err != nil || !isURL(part) || part != u.Scheme+"://"+u.Host) {
			return fmt.Errorf("CORS_ORIGINS=%s: must be origins such as http://localhost:3000,https://app.example, or *",
				text)
		}
		*o = append(*o, part)
	}
	return nil
}

// Triggers are the times and counts that trigger a summary, the extraction of memories and the sweep. Zero keeps the
// template's value. The canary is off without a rate.
type Triggers struct {
	Messages int
	Memories int
	Idle     time.Duration
	Sweep    time.Duration
	Canary   time.Duration
}

// UnmarshalText reads "messages=20,idle=15m,sweep=1m". Each part is optional and may be given once.
func (t *Triggers) UnmarshalText(text []byte) error {
	given := map[string]bool{}
	for part := range strings.SplitSeq(string(text), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if given[name] {
			return fmt.Errorf("TRIGGERS=%s: %s is given more than once", text, name)
		}
		given[name] = true
		if err := t.set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (t *Triggers) set(name, value string) (err error) {
	count := map[string]*int{"messages": &t.Messages, "memories": &t.Memories}[name]
	period := map[string]*time.Duration{"idle": &t.Idle, "sweep": &t.Sweep, "canary": &t.Canary}[name]
	var isPositive bool
	switch {
	case count != nil:
		*count, err = strconv.Atoi(value)
		isPositive = *count > 0
	case period != nil:
		*period, err = time.ParseDuration(value)
		isPositive = *period > 0
	default:
		return fmt.Errorf("TRIGGERS knows messages, memories, idle, sweep and canary, as in messages=20,idle=15m,sweep=1m, "+
			"not %q", name)
	}
	if err != nil || !isPositive {
		return fmt.Errorf("TRIGGERS: %s=%q is not a positive value such as messages=20,idle=15m,sweep=1m", name, value)
	}
	return nil
}
