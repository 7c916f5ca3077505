package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/dynamodbtest"
)

func TestMain(m *testing.M) { dynamodbtest.Main(m) }

// play runs the program.
func play(t *testing.T, arguments ...string) (code int, out, problems string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), arguments, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// TestBadInputIsOneLineWithTheMend runs commands as nobody should. Nothing is done.
func TestBadInputIsOneLineWithTheMend(t *testing.T) {
	t.Chdir("../..")
	t.Setenv("TOKEN", "")
	t.Setenv("PINECONE_NEXT_INDEX", "")
	for arguments, want := range map[string]string{
		"migrate":                                 "migrate: name what is missing: throughline migrate action",
		"migrate copy":                            "copy is none of preflight",
		"migrate rollback":                        "throughline migrate rollback -to dual",
		"migrate advance -to live":                "-to live is none of embedded",
		"migrate verify -to dual":                 "leave out -to",
		"migrate advance -to dual -percent 0":     "-percent 0 is not 1 to 100",
		"migrate backfill -segments 0":            "-segments 0 is not 1 to 1000",
		"migrate backfill -rate -1":               "name messages a second",
		"migrate verify -dry-run":                 "leave out -dry-run",
		"migrate status -env nowhere":             `no stage "nowhere"`,
		"migrate status -base http://127.0.0.1:1": "make run",
		"migrate status now":                      `"now" is no flag`,
		"restore yesterday":                       `"yesterday" must be a time such as`,
		"restore 2026-02-05T18:30:00Z -env x":     `no stage "x"`,
		"read-only -env x":                        `no stage "x"`,
		"ready -env x":                            `no stage "x"`,
		"release folder -env x":                   `no stage "x"`,
		"bootstrap -env x":                        `no stage "x"`,
		"brake chat -env x":                       `no stage "x"`,
		"app none.yaml":                           "read the app's registry",
		"deploy-check -env prod -stack x":         "repeat its name",
		"reindex -segments 0":                     "-segments=0: must be from 1 to 1000",
		"smoke":                                   "name the address with -url",
		"mcp":                                     "set THROUGHLINE_TOKEN",
	} {
		code, out, problems := play(t, strings.Fields(arguments)...)
		if code != refused || out != "" || !strings.Contains(problems, want) || strings.Count(problems, "\n") != 1 {
			t.Errorf("%q: exits with %d, %q, %q, want one line with %q", arguments, code, out, problems, want)
		}
	}
}

// TestUsage lists the commands, and the flags of each.
func TestUsage(t *testing.T) {
	code, _, problems := play(t, "deplyo")
	for _, c := range commands() {
		if code != refused || !strings.Contains(problems, "\n  "+c.name+" ") {
			t.Errorf("exits with %d and does not list %s:\n%s", code, c.name, problems)
		}
		if code, _, said := play(t, c.name, "-h"); code != done || !strings.Contains(said, "usage: throughline "+c.name) {
			t.Errorf("%s -h exits with %d: %s", c.name, code, said)
		}
	}
}

// TestNotReady prints what the stage lacks that comes with the project, and has its own exit code.
func TestNotReady(t *testing.T) {
	t.Chdir("../..")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	code, out, problems := play(t, "ready", "-config", "samconfig.toml")
	if code != found || out != "" || !strings.HasPrefix(problems, "the stage dev of samconfig.toml is not ready:\n  ") ||
		!strings.Contains(problems, "  there are no AWS credentials") {
		t.Errorf("exits with %d, %q:\n%s", code, out, problems)
	}
}
