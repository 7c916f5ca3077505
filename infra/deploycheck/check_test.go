package deploycheck

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/throughline/throughline"
	"github.com/throughline/throughline/infra/deployment"
	"github.com/throughline/throughline/internal/testing/deploymenttest"
)

// play runs the command against a fake account.
func play(t *testing.T, change func(*account)) (a *account, said string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a = newAccount(t)
		if change != nil {
			change(a)
		}
		var out bytes.Buffer
		err = Run(t.Context(), deploymenttest.Config(a.answer), deploymenttest.Stage, &out, a.command)
		said = out.String()
	})
	return a, said, err
}

// TestAllIsProved plays all steps on an account that does what AWS is said to do. Nothing is left.
func TestAllIsProved(t *testing.T) {
	t.Parallel()
	a, said, err := play(t, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	want := []string{
		"make deploy", "app examples/tutor/app.yaml -fresh", "brake chat", "brake chat -off", "make deploy",
		"make deploy URGENT=1", "restore", "restore", "make deploy", "make teardown STACK=throughline",
	}
	if !slices.Equal(a.made, want) {
		t.Errorf("it makes %q, want %q", a.made, want)
	}
	if a.exists || len(a.records) != 0 || strings.Count(said, ": proved") != 8 {
		t.Errorf("left are the stack: %t, and tables: %v\n%s", a.exists, a.records, said)
	}
}

// TestWhatAWSMayDoOtherwise is told by the step that proves it, and the stage is deleted all the same.
func TestWhatAWSMayDoOtherwise(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*account)
		says   string
	}{
		"no answers":    {func(a *account) { a.isSilent = true }, "deploy is not proved: a turn of the chat had no"},
		"versions stay": {func(a *account) { a.ignoresApp = true }, "app is not proved: the stack names no version"},
		"no brakes":     {func(a *account) { a.ignoresBrakes = true }, "brakes is not proved: wait for the chat to"},
		"a topic refuses": {
			func(a *account) { a.topic = "Failed to execute action" }, "alarm is not proved: the topic does not",
		},
		"no gate":             {func(a *account) { a.ignoresAlarms = true }, "urgent is not proved: make deploy went on"},
		"one table at a time": {func(a *account) { a.isOneTable = true }, "restore is not proved: reads fail while the"},
		"a restore of now":    {func(a *account) { a.restoresAll = true }, "has the record of after: true, want false"},
	} {
		a, said, err := play(t, c.change)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q\n%s", name, err, c.says, said)
		}
		if a.exists || len(a.records) != 0 || a.made[len(a.made)-1] != "make teardown STACK=throughline" {
			t.Errorf("%s: left are the stack: %t, and tables: %v, after %q", name, a.exists, a.records, a.made)
		}
	}
}

// TestWhatStaysIsSaid names what could not be deleted.
func TestWhatStaysIsSaid(t *testing.T) {
	t.Parallel()
	_, _, err := play(t, func(a *account) { a.refuses = "teardown" })
	const says = "delete by hand what is left of the stack throughline, and the tables " + deploymenttest.Table
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("says %v", err)
	}
}

// TestOnlyAStageToThrowAway runs nothing on a stage that is there, or whose name was not repeated.
func TestOnlyAStageToThrowAway(t *testing.T) {
	t.Parallel()
	a, _, err := play(t, func(a *account) { a.exists = true })
	if err == nil || len(a.made) != 0 || !a.exists {
		t.Errorf("%v, and it makes %q of a stage that is there", err, a.made)
	}
	const config = "[NAME.global.parameters]\nstack_name = \"app-check\"\nregion = \"us-east-1\"\n" +
		"parameter_overrides = [\"AlarmTopicArn=TOPIC\"]\n"
	for _, c := range []struct{ name, topic, stack, says string }{
		{"check", "arn", "app-check", ""},
		{"check", "arn", "app", "repeat its name"},
		{"check", "arn", "", "repeat its name"},
		{"prod", "arn", "app-check", "no stage to throw away"},
		{"check", "none", "app-check", "give the stage AlarmTopicArn"},
		{"check", "arn\", \"GradualReleases=false", "app-check", "give the stage GradualReleases=true"},
	} {
		text := strings.NewReplacer("NAME", c.name, "TOPIC", c.topic).Replace(config)
		of, err := deployment.Load(throughline.Template, []byte(text), c.name)
		if err != nil {
			t.Fatal(err)
		}
		err = Confirm(of, c.stack)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, want %q", c, err, c.says)
		}
	}
}

// TestStoppedRunCleansUp deletes the stage when the run is stopped.
func TestStoppedRunCleansUp(t *testing.T) {
	t.Parallel()
	a, _, err := play(t, func(a *account) { a.refuses = "app" })
	if !errors.Is(err, context.Canceled) || a.exists || len(a.records) != 0 {
		t.Errorf("%v, left are the stack: %t, and tables: %v", err, a.exists, a.records)
	}
}
