package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const ready = `[dev.global.parameters]
stack_name = "app-dev"
region = "us-east-1"
parameter_overrides = [
  "JwtIssuer=https://tenant.auth0.com/", "JwtAudience=app", "PineconeIndexHost=app.svc.pinecone.io",
  "SecretName=app/dev",
]
`

// deploy runs the command with a configuration, and with a Secrets Manager that gives that answer.
func deploy(t *testing.T, config, answer string, credentials bool) (int, string) {
	t.Helper()
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Target") != "secretsmanager.DescribeSecret" {
			t.Errorf("the command calls %s", r.Header.Get("X-Amz-Target"))
		}
		if answer != "" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"__type":%q,"Message":"refused"}`, answer)
			return
		}
		fmt.Fprint(w, `{"Name":"app/dev"}`)
	}))
	defer manager.Close()
	key := ""
	if credentials {
		key = "local"
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_SECRETS_MANAGER": manager.URL, "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": key,
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_CONFIG_FILE": "/dev/null",
		"AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
		"AWS_EC2_METADATA_DISABLED":   "true",
	} {
		t.Setenv(name, value)
	}
	path := filepath.Join(t.TempDir(), "samconfig.toml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	code := run(t.Context(), []string{"-env", "dev", "-config", path}, &out)
	return code, out.String()
}

func TestDeploy(t *testing.T) {
	for _, c := range []struct {
		name, config, answer string
		anonymous            bool
		code                 int
		says                 []string
	}{
		{name: "ready", config: ready},
		{name: "no right to look", config: ready, answer: "AccessDeniedException"},
		{
			name: "two missing", config: strings.NewReplacer(`"JwtAudience=app", `, "",
				`"JwtIssuer=https://tenant.auth0.com/", `, "").Replace(ready),
			code: 1, says: []string{"  JwtAudience is missing: the aud claim", "  JwtIssuer is missing: the iss claim"},
		},
		{
			name: "no secret", config: ready, answer: "ResourceNotFoundException", code: 1,
			says: []string{`  the secret app/dev does not exist in us-east-1: "make bootstrap-aws ENV=dev" makes it`},
		},
		{
			name: "no credentials", config: ready, anonymous: true, code: 1,
			says: []string{"  there are no AWS credentials: run"},
		},
		{name: "no stage", config: "[prod]", code: 2, says: []string{`samconfig has no stage "dev"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out := deploy(t, c.config, c.answer, !c.anonymous)
			if code != c.code || (code == 0) != (out == "") {
				t.Errorf("exits with %d, want %d:\n%s", code, c.code, out)
			}
			for _, says := range c.says {
				if !strings.Contains(out, says) {
					t.Errorf("does not say %q:\n%s", says, out)
				}
			}
		})
	}
}
