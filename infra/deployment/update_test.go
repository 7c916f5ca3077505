package deployment_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/deploymenttest"
)

// TestUpdateWithoutARelease changes what the roles allow, and no version of a function.
func TestUpdateWithoutARelease(t *testing.T) {
	t.Parallel()
	stack := deploymenttest.New(t, nil)
	release := stack.Given["Release"]
	given := map[string]string{"PreviousTableName": "other"}
	for i, want := range []bool{true, false} {
		changed, err := stack.Updater(t.Output()).Update(t.Context(), given, nil)
		if changed != want || err != nil {
			t.Errorf("update %d: changed %t, %v", i, changed, err)
		}
	}
	if stack.Updates != 1 || stack.Given["Release"] != release || !stack.Allows("dynamodb:Query", "other") ||
		stack.Allows("dynamodb:PutItem", "other") {
		t.Errorf("%d updates, the release %s", stack.Updates, stack.Given["Release"])
	}
	// The template is too long for a call, so it is an object.
	if len(throughline.Template) <= 51_200 || len(stack.Objects) != 1 {
		t.Errorf("a template of %d bytes, and %d objects", len(throughline.Template), len(stack.Objects))
	}
}

// TestUpdateIsRepeated repeats one that failed: it is another release, because Lambda publishes no version that is
// equal to the last one.
func TestUpdateIsRepeated(t *testing.T) {
	t.Parallel()
	stack := deploymenttest.New(t, nil)
	given, want := map[string]string{"AppVersion": "000000000000"}, map[string]string{"APP_VERSION": "000000000000"}
	releases := map[string]bool{}
	stack.OnStep = func(step string) {
		if step == "roles" {
			releases[stack.Given["Release"]] = true
		}
	}
	stack.FailAt = "aliases"
	if _, err := stack.Updater(t.Output()).Update(t.Context(), given, want); err == nil {
		t.Error("the update fails, and nothing is said")
	}
	if changed, err := stack.Updater(t.Output()).Update(t.Context(), given, want); !changed || err != nil {
		t.Errorf("changed %t, %v", changed, err)
	}
	if len(releases) != 2 {
		t.Errorf("the releases %v", slices.Collect(maps.Keys(releases)))
	}
}

// TestUpdatesThatCannotBe says why.
func TestUpdatesThatCannotBe(t *testing.T) {
	t.Parallel()
	const config = "[prod.global.parameters]\nstack_name = \"throughline\"\nregion = \"us-east-1\"\n" +
		"[prod.deploy.parameters]\ns3_bucket = \"own\"\ns3_prefix = \"folder\"\n"
	own := check.Got(deployment.Load(throughline.Template, []byte(config), "prod"))(t)
	for _, c := range []struct {
		name, says string
		change     func(*deployment.Updater)
		given      map[string]string
	}{
		{
			"a bucket of the configuration", "store the template in the bucket own",
			func(u *deployment.Updater) { u.Stage = own },
			map[string]string{"AppVersion": "000000000000"},
		},
		{"no such stack", "read the stack other", func(u *deployment.Updater) { u.Stage.Stack = "other" }, nil},
		{
			"a template that is older", "the stack has no parameter Newer: deploy this version of the template first",
			func(*deployment.Updater) {},
			map[string]string{"Newer": "1"},
		},
	} {
		stack := deploymenttest.New(t, nil)
		u := stack.Updater(t.Output())
		c.change(u)
		_, err := u.Update(t.Context(), c.given, map[string]string{"APP_VERSION": "000000000000"})
		if err == nil || !strings.Contains(err.Error(), c.says) || stack.Updates != 0 {
			t.Errorf("%s: %v, want %q, %d updates", c.name, err, c.says, stack.Updates)
		}
	}
}
