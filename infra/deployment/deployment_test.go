package deployment

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/internal/testing/check"
)

func load(t *testing.T, config, stage string) Stage {
	t.Helper()
	return check.Got(Load(throughline.Template, []byte(config), stage))(t)
}

const whole = `
[dev.global.parameters]
stack_name = "app-memory"
region = "eu-west-1"
parameter_overrides = [
  "JwtIssuer=https://tenant.auth0.com/", "JwtAudience=app",
  "PineconeIndex=app-abc.svc.aped-1.pinecone.io,text-embedding-3-small@768,user",
  "SecretPrefix=app/memory", "BackgroundConcurrency=-1",
]

[dev.throughline.parameters]
account = "123456789012"
`

func TestStage(t *testing.T) {
	t.Parallel()
	s := load(t, whole, "dev")
	if s.Stack != "app-memory" || s.Region != "eu-west-1" || s.Account != "123456789012" || len(s.Problems()) != 0 {
		t.Errorf("got %q in %q with the problems %v", s.Stack, s.Region, s.Problems())
	}
	for name, want := range map[string]string{
		"SecretPrefix": "app/memory", "BackgroundTier": "auto", "CorsOrigins": "", "NoSuch": "",
	} {
		check.Equal(t, want, s.Value(name), "Value(%s)", name)
	}
	want := []Reservation{
		{"CoachConcurrency", "app-memory-coach", 50},
		{"PromptConcurrency", "app-memory-prompt", 100},
		{"BackgroundConcurrency", "app-memory-remember", -1},
		{"BackgroundConcurrency", "app-memory-summarize", -1},
	}
	check.Same(t, want, s.Reservations(), "reservations")
	before, list, _ := strings.Cut(whole, "[\n")
	list, _, _ = strings.Cut(list, "]")
	texts := regexp.MustCompile(`"(.*?)"[ ,]*`).ReplaceAllString(list, "$1 ")
	one := before + `"` + strings.Join(strings.Fields(texts), " ") + `"`
	check.Same(t, s.Given, load(t, one, "dev").Given, "a list (-) and one text (+)")
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, from, to, want string }{
		{"missing", `"JwtAudience=app",`, ``, "JwtAudience is missing: the aud claim"},
		{"empty", `JwtAudience=app`, `JwtAudience=`, "JwtAudience is empty: "},
		{
			"example", "https://tenant.auth0.com/", "https://issuer.example.com",
			"JwtIssuer=https://issuer.example.com is the example's value: the iss claim",
		},
		{"pattern", "https://tenant", "http://tenant", "JwtIssuer=http://tenant.auth0.com/ does not match https://.+: "},
		{"values", "SecretPrefix=app/memory", "LogLevel=LOUD", "LogLevel=LOUD is not one of DEBUG, INFO, WARN, ERROR: "},
		{
			"another model service", "SecretPrefix=app/memory", "OpenAIBaseUrl=https://a.example/v1",
			"OpenAIChatModel is missing: OpenAIBaseUrl=https://a.example/v1 is not OpenAI's",
		},
		{
			"index", "pinecone.io,text-embedding-3-small@768,user", "pinecone.io",
			"PineconeIndex=app-abc.svc.aped-1.pinecone.io does not match ",
		},
		{"unknown", "SecretPrefix=app/memory", "SecretPre=x", "SecretPre is not a parameter of template.yaml"},
		{"stack", `stack_name = "app-memory"`, "", "stack_name is missing: "},
		{
			"long stack", `"app-memory"`, `"` + strings.Repeat("a", 55) + `"`,
			`stack_name = "` + strings.Repeat("a", 55) + `" has 55 characters: at most 54`,
		},
		{
			"overlapping stack", "[dev.throughline", "[other.global.parameters]\nstack_name = \"app\"\n" +
				"[other.throughline.parameters]\naccount = \"123456789012\"\n[dev.throughline",
			"the stacks app-memory and app are in one account, and what may be done to the one's app-*",
		},
		{"region", `region = "eu-west-1"`, "", "region is missing: "},
		{
			"account", `account = "123456789012"`, "",
			`account = "" of [dev.throughline.parameters] is no AWS account: it has 12 digits`,
		},
		{"short account", `123456789012`, "12345678901", `account = "12345678901" of [dev.throughline.parameters] is no`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := load(t, strings.Replace(whole, c.from, c.to, 1), "dev").Problems()
			if len(got) != 1 || !strings.HasPrefix(got[0], c.want) || strings.Contains(got[0], "\n") {
				t.Errorf("got %q, want one line that begins with %q", got, c.want)
			}
		})
	}
}

// TestProductionHasATopic refuses a stage prod whose alarms reach nobody, unless that is said.
func TestProductionHasATopic(t *testing.T) {
	t.Parallel()
	prod := strings.ReplaceAll(whole, "[dev.", "[prod.")
	for given, want := range map[string]string{
		"": "AlarmTopicArn is missing: no alarm", `"AlarmTopicArn=none", `: "",
		`"AlarmTopicArn=arn:aws:sns:eu-west-1:1:t", `: "",
	} {
		got := load(t, strings.Replace(prod, `"SecretPrefix`, given+`"SecretPrefix`, 1), "prod").Problems()
		if strings.Join(got, "") != "" != (want != "") || want != "" && !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: %q, want %q", given, got, want)
		}
	}
}

// TestEveryRequiredParameterIsExplained keeps the explanations with the template.
func TestEveryRequiredParameterIsExplained(t *testing.T) {
	t.Parallel()
	required := 0
	for name, p := range load(t, whole, "dev").parameters {
		if p.isRequired() != (howToGet[name] != "") {
			t.Errorf("%s: required %t, explained as %q", name, p.isRequired(), howToGet[name])
		}
		if p.isRequired() {
			required++
		}
	}
	if required != len(howToGet) {
		t.Errorf("%d parameters are explained and %d required", len(howToGet), required)
	}
}

// TestExampleConfiguration expects that the project's own samconfig.toml is complete but for the values of its owner.
func TestExampleConfiguration(t *testing.T) {
	t.Parallel()
	config := check.Got(os.ReadFile("../../samconfig.toml"))(t)
	for _, stage := range []string{"dev", "prod"} {
		for _, p := range load(t, string(config), stage).Problems() {
			if !strings.Contains(p, "is the example's value") && !strings.HasPrefix(p, `account = ""`) {
				t.Errorf("%s: %s", stage, p)
			}
		}
	}
}

func TestConfigurationsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"no stage": `[prod.global.parameters]`, "no TOML": `[[`,
		"no pair": "[dev.global.parameters]\nparameter_overrides = [\"JwtIssuer\"]",
	} {
		if _, err := Load(throughline.Template, []byte(config), "dev"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
