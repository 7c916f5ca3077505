package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"

	"github.com/throughline/throughline/internal/registry"
)

// fakeStage is a stack with a table that keeps files.
type fakeStage struct {
	stack   types.Stack
	stored  map[string]string
	updated *cloudformation.UpdateStackInput
	refused error
	isFresh bool
}

func (f *fakeStage) DescribeStacks(context.Context, *cloudformation.DescribeStacksInput,
	...func(*cloudformation.Options),
) (*cloudformation.DescribeStacksOutput, error) {
	return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{f.stack}}, nil
}

func (f *fakeStage) UpdateStack(_ context.Context, in *cloudformation.UpdateStackInput,
	_ ...func(*cloudformation.Options),
) (*cloudformation.UpdateStackOutput, error) {
	f.updated = in
	return nil, f.refused
}

func (f *fakeStage) Put(_ context.Context, version, file string) error {
	f.stored[version] = file
	return nil
}

func (f *fakeStage) File(_ context.Context, version string) (string, error) {
	if file, ok := f.stored[version]; ok {
		return file, nil
	}
	return "", errors.New("no such version")
}

func newFake(version string) *fakeStage {
	return &fakeStage{isFresh: true, stored: map[string]string{}, stack: types.Stack{
		Capabilities: []types.Capability{types.CapabilityCapabilityIam},
		Outputs:      []types.Output{{OutputKey: aws.String("TableName"), OutputValue: aws.String("table")}},
		Parameters: []types.Parameter{
			{ParameterKey: aws.String("JwtIssuer"), ParameterValue: aws.String("https://issuer")},
			{ParameterKey: aws.String(parameter), ParameterValue: aws.String(version)},
			{ParameterKey: aws.String("Release"), ParameterValue: aws.String("0123456789ab")},
		},
	}}
}

func (f *fakeStage) use(t *testing.T, file string) (bool, error) {
	t.Helper()
	app, err := registry.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	s := stage{name: "throughline", isFresh: f.isFresh, stacks: f, files: func(table string) files {
		if table != "table" {
			t.Errorf("the table is %s", table)
		}
		return f
	}}
	return s.use(t.Context(), app, file)
}

func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/" + name + "/app.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestUse gives a stage its first registry: the file is stored, and the update changes one parameter.
func TestUse(t *testing.T) {
	t.Parallel()
	f, file := newFake(""), example(t, "tutor")
	changed, err := f.use(t, file)
	if err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	app, err := registry.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if f.stored[app.Version] != file {
		t.Errorf("stored %v", f.stored)
	}
	values := map[string]string{}
	for _, p := range f.updated.Parameters {
		values[*p.ParameterKey] = aws.ToString(p.ParameterValue)
		if (*p.ParameterKey == "JwtIssuer") != aws.ToBool(p.UsePreviousValue) {
			t.Errorf("parameter %s, previous value %v", *p.ParameterKey, aws.ToBool(p.UsePreviousValue))
		}
	}
	release := values["Release"]
	if len(release) != 12 || release == "0123456789ab" {
		t.Errorf("the update is the release %q, so the functions' versions would not change", release)
	}
	want := map[string]string{"JwtIssuer": "", parameter: app.Version, "Release": release}
	if diff := cmp.Diff(want, values); diff != "" {
		t.Errorf("parameters (-want +got)\n%s", diff)
	}
	if !*f.updated.UsePreviousTemplate || len(f.updated.Capabilities) != 1 {
		t.Errorf("the update is %+v", f.updated)
	}
}

// TestUseAgain gives a stage the registry that it has.
func TestUseAgain(t *testing.T) {
	t.Parallel()
	file := example(t, "tutor")
	app, err := registry.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(app.Version)
	if changed, err := f.use(t, file); changed || err != nil || f.updated != nil {
		t.Errorf("changed %v, %v, update %v", changed, err, f.updated)
	}
}

// TestLostContextsAreRefused gives a stage a registry that lacks contexts of the one before. Nothing is stored.
func TestLostContextsAreRefused(t *testing.T) {
	t.Parallel()
	before := example(t, "tutor")
	app, err := registry.Parse([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	f := newFake(app.Version)
	f.stored[app.Version] = before
	_, err = f.use(t, example(t, "travel"))
	if err == nil || !strings.Contains(err.Error(), "the context lesson is missing") || len(f.stored) != 1 ||
		f.updated != nil {
		t.Errorf("error %v, %d files, update %v", err, len(f.stored), f.updated)
	}
}

// TestTheExampleIsNotLost keeps the contexts of the example, unless nobody has used them.
func TestTheExampleIsNotLost(t *testing.T) {
	t.Parallel()
	f := newFake("")
	f.isFresh = false
	_, err := f.use(t, example(t, "tutor"))
	if err == nil || !strings.Contains(err.Error(), "coach_conversation is missing") || f.updated != nil {
		t.Errorf("error %v, update %v", err, f.updated)
	}
}

// TestFailures says what hinders a change.
func TestFailures(t *testing.T) {
	t.Parallel()
	without := newFake("")
	without.stack.Outputs = nil
	if _, err := without.use(t, example(t, "tutor")); !errors.Is(err, errNoTable) {
		t.Errorf("without a table: %v", err)
	}
	old := newFake("")
	old.stack.Parameters = nil
	if _, err := old.use(t, example(t, "tutor")); !errors.Is(err, errNoVersion) || len(old.stored) != 0 {
		t.Errorf("with a template that has no version: %v, %d files", err, len(old.stored))
	}
	refused := newFake("")
	refused.refused = errors.New("UPDATE_IN_PROGRESS")
	if _, err := refused.use(t, example(t, "tutor")); !errors.Is(err, refused.refused) {
		t.Errorf("while it is updated: %v", err)
	}
	if _, err := newFake("000000000000").use(t, example(t, "tutor")); err == nil {
		t.Error("the version before is not in the table, and nothing is said")
	}
	var out strings.Builder
	err := run(t.Context(), []string{"-file", "none.yaml"}, &out)
	if err == nil || !strings.Contains(err.Error(), "none") {
		t.Errorf("without a file: %v", err)
	}
}
