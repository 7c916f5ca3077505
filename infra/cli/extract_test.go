package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/throughline/throughline/internal/testing/check"
)

// TestExtractPrintsWhatIsRead plays a conversation against the offline model.
func TestExtractPrintsWhatIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "talk.txt")
	const talk = "# a talk\nuser: I'm allergic to peanuts.\nassistant: I note that.\nuser: Remind me to call Ana.\n" +
		"user: Good news: I'm not allergic to peanuts any more.\n"
	check.OK(t, os.WriteFile(file, []byte(talk), 0o600))
	t.Chdir("../..")
	code, out, problems := play(t, "extract", "--dry-run", file)
	if code != done {
		t.Fatalf("exit %d: %s", code, problems)
	}
	for _, want := range []string{
		`(?m)^(noted|ended)\s+PROFILE stated .*peanuts`, `(?m)^opened\s+PENDING Call Ana`, `(?m)^[1-9]\d* tokens$`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
}

// TestExtractRefuses gives it what it cannot play.
func TestExtractRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "talk.txt")
	for text, want := range map[string]string{"hello": "line 1 begins with neither", "# none\n": "there is no message"} {
		check.OK(t, os.WriteFile(file, []byte(text), 0o600))
		code, _, problems := play(t, "extract", "-context", "", file, "-dry-run")
		if code != refused || !regexp.MustCompile(want).MatchString(problems) {
			t.Errorf("%q: exit %d, %s", text, code, problems)
		}
	}
	code, _, problems := play(t, "extract", file)
	if code != refused || !regexp.MustCompile("say -dry-run").MatchString(problems) {
		t.Errorf("without -dry-run: exit %d, %s", code, problems)
	}
}
