package deploy

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/testing/check"
	"github.com/throughline/throughline/internal/testing/deploymenttest"
)

// TestBrakes stops functions by one call each, and gives them what the stack's parameters say, and nothing twice.
func TestBrakes(t *testing.T) {
	t.Parallel()
	stack := deploymenttest.New(t, map[string]string{"CoachConcurrency": "7", "BackgroundConcurrency": "100"})
	stack.Concurrency["coach"], stack.Concurrency["remember"], stack.Concurrency["prompt"] = 7, 100, 100
	cfg, after := deploymenttest.Config(stack.Answer), maps.Clone(stack.Concurrency)
	after["summarize"] = 100
	for _, c := range []struct {
		what  string
		isOff bool
		says  string
		want  map[string]int
	}{
		{"chat", false, "throughline-coach is stopped\n", map[string]int{"coach": 0, "remember": 100, "prompt": 100}},
		{"chat", false, "", map[string]int{"coach": 0, "remember": 100, "prompt": 100}},
		{
			"background", false, "throughline-remember is stopped\nthroughline-summarize is stopped\n",
			map[string]int{"coach": 0, "remember": 0, "summarize": 0, "prompt": 100},
		},
		{
			"all", true, "throughline-coach works, 7 at once\nthroughline-remember works, 100 at once\n" +
				"throughline-summarize works, 100 at once\n", after,
		},
		{"all", true, "", after},
	} {
		var out bytes.Buffer
		check.OK(t, Brake(t.Context(), cfg, deploymenttest.Name, c.what, c.isOff, &out))
		if diff := cmp.Diff(c.want, stack.Concurrency); diff != "" || out.String() != c.says {
			t.Errorf("%s, off %t: says %q, concurrency (-want +got)\n%s", c.what, c.isOff, &out, diff)
		}
	}
	err := Brake(t.Context(), cfg, deploymenttest.Name, "everything", false, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "but all, background, chat") || stack.Updates != 0 {
		t.Errorf("an unknown brake: %v", err)
	}
}

// TestFiringAlarmsAreSaid names the alarm at which a gradual release would go back, and the command that goes through.
func TestFiringAlarmsAreSaid(t *testing.T) {
	t.Parallel()
	stack := deploymenttest.New(t, nil)
	alarms := cloudwatch.NewFromConfig(deploymenttest.Config(stack.Answer))
	gradual := deployment.Stage{
		Name: "prod", Stack: deploymenttest.Name, Given: map[string]string{"GradualReleases": "true"},
	}
	stack.Firing = []string{"throughline-model-failing"}
	if got := firing(t.Context(), alarms, gradual); len(got) != 0 {
		t.Errorf("another alarm: %v", got)
	}
	stack.Firing = append(stack.Firing, "throughline-release-answers")
	got := firing(t.Context(), alarms, gradual)
	if len(got) != 1 || !strings.HasPrefix(got[0], "throughline-release-answers: firing") ||
		!strings.Contains(got[0], `"make deploy ENV=prod URGENT=1"`) {
		t.Errorf("says %q", got)
	}
	gradual.Given["GradualReleases"] = "false"
	if got := firing(t.Context(), alarms, gradual); len(got) != 0 {
		t.Errorf("a release at once: %v", got)
	}
}
