// Package deployment reads what a stage of samconfig.toml deploys: the stack, the region, and the values of the
// template's parameters. It says what is missing before SAM runs.
package deployment

import (
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"go.yaml.in/yaml/v4"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/internal/config"
)

// Stage is one stage of samconfig.toml.
type Stage struct {
	Name, Stack, Region string
	// Account is the AWS account of the stage: "account" in the section throughline of the stage.
	Account string
	// Given are the values of parameters that the stage overrides.
	Given      map[string]string
	parameters map[string]parameter
	// bucket and prefix are where SAM keeps what it deploys; without a bucket it has one of its own.
	bucket, prefix string
	// overlaps are the stages of the same account in whose names this one's lies, or the other way round.
	overlaps []string
}

// Release is the parameter that names what a stage runs. Each value makes a version of each function.
const Release = "Release"

// Index is the parameter with the current Pinecone index.
const Index = "PineconeIndex"

// Gradual is the parameter by which a release serves a part of the requests first, and goes back at an alarm.
const Gradual = "GradualReleases"

// Topic is the parameter with the topic that alarms go to. NoTopic is its value where somebody has decided that alarms
// are only shown.
const (
	Topic   = "AlarmTopicArn"
	NoTopic = "none"
)

// releaseBytes is the length of a release's name, in bytes of a hash.
const releaseBytes = 6

// ReleaseName returns the release of a hash of what the stage runs.
func ReleaseName(hash []byte) string { return hex.EncodeToString(hash[:releaseBytes]) }

// parameter is a parameter of the template.
type parameter struct {
	Default        yaml.Node `yaml:"Default"`
	Description    string    `yaml:"Description"`
	AllowedPattern string    `yaml:"AllowedPattern"`
	AllowedValues  []string  `yaml:"AllowedValues"`
}

func (p parameter) isRequired() bool { return p.Default.Kind == 0 }

// howToGet says, for each parameter without a default, where its value comes from.
var howToGet = map[string]string{
	"JwtIssuer": "the iss claim of your users' tokens, such as " +
		"https://cognito-idp.us-east-1.amazonaws.com/us-east-1_AbC (Cognito), " +
		"https://tenant.auth0.com/ (Auth0) or https://tenant.okta.com/oauth2/default (Okta)",
	"JwtAudience": "the aud claim of your users' tokens, or their client_id where they have no aud (Cognito); " +
		"several with commas between them",
	Index: "\"throughline bootstrap\" makes the Pinecone index and prints it; it begins with the \"Host\" of Pinecone's " +
		"console",
}

// stage is a stage in the form of samconfig.toml.
type stage struct {
	Global struct {
		Parameters struct {
			StackName string `toml:"stack_name"`
			Region    string `toml:"region"`
			Overrides any    `toml:"parameter_overrides"`
		} `toml:"parameters"`
	} `toml:"global"`
	Deploy struct {
		Parameters struct {
			Bucket string `toml:"s3_bucket"`
			Prefix string `toml:"s3_prefix"`
		} `toml:"parameters"`
	} `toml:"deploy"`
	Throughline struct {
		Parameters struct {
			Account string `toml:"account"`
		} `toml:"parameters"`
	} `toml:"throughline"`
}

// Open reads a stage from a file in the form of samconfig.toml, for the project's template.
func Open(path, stage string) (Stage, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Stage{}, err
	}
	return Load(throughline.Template, text, stage)
}

// Load reads a stage from the texts of the template and of samconfig.toml.
func Load(template, config []byte, name string) (Stage, error) {
	var t struct {
		Parameters map[string]parameter `yaml:"Parameters"`
	}
	if err := yaml.Load(template, &t); err != nil {
		return Stage{}, fmt.Errorf("read template: %w", err)
	}
	var stages map[string]toml.Primitive
	meta, err := toml.Decode(string(config), &stages)
	if err != nil {
		return Stage{}, fmt.Errorf("read samconfig: %w", err)
	}
	raw, ok := stages[name]
	if !ok {
		return Stage{}, fmt.Errorf("samconfig has no stage %q", name)
	}
	var s stage
	if err := meta.PrimitiveDecode(raw, &s); err != nil {
		return Stage{}, fmt.Errorf("read stage %s: %w", name, err)
	}
	p := s.Global.Parameters
	out := Stage{
		Name: name, Stack: p.StackName, Region: p.Region, Account: s.Throughline.Parameters.Account,
		parameters: t.Parameters, bucket: s.Deploy.Parameters.Bucket, prefix: s.Deploy.Parameters.Prefix,
	}
	out.overlaps = overlaps(meta, stages, out)
	out.Given, err = overrides(p.Overrides)
	return out, err
}

// overlaps lists the stages of the account whose stack's name and a hyphen begin this one's, or begin with it: the
// rights of the one hold for the other.
func overlaps(meta toml.MetaData, stages map[string]toml.Primitive, of Stage) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(stages)) {
		var s stage
		if name == of.Name || meta.PrimitiveDecode(stages[name], &s) != nil {
			continue
		}
		other := s.Global.Parameters.StackName
		if other == "" || of.Account == "" || s.Throughline.Parameters.Account != of.Account {
			continue
		}
		if strings.HasPrefix(other, of.Stack+"-") || strings.HasPrefix(of.Stack, other+"-") {
			out = append(out, other)
		}
	}
	return out
}

// overrides reads parameter_overrides, which is a list of texts or one text with spaces.
func overrides(v any) (map[string]string, error) {
	var pairs []string
	switch v := v.(type) {
	case nil:
	case string:
		pairs = strings.Fields(v)
	case []any:
		for _, e := range v {
			pairs = append(pairs, fmt.Sprint(e))
		}
	}
	out := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("read parameter_overrides: %q is not Name=value", pair)
		}
		out[name] = strings.Trim(value, `"'`)
	}
	return out, nil
}

// Has reports whether the template has a parameter.
func (s Stage) Has(name string) bool {
	_, ok := s.parameters[name]
	return ok
}

// Value returns the value of a parameter: the given one, or the template's default.
func (s Stage) Value(name string) string {
	if v, ok := s.Given[name]; ok {
		return v
	}
	p := s.parameters[name]
	return p.Default.Value
}

// Secrets lists the keys that the stage needs.
func (s Stage) Secrets() []config.Secret {
	return config.Secrets(s.Value("BackgroundKey") == "true", s.Value("OtlpEndpoint") != "")
}

// SecretName returns the name of the secret with a key, which has the host of the service that the key is for.
func (s Stage) SecretName(of config.Secret) string {
	services := config.OpenAI{BaseURL: s.Value(chatAddress), EmbeddingBaseURL: s.Value(embeddingAddress)}
	return of.Name(s.Value("SecretPrefix"), services.Address(of))
}

// SharesService reports whether chat and embeddings are one service, and so one key.
func (s Stage) SharesService() bool { return s.Value(chatAddress) == s.Value(embeddingAddress) }

// The parameters that name a model service.
const (
	chatAddress      = "OpenAIBaseUrl"
	embeddingAddress = "OpenAIEmbeddingBaseUrl"
)

// unnamed says that the chat's model of another service than OpenAI's has no name.
func (s Stage) unnamed() []string {
	const model = "OpenAIChatModel"
	if !s.Has(chatAddress) || config.IsOpenAI(s.Value(chatAddress)) || s.Given[model] != "" {
		return nil
	}
	return []string{fmt.Sprintf("%s is missing: %s=%s is not OpenAI's, so name a model of that service",
		model, chatAddress, s.Value(chatAddress))}
}

// Reservation is how many concurrent executions a parameter reserves for a function. -1 reserves nothing.
type Reservation struct {
	Parameter, Function string
	Executions          int
}

// Concurrency is the parameter with the reservation of each function that has one.
var Concurrency = map[string]string{
	"coach": "CoachConcurrency", "prompt": "PromptConcurrency",
	"remember": "BackgroundConcurrency", "summarize": "BackgroundConcurrency",
}

// Reservations lists the reservations of the stage.
func (s Stage) Reservations() []Reservation {
	var out []Reservation
	for _, function := range slices.Sorted(maps.Keys(Concurrency)) {
		name := Concurrency[function]
		if n, err := strconv.Atoi(s.Value(name)); err == nil {
			out = append(out, Reservation{name, s.Stack + "-" + function, n})
		}
	}
	return out
}

// longestStack is the longest name of a stack: those of its functions are longer, such as <stack>-summarize.
const longestStack = 64 - len("-summarize")

// account matches the id of an AWS account.
var account = regexp.MustCompile(`^\d{12}$`)

// placeholder matches the values of the samconfig.toml that comes with the project.
var placeholder = regexp.MustCompile(`(^|[./])example\.com`)

// Problems lists what the stage lacks, one line each, with how to get it.
func (s Stage) Problems() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.parameters)) {
		if problem := s.problem(name, s.parameters[name]); problem != "" {
			out = append(out, problem)
		}
	}
	out = append(out, s.unnamed()...)
	for _, name := range slices.Sorted(maps.Keys(s.Given)) {
		if _, ok := s.parameters[name]; !ok {
			out = append(out, name+" is not a parameter of template.yaml")
		}
	}
	if s.Stack == "" {
		out = append(out, "stack_name is missing: the name of the stack")
	}
	if len(s.Stack) > longestStack {
		out = append(out, fmt.Sprintf("stack_name = %q has %d characters: at most %d, because the names of functions have "+
			"at most 64", s.Stack, len(s.Stack), longestStack))
	}
	for _, other := range s.overlaps {
		out = append(out, fmt.Sprintf("the stacks %s and %s are in one account, and what may be done to the one's %s-* may "+
			"be done to the other: name them apart, such as app-dev and app-prod", s.Stack, other, min(s.Stack, other)))
	}
	if s.Name == "prod" && s.Value(Topic) == "" {
		out = append(out, Topic+" is missing: no alarm would reach anybody. docs/deploying.md has the commands that make a "+
			"topic; "+Topic+"="+NoTopic+" says that alarms are only shown")
	}
	if s.Region == "" {
		out = append(out, "region is missing: the AWS region, such as us-east-1")
	}
	if !account.MatchString(s.Account) {
		out = append(out, fmt.Sprintf("account = %q of [%s.throughline.parameters] is no AWS account: it has 12 digits, and "+
			"\"aws sts get-caller-identity\" prints it", s.Account, s.Name))
	}
	return out
}

func (s Stage) problem(name string, p parameter) string {
	value, given := s.Given[name]
	how := howToGet[name]
	if how == "" {
		how = p.Description
	}
	switch {
	case !given && p.isRequired():
		return name + " is missing: " + how
	case !given:
		return ""
	case p.isRequired() && value == "":
		return name + " is empty: " + how
	case placeholder.MatchString(value):
		return fmt.Sprintf("%s=%s is the example's value: %s", name, value, how)
	case p.AllowedPattern != "" && !matches(p.AllowedPattern, value):
		return fmt.Sprintf("%s=%s does not match %s: %s", name, value, p.AllowedPattern, how)
	case len(p.AllowedValues) > 0 && !slices.Contains(p.AllowedValues, value):
		return fmt.Sprintf("%s=%s is not one of %s: %s", name, value, strings.Join(p.AllowedValues, ", "), how)
	}
	return ""
}

// matches reports whether a pattern of CloudFormation matches the whole value. A pattern that Go does not know matches.
func matches(pattern, value string) bool {
	re, err := regexp.Compile("^(?:" + pattern + ")$")
	return err != nil || re.MatchString(value)
}
