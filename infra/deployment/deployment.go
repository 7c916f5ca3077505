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
}

// Release is the parameter that names what a stage runs. Each value makes a version of each function.
const Release = "Release"

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
	"PineconeIndexHost": "the host of the Pinecone index: \"make bootstrap-aws\" makes the index and prints it, or see " +
		"\"Host\" in Pinecone's console",
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
func Load(template, config []byte, stage string) (Stage, error) {
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
	raw, ok := stages[stage]
	if !ok {
		return Stage{}, fmt.Errorf("samconfig has no stage %q", stage)
	}
	var s struct {
		Global struct {
			Parameters struct {
				StackName string `toml:"stack_name"`
				Region    string `toml:"region"`
				Overrides any    `toml:"parameter_overrides"`
			} `toml:"parameters"`
		} `toml:"global"`
		Throughline struct {
			Parameters struct {
				Account string `toml:"account"`
			} `toml:"parameters"`
		} `toml:"throughline"`
	}
	if err := meta.PrimitiveDecode(raw, &s); err != nil {
		return Stage{}, fmt.Errorf("read stage %s: %w", stage, err)
	}
	p := s.Global.Parameters
	out := Stage{
		Name: stage, Stack: p.StackName, Region: p.Region, Account: s.Throughline.Parameters.Account,
		parameters: t.Parameters,
	}
	out.Given, err = overrides(p.Overrides)
	return out, err
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
	return config.Secrets(s.Value("BackgroundKey") == "true", s.Value("OtlpHeaders") == "true")
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

// unnamed says which model of another service than OpenAI's has no name.
func (s Stage) unnamed() []string {
	var out []string
	models := map[string]string{chatAddress: "OpenAIChatModel", embeddingAddress: "OpenAIEmbeddingModel"}
	for address, model := range models {
		if s.Has(address) && !config.IsOpenAI(s.Value(address)) && s.Given[model] == "" {
			out = append(out, fmt.Sprintf("%s is missing: %s=%s is not OpenAI's, so name a model of that service",
				model, address, s.Value(address)))
		}
	}
	slices.Sort(out)
	return out
}

// Reservation is how many concurrent executions a parameter reserves for a function. -1 reserves nothing.
type Reservation struct {
	Parameter, Function string
	Executions          int
}

// Reservations lists the reservations of the stage. CoachConcurrency is that of the function coach.
func (s Stage) Reservations() []Reservation {
	var out []Reservation
	for _, name := range slices.Sorted(maps.Keys(s.parameters)) {
		function, ok := strings.CutSuffix(name, "Concurrency")
		if n, err := strconv.Atoi(s.Value(name)); ok && err == nil {
			out = append(out, Reservation{name, s.Stack + "-" + strings.ToLower(function), n})
		}
	}
	return out
}

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
