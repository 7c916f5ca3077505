package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// TestRollbackKeepsTools runs make rollback in a clone whose tools are installed. They must not be installed again: the
// folder in which the earlier commit is built is deleted afterwards, and programs of a virtual environment name it.
func TestRollbackKeepsTools(t *testing.T) {
	t.Parallel()
	clone := t.TempDir()
	run := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = clone
		cmd.Env = append(os.Environ(), "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null",
			"AWS_SHARED_CREDENTIALS_FILE=/dev/null", "AWS_ACCESS_KEY_ID=", "AWS_PROFILE=")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	root := check.Got(filepath.Abs(filepath.Join("..", "..")))(t)
	if out, err := run("git", "clone", "--quiet", root, "."); err != nil {
		t.Fatal(out)
	}
	stamp := filepath.Join(clone, ".cache", "venv", ".stamp")
	for _, file := range []string{filepath.Join(clone, ".cache", "uv", "bin", "uv"), stamp} {
		check.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
		check.OK(t, os.WriteFile(file, nil, 0o600))
	}
	out, err := run("make", "rollback", "TO=HEAD")
	if err == nil || !strings.Contains(out, "there are no AWS credentials") || strings.Contains(out, "installing") {
		t.Errorf("make rollback did not go straight to the deployment with the installed tools: %s", out)
	}
	if _, err := os.Stat(stamp); err != nil {
		t.Error(err)
	}
	if out, err := run("sed", "-i", "s/URGENT/OTHER/g", "Makefile"); err != nil {
		t.Fatal(out)
	}
	if out, err := run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", "older"); err != nil {
		t.Fatal(out)
	}
	if out, err := run("git", "checkout", "-q", "HEAD~1"); err != nil {
		t.Fatal(out)
	}
	out, err = run("make", "rollback", "TO=@{-1}", "URGENT=1")
	if err == nil || !strings.Contains(out, "does not know URGENT: put GradualReleases=false into") {
		t.Errorf("an urgent rollback to a commit from before it: %s", out)
	}
}
