package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/testing/check"
)

const ready = `[dev.global.parameters]
stack_name = "app-dev"
region = "us-east-1"
parameter_overrides = [
  "JwtIssuer=https://tenant.auth0.com/", "JwtAudience=app", "PineconeIndex=app.svc.pinecone.io,m@768,user",
  "SecretPrefix=app/dev",
]

[dev.throughline.parameters]
account = "123456789012"
`

// chatSecret is the name of the secret with the chat's key.
const chatSecret = "app/dev/openai-api-key@api.openai.com"

// fakeAccount is the account 123456789012 with Secrets Manager and Lambda, as far as the command asks them.
type fakeAccount struct {
	// refuses is the error of every call, unless it is empty.
	refuses string
	// missing are the secrets that do not exist.
	missing []string
	// deleted is a secret that is being deleted.
	deleted string
	// unreserved is what the account has left, held what each function of a stack that is there has reserved.
	unreserved int
	held       map[string]int
	// stack is the status of the stage's stack, empty where there is none.
	stack string
	// table is the table that the stack has adopted.
	table string
	// firing is an alarm that fires.
	firing string
}

// describeAlarms answers in CloudWatch's protocol.
func (a fakeAccount) describeAlarms(w http.ResponseWriter) {
	alarms := cbor.List{}
	if a.firing != "" {
		alarms = append(alarms, cbor.Map{"AlarmName": cbor.String(a.firing)})
	}
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	_, _ = w.Write(cbor.Encode(cbor.Map{"MetricAlarms": alarms}))
}

func (a fakeAccount) listStackResources(w http.ResponseWriter) {
	fmt.Fprint(w, `<ListStackResourcesResponse><ListStackResourcesResult><StackResourceSummaries><member>`+
		`<LogicalResourceId>Table</LogicalResourceId><PhysicalResourceId>app-dev-Table-1X</PhysicalResourceId>`+
		`<ResourceType>AWS::DynamoDB::Table</ResourceType><ResourceStatus>DELETE_SKIPPED</ResourceStatus></member>`+
		`</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>`)
}

func (a fakeAccount) describeStacks(w http.ResponseWriter) {
	if a.stack == "" || a.refuses != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `<ErrorResponse><Error><Code>ValidationError</Code><Message>no stack</Message></Error></ErrorResponse>`)
		return
	}
	fmt.Fprintf(w, `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>app-dev</StackName>`+
		`<StackStatus>%s</StackStatus><Parameters><member><ParameterKey>ExistingTableName</ParameterKey>`+
		`<ParameterValue>%s</ParameterValue></member></Parameters></member></Stacks></DescribeStacksResult>`+
		`</DescribeStacksResponse>`, a.stack, a.table)
}

func (a fakeAccount) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/DescribeAlarms") {
		a.describeAlarms(w)
		return
	}
	if r.FormValue("Action") == "DescribeStacks" {
		a.describeStacks(w)
		return
	}
	if r.FormValue("Action") == "ListStackResources" {
		a.listStackResources(w)
		return
	}
	if r.Header.Get("Content-Type") == "application/x-www-form-urlencoded" { // STS, which needs no right
		fmt.Fprint(w, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">`+
			`<GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
		return
	}
	var in struct{ SecretID string }
	_ = json.NewDecoder(r.Body).Decode(&in)
	function, isFunction := strings.CutPrefix(r.URL.Path, "/2019-09-30/functions/")
	function = strings.TrimSuffix(function, "/concurrency")
	held, isDeployed := a.held[function]
	refuse := func(code string) {
		w.Header().Set("X-Amzn-Errortype", code)
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":%q,"Message":"refused"}`, code)
	}
	switch {
	case a.refuses != "":
		refuse(a.refuses)
	case slices.Contains(a.missing, in.SecretID), isFunction && !isDeployed:
		refuse("ResourceNotFoundException")
	case isFunction:
		fmt.Fprintf(w, `{"ReservedConcurrentExecutions":%d}`, held)
	case strings.HasPrefix(r.URL.Path, "/2016-08-19/account-settings"):
		fmt.Fprintf(w, `{"AccountLimit":{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":%d}}`, a.unreserved)
	case a.deleted != "" && a.deleted == in.SecretID:
		fmt.Fprint(w, `{"Name":"a secret","DeletedDate":1764500000}`)
	default:
		fmt.Fprint(w, `{"Name":"a secret"}`)
	}
}

// newIssuer starts an issuer of tokens at tenant.auth0.com, as the command reads it.
func newIssuer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, server.URL+"/", server.URL+"/keys")
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"keys":[]}`) })
	return server
}

// problems asks for what a configuration and an account lack. The issuer https://tenant.auth0.com/ is a local one.
func problems(t *testing.T, config string, a fakeAccount, credentials bool,
	of func(context.Context, *http.Client, deployment.Stage) []string,
) string {
	t.Helper()
	server := httptest.NewServer(a)
	defer server.Close()
	key := ""
	if credentials {
		key = "local"
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": key,
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_CONFIG_FILE": "/dev/null",
		"AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
		"AWS_EC2_METADATA_DISABLED":   "true",
	} {
		t.Setenv(name, value)
	}
	path := filepath.Join(t.TempDir(), "samconfig.toml")
	issuer := newIssuer(t)
	config = strings.ReplaceAll(config, "https://tenant.auth0.com", issuer.URL)
	check.OK(t, os.WriteFile(path, []byte(config), 0o600))
	s := check.Got(deployment.Open(path, "dev"))(t)
	return strings.Join(of(t.Context(), issuer.Client(), s), "\n")
}

func gradual(ctx context.Context, client *http.Client, s deployment.Stage) []string {
	return Problems(ctx, client, s, false)
}

func TestDeploy(t *testing.T) {
	enough := fakeAccount{unreserved: 450}
	for _, c := range []struct {
		name, config string
		account      fakeAccount
		anonymous    bool
		says         []string
	}{
		{name: "ready", config: ready, account: enough},
		{name: "no right to look", config: ready, account: fakeAccount{refuses: "AccessDeniedException"}},
		{
			name: "two missing", config: strings.NewReplacer(`"JwtAudience=app", `, "",
				`"JwtIssuer=https://tenant.auth0.com/", `, "").Replace(ready),
			says: []string{"JwtAudience is missing: the aud claim", "JwtIssuer is missing: the iss claim"},
		},
		{
			name: "no secrets", config: ready,
			account: fakeAccount{unreserved: 450, missing: []string{chatSecret, "app/dev/cursor-key"}},
			says: []string{
				"the secret " + chatSecret + ` does not exist in us-east-1: "throughline bootstrap -apply -env dev" makes it`,
				`the secret app/dev/cursor-key does not exist`,
			},
		},
		{
			name: "a secret that is being deleted", config: ready,
			account: fakeAccount{unreserved: 450, deleted: chatSecret},
			says: []string{
				"the secret " + chatSecret + " is being deleted, and no function can read it: " +
					`"aws secretsmanager restore-secret --region us-east-1 --secret-id ` + chatSecret + `" keeps it`,
			},
		},
		{
			name: "one execution too few", config: ready, account: fakeAccount{unreserved: 449},
			says: []string{
				"the functions reserve 350 concurrent executions (CoachConcurrency=50, " +
					"PromptConcurrency=100, BackgroundConcurrency=100, BackgroundConcurrency=100), and Lambda keeps 100 unreserved, " +
					"but the account has 449 free in us-east-1: ask for more in Service Quotas",
			},
		},
		{
			name: "an update whose functions have reservations", config: ready,
			account: fakeAccount{unreserved: 150, held: map[string]int{"app-dev-coach": 200, "app-dev-summarize": 100}},
		},
		{
			name: "a new account without reservations", account: fakeAccount{unreserved: 10},
			config: strings.Replace(ready, `"SecretPrefix`, `"CoachConcurrency=-1", "PromptConcurrency=-1",
				"BackgroundConcurrency=-1", "SecretPrefix`, 1),
		},
		{
			name: "a first change set that was not confirmed", config: ready,
			account: fakeAccount{unreserved: 450, stack: "REVIEW_IN_PROGRESS"},
		},
		{name: "an update", config: ready, account: fakeAccount{unreserved: 450, stack: "UPDATE_ROLLBACK_COMPLETE"}},
		{
			name: "during an alarm of the release", config: ready,
			account: fakeAccount{unreserved: 450, stack: "UPDATE_COMPLETE", firing: "app-dev-release-answers"},
			says: []string{
				"app-dev-release-answers: firing, and a gradual release goes back while it does.",
				`"make deploy ENV=dev URGENT=1"`,
			},
		},
		{
			name: "after a restore", config: ready,
			account: fakeAccount{unreserved: 450, stack: "UPDATE_COMPLETE", table: "app-dev-restored"},
			says: []string{
				`the stack app-dev uses the table app-dev-restored, and the configuration has ExistingTableName=""`,
			},
		},
		{
			name: "a first deployment that failed", config: ready,
			account: fakeAccount{unreserved: 450, stack: "ROLLBACK_COMPLETE"},
			says: []string{
				"the stack app-dev is ROLLBACK_COMPLETE: its first deployment or its deletion failed",
				`"make teardown ENV=dev STACK=app-dev"`,
				"Its table app-dev-Table-1X stays, and the next deployment makes another",
			},
		},
		{
			name: "a rollback that failed", config: ready,
			account: fakeAccount{unreserved: 450, stack: "UPDATE_ROLLBACK_FAILED"},
			says:    []string{`"aws cloudformation continue-update-rollback --stack-name app-dev"`},
		},
		{
			name: "another deployment", config: ready,
			account: fakeAccount{unreserved: 450, stack: "UPDATE_IN_PROGRESS"},
			says:    []string{"the stack app-dev is UPDATE_IN_PROGRESS: wait until that has ended"},
		},
		{
			name: "no credentials and no issuer", anonymous: true,
			config: strings.Replace(ready, `"JwtIssuer=https://tenant.auth0.com/", `, "", 1),
			says:   []string{"JwtIssuer is missing: ", "there are no AWS credentials: run"},
		},
		{
			name: "no credentials", config: ready, anonymous: true,
			says: []string{"there are no AWS credentials: run"},
		},
		{
			name: "another account", account: enough,
			config: strings.Replace(ready, `"123456789012"`, `"210987654321"`, 1),
			says: []string{
				"the AWS credentials are of the account 123456789012, and the stage is in 210987654321: choose others with " +
					"AWS_PROFILE, or change account in [dev.throughline.parameters]",
			},
		},
		{
			name: "an issuer's name that lacks its slash", config: strings.Replace(ready, "auth0.com/", "auth0.com", 1),
			account: enough,
			says:    []string{"tokens of the issuer cannot be checked: ", "JwtIssuer must be that one exactly"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := problems(t, c.config, c.account, !c.anonymous, gradual)
			if (out == "") != (len(c.says) == 0) {
				t.Errorf("says %q", out)
			}
			for _, says := range c.says {
				check.Contains(t, out, says, "the output")
			}
		})
	}
}

// TestUrgentDeploymentGoesOn does not stop at an alarm of the release.
func TestUrgentDeploymentGoesOn(t *testing.T) {
	account := fakeAccount{unreserved: 450, stack: "UPDATE_COMPLETE", firing: "app-dev-release-answers"}
	out := problems(t, ready, account, true, func(ctx context.Context, c *http.Client, s deployment.Stage) []string {
		return Problems(ctx, c, s, true)
	})
	if out != "" {
		t.Errorf("says %q", out)
	}
}

// TestTeardown deletes nothing without the stack's name, or with the credentials of another account.
func TestTeardown(t *testing.T) {
	other := strings.Replace(ready, `"123456789012"`, `"210987654321"`, 1)
	for _, c := range []struct{ config, named, says string }{
		{ready, "app-dev", ""},
		{ready, "", `the stack of the stage is app-dev: repeat its name, "make teardown ENV=dev STACK=app-dev"`},
		{ready, "app", `the stack of the stage is app-dev`},
		{other, "app-dev", "the AWS credentials are of the account 123456789012"},
	} {
		out := problems(t, c.config, fakeAccount{stack: "ROLLBACK_COMPLETE"}, true,
			func(ctx context.Context, _ *http.Client, s deployment.Stage) []string {
				return TeardownProblems(ctx, s, c.named)
			})
		if (out == "") != (c.says == "") || !strings.Contains(out, c.says) {
			t.Errorf("%q: says %q", c.named, out)
		}
	}
}
