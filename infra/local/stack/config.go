// Package stack starts and stops everything of the local stack (design 5, api 6): DynamoDB Local, the Pinecone data
// plane, the offline model, the Lambda API with the functions, the stream pollers and the schedule, and the HTTP API
// before them. Several stacks can run at once, also in one process.
package stack

import (
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DefaultTable is the table's name unless TABLE_NAME says another.
const DefaultTable = "throughline"

// Config says what a stack runs. Its variables are those of api 6 and the services' standard ones.
type Config struct {
	// Port is where the HTTP API listens, the others where the services do; 0 takes a free one.
	Port         int `env:"PORT" envDefault:"8080"`
	DynamoDBPort int `env:"DYNAMODB_PORT"`
	PineconePort int `env:"PINECONE_PORT"`
	OpenAIPort   int `env:"OPENAI_PORT"`
	LambdaPort   int `env:"LAMBDA_PORT"`

	// DataDir keeps everything between runs; empty keeps it in memory.
	DataDir string `env:"DATA_DIR"`
	// TableName is the table, made unless it is there.
	TableName string `env:"TABLE_NAME" envDefault:"throughline"`
	// Triggers replace production values, as "messages=20,idle=15m,sweep=1m".
	Triggers Triggers `env:"TRIGGERS"`
	// InitialStage is the migration stage of a table that has no state yet.
	InitialStage Stage `env:"INITIAL_STAGE" envDefault:"shared"`
	// CORSOrigins are the origins, or "*", whose pages may use the stack.
	CORSOrigins Origins `env:"CORS_ORIGINS"`
	// KeepPromptText keeps rendered prompts beside their manifests.
	KeepPromptText bool `env:"KEEP_PROMPT_TEXT" envDefault:"true"`

	// What follows replaces a local service with another.
	DynamoDBEndpoint    string `env:"AWS_ENDPOINT_URL_DYNAMODB"`
	StreamsEndpoint     string `env:"AWS_ENDPOINT_URL_DYNAMODB_STREAMS"`
	PineconeHost        string `env:"PINECONE_INDEX_HOST"`
	OpenAIBaseURL       string `env:"OPENAI_BASE_URL"`
	EmbeddingBaseURL    string `env:"OPENAI_EMBEDDING_BASE_URL"`
	Region              string `env:"AWS_REGION" envDefault:"us-east-1"`
	AccessKeyID         string `env:"AWS_ACCESS_KEY_ID" envDefault:"local"`
	SecretAccessKey     string `env:"AWS_SECRET_ACCESS_KEY" envDefault:"local"`
	SessionToken        string `env:"AWS_SESSION_TOKEN"`
	EmbeddingDimensions int    `env:"OPENAI_EMBEDDING_DIMENSIONS" envDefault:"1536"`

	// Environment is where the functions' own variables come from, beside the template's; Parse sets it.
	Environment map[string]string `env:"-"`
	// Functions build the handlers, by the names of their folders; each function of template.yaml needs one.
	Functions map[string]Constructor `env:"-"`
	// Repeat is the share of stream batches that come once more after they succeeded, as redelivery may.
	Repeat float64 `env:"-"`
	// Logger takes what the stack and the functions log, Metrics the functions' EMF lines, Out a line for each
	// service; nil discards.
	Logger  *slog.Logger `env:"-"`
	Metrics io.Writer    `env:"-"`
	Out     io.Writer    `env:"-"`
}

// Stage is a migration stage (design 4.6). Migration is not part of this release: tables are in the last stage.
type Stage string

// UnmarshalText takes the stage that there is.
func (s *Stage) UnmarshalText(text []byte) error {
	if string(text) != "shared" {
		return fmt.Errorf("INITIAL_STAGE=%s: this release has no migration yet, leave it out or set INITIAL_STAGE=shared", text)
	}
	*s = Stage(text)
	return nil
}

// Origins are origins of pages, as a browser names them.
type Origins []string

// UnmarshalText reads "http://localhost:3000,https://app.example", or "*" for all.
func (o *Origins) UnmarshalText(text []byte) error {
	for part := range strings.SplitSeq(string(text), ",") {
		part = strings.TrimSpace(part)
		if u, err := url.Parse(part); part != "*" && (err != nil || !isURL(part) || part != u.Scheme+"://"+u.Host) {
			return fmt.Errorf("CORS_ORIGINS=%s: must be origins such as http://localhost:3000,https://app.example, or *", text)
		}
		*o = append(*o, part)
	}
	return nil
}

// Triggers are the times and counts that bring a summary; zero leaves the template's.
type Triggers struct {
	Messages int
	Idle     time.Duration
	Sweep    time.Duration
}

// UnmarshalText reads "messages=20,idle=15m,sweep=1m", any part of it, each at most once.
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
	var positive bool
	switch name {
	case "messages":
		t.Messages, err = strconv.Atoi(value)
		positive = t.Messages > 0
	case "idle":
		t.Idle, err = time.ParseDuration(value)
		positive = t.Idle > 0
	case "sweep":
		t.Sweep, err = time.ParseDuration(value)
		positive = t.Sweep > 0
	default:
		return fmt.Errorf("TRIGGERS knows messages, idle and sweep, as in messages=20,idle=15m,sweep=1m, not %q", name)
	}
	if err != nil || !positive {
		return fmt.Errorf("TRIGGERS: %s=%q is not a positive value such as messages=20,idle=15m,sweep=1m", name, value)
	}
	return nil
}
