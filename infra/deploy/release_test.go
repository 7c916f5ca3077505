package deploy

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/testing/check"
)

// TestReleaseNamesWhatRuns checks that the same code and settings are the same release, and that a change of either is
// another one: else a change of a parameter would never reach the functions' versions.
func TestReleaseNamesWhatRuns(t *testing.T) {
	t.Parallel()
	built := t.TempDir()
	write := func(path, content string) {
		t.Helper()
		path = filepath.Join(built, path)
		check.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(t, os.WriteFile(path, []byte(content), 0o600))
	}
	write("CoachFunction/bootstrap", "code")
	isUrgent, salt := false, ""
	name := func(given map[string]string) string {
		t.Helper()
		var out bytes.Buffer
		check.OK(t, release(&out, built, deployment.Stage{Given: given}, isUrgent, salt))
		values := map[string]string{}
		check.OK(t, json.Unmarshal(out.Bytes(), &values))
		want := maps.Clone(given)
		want["Release"], want["PreviousTableName"], want["AlarmTopicArn"] = values["Release"], "", ""
		want["GradualReleases"] = map[bool]string{true: "false", false: "true"}[isUrgent]
		check.Same(t, want, values, "the values")
		return values["Release"]
	}
	given := map[string]string{
		"CorsOrigins": "https://a.example, https://b.example", "LogLevel": "INFO",
		"GradualReleases": "true", "AlarmTopicArn": "none",
	}
	first := name(given)
	if again := name(given); first != again || len(first) != 12 {
		t.Errorf("the same is the release %q and %q", first, again)
	}
	isUrgent = true
	if urgent := name(given); urgent != first {
		t.Error("how it goes into service makes it another release")
	}
	isUrgent, salt = false, "it was taken back"
	if again := name(given); again == first {
		t.Error("it is the same release after it was taken back")
	}
	salt = ""
	given["LogLevel"] = "WARN"
	if other := name(given); other == first {
		t.Error("another setting is the same release")
	}
	given["LogLevel"] = "INFO"
	write("CoachFunction/bootstrap", "other code")
	if other := name(given); other == first {
		t.Error("other code is the same release")
	}
	given["Release"] = "000000000000"
	err := release(&bytes.Buffer{}, built, deployment.Stage{Given: given}, false, "")
	if err == nil || !strings.Contains(err.Error(), "Release is computed") {
		t.Errorf("a given release: %v", err)
	}
}
