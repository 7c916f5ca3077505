package stack

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/throughline/throughline/internal/config"
)

// Config says what a stack runs. Its variables are those of the functions, and some of its own (docs/local-stack.md).
type Config struct {
	config.Config

	// Port is where the HTTP API listens, the others where services do. 0 takes a free one.
	Port         Port `env:"PORT" envDefault:"8080"`
	DynamoDBPort Port `env:"DYNAMODB_PORT"`
	PineconePort Port `env:"PINECONE_PORT"`
	OpenAIPort   Port `env:"OPENAI_PORT"`
	LambdaPort   Port `env:"LAMBDA_PORT"`
	// App is the file of the app's registry (docs/extending.md). Without one it is that of the example.
	App string `env:"APP"`
	// DataDir is the folder that keeps everything between runs. Without one everything is in memory.
	DataDir string `env:"DATA_DIR"`
	// MetricsFile, if set, is the file to which the functions' EMF lines are added, as CloudWatch would read them.
	MetricsFile string `env:"METRICS_FILE"`
	// MaxNamespaces is how many namespaces the local vector index allows. 0 is no limit.
	MaxNamespaces int `env:"PINECONE_MAX_NAMESPACES"`

	// Issuer, if set, is an own issuer, whose tokens the stack takes in the place of its own.
	Issuer config.Endpoint `env:"JWT_ISSUER"`
	// CORSOrigins are the origins, or "*", whose pages may use the stack.
	CORSOrigins Origins `env:"CORS_ORIGINS"`
	// The endpoints replace a local service with another.
	DynamoDBEndpoint config.Endpoint `env:"AWS_ENDPOINT_URL_DYNAMODB"`
	StreamsEndpoint  config.Endpoint `env:"AWS_ENDPOINT_URL_DYNAMODB_STREAMS"`
	OpenAIBaseURL    config.Endpoint `env:"OPENAI_BASE_URL"`
	EmbeddingBaseURL config.Endpoint `env:"OPENAI_EMBEDDING_BASE_URL"`

	// Environment holds the values of all variables. Parse sets it.
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

// defaults are the values that a local stack has where the functions have others, or none.
var defaults = map[string]string{
	"TABLE_NAME": "throughline", "ERASURES_TABLE": "throughline-erasures",
	"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "PINECONE_API_KEY": "local", "OPENAI_API_KEY": "local",
	"KEEP_PROMPT_TEXT": "true",
	"EVENT_BUS_NAME":   "local",
	// The local stack has no limits of users unless they are asked for.
	"REQUESTS_PER_MINUTE": "0", "ANSWERS_AT_ONCE": "0",
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
	all := maps.Clone(defaults)
	for name, value := range environ {
		if value != "" {
			all[name] = value
		}
	}
	cfg, err := config.Read[Config](all)
	if err == nil {
		err = cfg.problem(all)
	}
	if err != nil {
		return Config{}, err
	}
	cfg.Environment = all
	return cfg, nil
}

// problem says what does not go together.
func (c Config) problem(environ map[string]string) error {
	if hasAudience := len(c.Auth.Audiences) > 0; hasAudience != c.hasOwnIssuer() {
		return errors.New("JWT_ISSUER and JWT_AUDIENCE: must be set together, to the iss and the aud of the tokens")
	}
	var wrong []error
	if base := string(c.OpenAIBaseURL); base != "" {
		wrong = append(wrong, config.Named(environ, "OPENAI_BASE_URL", base, "OPENAI_CHAT_MODEL"))
	}
	if base := string(c.EmbeddingBaseURL); base != "" {
		wrong = append(wrong, config.Named(environ, "OPENAI_EMBEDDING_BASE_URL", base, "OPENAI_EMBEDDING_MODEL"))
	}
	return errors.Join(wrong...)
}

// hasOwnIssuer reports whether the tokens of another issuer are taken.
func (c Config) hasOwnIssuer() bool { return c.Issuer != "" }

// Port is a port of this machine. 0 takes a free one.
type Port uint16

// UnmarshalText reads a port.
func (p *Port) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 16)
	if err != nil {
		return errors.New("a port from 1 to 65535, or 0 for any that is free")
	}
	*p = Port(n)
	return nil
}

// Origins are origins of web pages, as a browser names them.
type Origins []string

// UnmarshalText reads "http://localhost:3000,https://app.example", or "*" for all.
func (o *Origins) UnmarshalText(text []byte) error {
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		err := new(config.Endpoint).UnmarshalText([]byte(part))
		if u, _ := url.Parse(part); part != "*" && (err != nil || part != u.Scheme+"://"+u.Host) {
			return errors.New("origins such as http://localhost:3000,https://app.example, or *")
		}
		*o = append(*o, part)
	}
	return nil
}
