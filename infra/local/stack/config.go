package stack

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/throughline/throughline/internal/config"
)

// DefaultTable is the name of the table unless TABLE_NAME gives another.
const DefaultTable = "throughline"

// Config says what a stack runs. Its environment variables are listed in docs/local-stack.md. AWS_*, PINECONE_* and
// OPENAI_* are the services' own.
type Config struct {
	// Port is where the HTTP API listens. The other ports are those of the services. 0 takes a free one.
	Port         Port `env:"PORT" envDefault:"8080"`
	DynamoDBPort Port `env:"DYNAMODB_PORT"`
	PineconePort Port `env:"PINECONE_PORT"`
	OpenAIPort   Port `env:"OPENAI_PORT"`
	LambdaPort   Port `env:"LAMBDA_PORT"`

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
	// Issuer and Audience, if set, are those of an own issuer, whose tokens the stack takes in the place of its own.
	// JWKSURL is where its keys are, if its configuration does not say so (OpenID Connect Discovery).
	Issuer   config.Endpoint `env:"JWT_ISSUER"`
	Audience string          `env:"JWT_AUDIENCE"`
	JWKSURL  config.Endpoint `env:"JWT_JWKS_URL"`
	// CORSOrigins are the origins, or "*", whose pages may use the stack.
	CORSOrigins Origins `env:"CORS_ORIGINS"`

	// The endpoints replace a local service with another.
	DynamoDBEndpoint    config.Endpoint `env:"AWS_ENDPOINT_URL_DYNAMODB"`
	StreamsEndpoint     config.Endpoint `env:"AWS_ENDPOINT_URL_DYNAMODB_STREAMS"`
	SQSEndpoint         string          `env:"AWS_ENDPOINT_URL_SQS"`
	PineconeHost        string          `env:"PINECONE_INDEX_HOST"`
	OpenAIBaseURL       config.Endpoint `env:"OPENAI_BASE_URL"`
	EmbeddingBaseURL    config.Endpoint `env:"OPENAI_EMBEDDING_BASE_URL"`
	Region              string          `env:"AWS_REGION" envDefault:"us-east-1"`
	AccessKeyID         string          `env:"AWS_ACCESS_KEY_ID" envDefault:"local"`
	SecretAccessKey     string          `env:"AWS_SECRET_ACCESS_KEY" envDefault:"local"`
	SessionToken        string          `env:"AWS_SESSION_TOKEN"`
	EmbeddingDimensions int             `env:"OPENAI_EMBEDDING_DIMENSIONS" envDefault:"1536"`
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
	cfg, err := config.Read[Config](environ)
	var wrong []string
	if err != nil {
		wrong = []string{err.Error()}
	} else {
		wrong = append(cfg.unusable(), cfg.unnamed(environ)...)
	}
	if len(wrong) > 0 {
		return Config{}, errors.New(strings.Join(wrong, "; "))
	}
	cfg.Environment = environ
	return cfg, nil
}

// unusable lists what does not go together, or is out of range.
func (c Config) unusable() (wrong []string) {
	if c.MaxNamespaces < 0 {
		wrong = append(wrong, fmt.Sprintf("PINECONE_MAX_NAMESPACES=%d: must be a whole number", c.MaxNamespaces))
	}
	if c.EmbeddingDimensions < 1 {
		wrong = append(wrong, fmt.Sprintf("OPENAI_EMBEDDING_DIMENSIONS=%d: must be above 0", c.EmbeddingDimensions))
	}
	switch {
	case c.Issuer != "" && c.Audience == "":
		wrong = append(wrong, "JWT_AUDIENCE: must be set with JWT_ISSUER, to what the issuer writes into aud")
	case c.Issuer == "" && c.Audience+string(c.JWKSURL) != "":
		wrong = append(wrong, "JWT_ISSUER: must be set with JWT_AUDIENCE and JWT_JWKS_URL, to the iss of the tokens")
	}
	return wrong
}

// unnamed lists the models without a name of services that have no default.
func (c Config) unnamed(environ map[string]string) (wrong []string) {
	for _, s := range []struct{ variable, address, model string }{
		{"OPENAI_BASE_URL", string(c.OpenAIBaseURL), "OPENAI_CHAT_MODEL"},
		{"OPENAI_EMBEDDING_BASE_URL", string(c.EmbeddingBaseURL), "OPENAI_EMBEDDING_MODEL"},
	} {
		if s.address != "" {
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
		if u, err := url.Parse(part); part != "*" && (err != nil || !isURL(part) || part != u.Scheme+"://"+u.Host) {
			return errors.New("origins such as http://localhost:3000,https://app.example, or *")
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

var errTriggers = errors.New("positive values of messages, memories, idle, sweep and canary, each once, as in " +
	"messages=20,idle=15m,sweep=1m")

// UnmarshalText reads "messages=20,idle=15m,sweep=1m". Each part is optional and may be given once.
func (t *Triggers) UnmarshalText(text []byte) error {
	given := map[string]bool{}
	for part := range strings.SplitSeq(string(text), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if given[name] {
			return errTriggers
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
	}
	if err != nil || !isPositive {
		return errTriggers
	}
	return nil
}
